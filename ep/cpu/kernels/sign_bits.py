"""Ops that only look at the sign or change it, on the bits of bfloat16: nothing is converted and rounded back.

For float16 LLVM finds this by itself; bfloat16 is integers to it.
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
    return x if (x < _SIGN) | (x > _NEGATIVE_INFINITY) else 0  # what is beyond negative infinity is NaN


_FUNCTIONS: Final = {
    UnaryOp.kAbs: _without_sign,
    UnaryOp.kNegative: _other_sign,
    UnaryOp.kRelu: _zero_if_negative,
}


def on_bits(op: UnaryOp | BinaryOp, src_type: DataType, dst_type: DataType) -> Callable[[int], int] | None:
    """Return the function of an element's bits that the key comes to; None if it is more than that."""
    if src_type is dst_type is DataType.kBFloat16 and isinstance(op, UnaryOp):
        return _FUNCTIONS.get(op)
    return None
