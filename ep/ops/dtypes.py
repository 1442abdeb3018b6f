"""The data type of a result: one rule for all ops."""

from __future__ import annotations

from typing import Final

from ep.include.data_type import DataType
from ep.include.primitive.binary_op import BinaryOp
from ep.include.primitive.unary_op import UnaryOp

_TO_BOOL: Final = frozenset(
    [
        *(UnaryOp.kLogicalNot, UnaryOp.kIsInf, UnaryOp.kIsNan, UnaryOp.kIsFinite),
        *(BinaryOp.kEqual, BinaryOp.kNotEqual, BinaryOp.kIsClose, BinaryOp.kIsCloseEqualNan),
        *(BinaryOp.kLessThan, BinaryOp.kLessEqual, BinaryOp.kGreaterThan, BinaryOp.kGreaterEqual),
        *(BinaryOp.kLogicalAnd, BinaryOp.kLogicalOr, BinaryOp.kLogicalXor),
    ]
)
_COMPLEX_TO_REAL: Final = frozenset([UnaryOp.kReal, UnaryOp.kImag])
_REAL_TO_COMPLEX: Final = frozenset([UnaryOp.kRealGrad, UnaryOp.kImagGrad])
_PART: Final = {DataType.kComplex64: DataType.kFloat, DataType.kComplex128: DataType.kDouble}
_WHOLE: Final = {part: whole for whole, part in _PART.items()}


def result_type(op: UnaryOp | BinaryOp, source: DataType) -> DataType:
    """The data type of `op`'s result on operands of type `source`.

    Comparison, logic and the tests for inf and NaN give bool; `kReal` and `kImag` give the type of a complex number's
    parts, and their gradients the complex type of such parts; all others give `source`. Whether there is such an op
    for `source` is not asked here.
    """
    if op in _TO_BOOL:
        return DataType.kBool
    if op in _COMPLEX_TO_REAL:
        return _PART.get(source, source)
    if op in _REAL_TO_COMPLEX:
        return _WHOLE.get(source, source)
    return source
