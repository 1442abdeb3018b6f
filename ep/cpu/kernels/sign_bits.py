"""Ops that only test or change the sign, on the bits of bfloat16: no conversion, no rounding.

LLVM does this by itself for float16; bfloat16 is an integer type to it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from ep.include.data_type import DataType
from ep.include.primitive.binary_op import BinaryOp
from ep.include.primitive.unary_op import UnaryOp

_SIGN: Final = 0x8000
_NEGATIVE_INFINITY: Final = 0xFF80


def _without_sign(x: int) -> int:
    return x & (_SIGN - 1)


def _other_sign(x: int) -> int:
    return x ^ _SIGN


def _zero_if_negative(x: int) -> int:
    return x if (x < _SIGN) | (x > _NEGATIVE_INFINITY) else 0  # bits beyond those of negative infinity are NaN


_FUNCTIONS: Final = {
    UnaryOp.kAbs: _without_sign,
    UnaryOp.kNegative: _other_sign,
    UnaryOp.kRelu: _zero_if_negative,
}


def on_bits(op: UnaryOp | BinaryOp, src_type: DataType, dst_type: DataType) -> Callable[[int], int] | None:
    """Return the function of an element's bits that computes the op; None if it needs more than the sign."""
    if src_type is dst_type is DataType.kBFloat16 and isinstance(op, UnaryOp):
        return _FUNCTIONS.get(op)
    return None
