"""The signatures of unary and binary operators: the effect of each op on sums and on an order.

An op is linear if op(a + b) is op(a) + op(b), rising if a larger operand never gives a smaller result, and falling if
it never gives a larger one, for all finite operands. For ops with attributes this holds for the signs of their
defaults; `_slope` checks the attributes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from ep.include.data_type import DataType
from ep.include.number_kind import BOOL, COMPLEXES, FLOATS
from ep.include.primitive.binary_op import BinaryOp as Bin
from ep.include.primitive.op_table import OPS
from ep.include.primitive.unary_op import UnaryOp as U
from ep.ops.sbp_signatures import PMAX, PMIN, B, P, broadcast_signatures, signature
from ep.sbp import Problem, Sbp, Signature, Split

LINEAR: Final = frozenset([U.kIdentity, U.kNegative, U.kConj, U.kReal, U.kImag, U.kRealGrad, U.kImagGrad])

RISING: Final = frozenset(
    [
        *(
            U.kIdentity,
            U.kElu,
            U.kCelu,
            U.kRelu,
            U.kHardSigmoid,
            U.kHardShrink,
            U.kHardTanh,
            U.kLeakyRelu,
            U.kSelu,
        ),
        *(U.kSoftShrink, U.kSoftSign, U.kSoftPlus, U.kTanh, U.kAsinh, U.kAtan, U.kCeil, U.kErf, U.kExp, U.kExp2),
        *(U.kExpm1, U.kFloor, U.kLogSigmoid, U.kRint, U.kRound, U.kSigmoid, U.kSign, U.kSinh, U.kTrunc, U.kSquareReLU),
    ]
)
FALLING: Final = frozenset([U.kNegative, U.kErfc])

_OF_SMALLEST: Final = {
    **dict.fromkeys([U.kAcosh, U.kLog, U.kLog2, U.kLog10, U.kLog1p, U.kSqrt], PMIN),
    U.kRsqrt: PMAX,
}
"""The partial that monotonic ops make of a PMin if they are NaN below some number, since NaN propagates."""

_ORDER: Final[Mapping[int, Mapping[Sbp, Sbp]]] = {1: {PMAX: PMAX, PMIN: PMIN}, -1: {PMAX: PMIN, PMIN: PMAX}}
"""The partials that a rising (1) and a falling (-1) op make of a PMax and of a PMin."""

_SLOPES: Final[Mapping[Bin, tuple[int, int]]] = {
    Bin.kAdd: (1, 1),
    Bin.kSub: (1, -1),
    Bin.kLessThan: (-1, 1),
    Bin.kLessEqual: (-1, 1),
    Bin.kGreaterThan: (1, -1),
    Bin.kGreaterEqual: (1, -1),
}
"""The slope of a binary op in each operand, for all values of the other one: rising (1) or falling (-1)."""


def unary_signatures(op: U, problem: Problem) -> Iterator[Signature]:
    """Yield the signatures of a unary op."""
    (shape,), (source,) = problem.shapes, problem.types
    for axis in range(len(shape)):
        yield signature(Split(axis), Split(axis))
    if op in LINEAR and source not in BOOL:
        yield signature(P, P)
    slope = _slope(op, source, problem.attributes)
    for partial, result in _ORDER.get(slope, {}).items():
        if source not in COMPLEXES:
            yield signature(partial, result)
    if op in _OF_SMALLEST and source not in COMPLEXES:
        yield signature(PMIN, _OF_SMALLEST[op])


def _slope(op: U, source: DataType, attributes: Mapping[str, float]) -> int:
    """Return 1 for a rising op, -1 for a falling one, 0 for others."""
    if op is U.kThreshold:  # value where x <= threshold, else x
        return 1 if attributes["value"] <= attributes["threshold"] else 0
    if op is U.kLogicalNot:
        return -1 if source in BOOL else 0
    if op is U.kBitwiseNot:
        return -1
    if op in (U.kElu, U.kCelu, U.kLeakyRelu) and attributes["alpha"] < 0:
        return 0
    if op is U.kHardTanh:
        return 1 if attributes["min"] <= attributes["max"] else -1
    return 1 if op in RISING else -1 if op in FALLING else 0


def binary_signatures(op: Bin, problem: Problem) -> Iterator[Signature]:
    """Yield the signatures of a binary op."""
    source = problem.types[0]
    yield from broadcast_signatures(problem)
    if source in BOOL:
        yield from _of_bool(op)
        return
    if op in (Bin.kAdd, Bin.kSub):
        yield signature(P, P, P)
    if op is Bin.kMul or (op is Bin.kDiv and source in FLOATS + COMPLEXES):
        yield signature(P, B, P)
    if op in (Bin.kMul, Bin.kSquareBackwardWithDyX):
        yield signature(B, P, P)
    if "dy" in OPS[op].operands:
        yield from _of_gradient(op, source, problem.attributes)
    if source in COMPLEXES:
        return
    if op in (Bin.kMax, Bin.kMin):
        same, other = (PMAX, PMIN) if op is Bin.kMax else (PMIN, PMAX)
        yield from (signature(same, same, same), signature(other, B, other), signature(B, other, other))
    for position, slope in enumerate(_SLOPES.get(op, (0, 0))):
        for partial, becomes in _ORDER.get(slope, {}).items():
            yield _with(position, partial, becomes)


def _of_bool(op: Bin) -> Iterator[Signature]:
    """Yield the rows of ops that are `or` or `and` of two operands, of which one may be negated."""
    joins, x, y = _BOOL.get(op, ("", 1, 1))
    if joins:
        same, other = (PMAX, PMIN) if joins == "or" else (PMIN, PMAX)
        yield signature(_ORDER[x][same], _ORDER[y][same], same)
        yield signature(_ORDER[x][other], B, other)
        yield signature(B, _ORDER[y][other], other)


def _of_gradient(op: Bin, source: DataType, attributes: Mapping[str, float]) -> Iterator[Signature]:
    """Yield the rows of a gradient: it is linear in dy for any other operand, and monotonic if the slope has one sign.

    Gradients of integers are truncated, which is not linear if there are fractions, but keeps the order.
    """
    dy = OPS[op].operands.index("dy")
    slope = _slope_of_gradient(op, attributes)
    exponent = attributes.get("exponent", 0.5)
    kept: dict[Sbp, Sbp] = {P: P} if source in FLOATS + COMPLEXES or exponent in range(1, 64) else {}
    if source not in COMPLEXES:
        kept |= _ORDER.get(slope, {})
    for partial, becomes in kept.items():
        yield _with(dy, partial, becomes)
    if op is Bin.kScalarBasePowerGrad and exponent == 2:
        yield signature(P, B, P)
    if op is Bin.kIdentityBackwardWithDyX:  # x is not read
        for unread in (P, PMAX, PMIN):
            yield signature(B, unread, B)
            for partial, becomes in kept.items():
                yield signature(partial, unread, becomes)


def _slope_of_gradient(op: Bin, attributes: Mapping[str, float]) -> int:
    """Return the sign of the factor of dy, if it is the same for all values of the other operand; else 0."""
    if op is Bin.kScalarBasePowerGrad:  # exponent * x ** (exponent - 1)
        exponent = attributes["exponent"]
        return 0 if exponent % 2 == 0 else 1 if exponent > 0 else -1
    if op is Bin.kScalarExpPowerGrad:  # log(base) * base ** x
        base = attributes["base"]
        return 1 if base > 1 else -1 if 0 < base < 1 else 0
    if op in (Bin.kEluBackwardWithDyX, Bin.kLeakyReluBackwardWithDyX) and attributes["alpha"] < 0:
        return 0
    return 1 if op in _SLOPE_NOT_NEGATIVE else -1 if op in _SLOPE_NOT_POSITIVE else 0


def _with(position: int, place: Sbp, result: Sbp) -> Signature:
    """Return the row in which one operand has the SBP `place`, and the other is broadcast."""
    return signature(place, B, result) if position == 0 else signature(B, place, result)


_BOOL: Final[Mapping[Bin, tuple[str, int, int]]] = {
    **dict.fromkeys([Bin.kAdd, Bin.kMax, Bin.kLogicalOr, Bin.kBitwiseOr], ("or", 1, 1)),
    **dict.fromkeys([Bin.kMul, Bin.kMin, Bin.kLogicalAnd, Bin.kBitwiseAnd], ("and", 1, 1)),
    **dict.fromkeys([Bin.kDiv, Bin.kFloorDiv, Bin.kTruncDiv], ("and", 1, 1)),
    Bin.kPow: ("or", 1, -1),
    Bin.kLessThan: ("and", -1, 1),
    Bin.kLessEqual: ("or", -1, 1),
    Bin.kGreaterThan: ("and", 1, -1),
    Bin.kGreaterEqual: ("or", 1, -1),
}
"""The effect of an op on bool: `or` or `and`, and -1 for an operand that is negated. Other ops are neither."""

_SLOPE_NOT_NEGATIVE: Final = frozenset(
    [
        *(Bin.kIdentityBackwardWithDyX, Bin.kEluBackwardWithDyX, Bin.kHardsigmoidBackwardWithDyX),
        *(Bin.kHardshrinkBackwardWithDyY, Bin.kHardtanhBackwardWithDyY, Bin.kLeakyReluBackwardWithDyX),
        *(Bin.kReluBackwardWithDyX, Bin.kReluBackwardWithDyY, Bin.kSeluBackwardWithDyX, Bin.kSoftsignBackwardWithDyX),
        *(Bin.kSoftplusBackwardWithDyX, Bin.kSoftshrinkBackwardWithDyY, Bin.kThresholdBackwardWithDyX),
        *(Bin.kSigmoidBackwardWithDyX, Bin.kAcoshBackwardWithDyX, Bin.kAsinBackwardWithDyX),
        *(Bin.kAsinhBackwardWithDyX, Bin.kAtanBackwardWithDyX, Bin.kErfBackwardWithDyX, Bin.kExpBackwardWithDyX),
        *(Bin.kExp2BackwardWithDyX, Bin.kExpm1BackwardWithDyX, Bin.kLogSigmoidBackwardWithDyX),
        *(Bin.kSinhBackwardWithDyX, Bin.kSqrtBackwardWithDyX, Bin.kTanBackwardWithDyX),
        *(Bin.kSquareReLUBackwardWithDyX, Bin.kDigammaBackwardWithDyX),
    ]
)
_SLOPE_NOT_POSITIVE: Final = frozenset(
    [
        *(Bin.kAcosBackwardWithDyX, Bin.kErfcBackwardWithDyX, Bin.kReciprocalBackwardWithDyX),
        *(Bin.kReciprocalNoNanBackwardWithDyX, Bin.kRsqrtBackwardWithDyX),
    ]
)

_ABOUT_THE_REST: Final = {
    **dict.fromkeys([U.kIsNan, U.kIsInf, U.kIsFinite], "of finite numbers it is constant, and it is there for others"),
    U.kNanAssign: "of finite numbers it is the identity, and it is there for others",
}


def why_not_listed(op: U | Bin, problem: Problem) -> str | None:
    """Return why rows of an op that hold for all finite data are left out; None if it has no such rows."""
    if problem.types[0] in BOOL and op in (Bin.kFmod, Bin.kFloorMod):
        return "of bool it is constant"
    if problem.types[0] in BOOL and "dy" in OPS[op].operands:
        return "bool has no gradient"
    return _ABOUT_THE_REST.get(op) if isinstance(op, U) else None
