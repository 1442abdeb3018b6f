"""The keys that every device of this package registers: op groups times data types."""

from __future__ import annotations

from itertools import product
from typing import Final

from ep.common.number_kind import ALL, BOOL, CHAR, COMPLEXES, FLOATS, INTEGERS
from ep.include.data_type import DataType as T
from ep.include.primitive.binary_op import BinaryOp as B
from ep.include.primitive.primitive import Key
from ep.include.primitive.unary_op import UnaryOp as U


def _same(ops: tuple[U | B, ...], types: tuple[T, ...]) -> list[Key]:
    """Keys from a type to itself."""
    return [Key(op, (data_type, data_type)) for op in ops for data_type in types]


def _to(destination: T, ops: tuple[U | B, ...], types: tuple[T, ...]) -> list[Key]:
    """Keys from each type to one destination."""
    return [Key(op, (data_type, destination)) for op in ops for data_type in types]


def _between(ops: tuple[U | B, ...], sources: tuple[T, ...], destinations: tuple[T, ...]) -> list[Key]:
    """Keys from each source to each destination."""
    return [Key(op, pair) for op in ops for pair in product(sources, destinations)]


GATHER: Final = frozenset(Key(None, pair) for pair in product(ALL, INTEGERS))
BATCH_GATHER: Final = GATHER
EXPAND: Final = frozenset(Key(None, (data_type,)) for data_type in ALL)

_REAL: Final = BOOL + CHAR + INTEGERS + FLOATS
_COMPLEX_UNARY: Final = (U.kConj, U.kReal, U.kImag, U.kRealGrad, U.kImagGrad)
_PREDICATES: Final = (U.kIsInf, U.kIsNan, U.kIsFinite)
_FLOAT_ONLY: Final = tuple(
    op
    for op in U
    if op not in (U.kIdentity, U.kRelu, U.kAbs, U.kBitwiseNot, U.kLogicalNot, U.kCast, *_PREDICATES, *_COMPLEX_UNARY)
)

ELEMENTWISE_UNARY: Final = frozenset(
    [
        *_same((U.kIdentity,), ALL),
        *_same((U.kRelu,), _REAL),
        *_same((U.kAbs,), INTEGERS + FLOATS),
        *_same((U.kBitwiseNot,), BOOL + INTEGERS),
        *_same(_FLOAT_ONLY, FLOATS),
        *_same((U.kSqrt, U.kNegative, U.kConj), COMPLEXES),
        *_to(T.kBool, (U.kLogicalNot,), _REAL),
        *_to(T.kBool, _PREDICATES, INTEGERS + FLOATS),
        *_between((U.kReal, U.kImag), COMPLEXES, FLOATS),
        *_between((U.kRealGrad, U.kImagGrad), FLOATS, COMPLEXES),
    ]
)

_MATH: Final = (
    *(B.kAdd, B.kSub, B.kMul, B.kDiv, B.kMax, B.kMin, B.kPow, B.kFmod, B.kFloorDiv, B.kTruncDiv, B.kFloorMod),
    *(B.kScalarBasePowerGrad, B.kScalarExpPowerGrad),
)
_COMPARISON: Final = (
    *(B.kEqual, B.kNotEqual, B.kLessThan, B.kLessEqual, B.kGreaterThan, B.kGreaterEqual),
    *(B.kIsClose, B.kIsCloseEqualNan),
)
_LOGIC: Final = (B.kLogicalAnd, B.kLogicalOr, B.kLogicalXor)
_BITWISE: Final = (B.kBitwiseAnd, B.kBitwiseOr, B.kBitwiseXor)
_BACKWARD: Final = tuple(op for op in B if "Backward" in op.name)

BROADCAST_ELEMENTWISE_BINARY: Final = frozenset(
    [
        *_same(_MATH, _REAL),
        *_same((B.kAdd, B.kSub, B.kMul, B.kDiv, B.kSqrtBackwardWithDyX), COMPLEXES),
        *_same((B.kZeta,), FLOATS),
        *_same(_BITWISE, BOOL + INTEGERS),
        *_same(_BACKWARD, FLOATS),
        *_to(T.kBool, _COMPARISON + _LOGIC, _REAL),
        *_to(T.kBool, (B.kEqual, B.kNotEqual), COMPLEXES),
    ]
)
