"""The signatures of unary and binary operators: the effect of each op on sums and on an order.

An op is linear if op(a + b) is op(a) + op(b). Its record has its order, for the signs of its attributes' defaults;
`_order` checks the attributes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from ep.include.data_type import DataType
from ep.include.number_kind import BOOL, COMPLEXES, FLOATS
from ep.include.primitive.binary_op import BinaryOp as Bin
from ep.include.primitive.op_definition import Order
from ep.include.primitive.op_table import OPS
from ep.include.primitive.unary_op import UnaryOp as U
from ep.ops.sbp_signatures import PMAX, PMIN, B, P, broadcast_signatures, signature
from ep.sbp import Problem, Sbp, SbpSignature, Split

_ORDER: Final[Mapping[Order | None, Mapping[Sbp, Sbp]]] = {
    Order.RISES: {PMAX: PMAX, PMIN: PMIN},
    Order.FALLS: {PMAX: PMIN, PMIN: PMAX},
    Order.RISES_FROM: {PMIN: PMIN},  # above some number; below it is NaN, which propagates
    Order.FALLS_FROM: {PMIN: PMAX},
    None: {},
}
"""The partials that an op makes of a PMax and of a PMin, by its order."""

_SLOPE_ALPHA: Final = U.kElu, U.kCelu, U.kLeakyRelu, Bin.kEluBackwardWithDyX, Bin.kLeakyReluBackwardWithDyX
"""The ops whose slope has the sign of alpha below 0."""


def unary_signatures(op: U, problem: Problem) -> Iterator[SbpSignature]:
    """Yield the signatures of a unary op."""
    (shape,), (source,) = problem.shapes, problem.types
    for axis in range(len(shape)):
        yield signature(Split(axis), Split(axis))
    if (op is U.kIdentity or OPS[op].transposed) and source not in BOOL:
        yield signature(P, P)
    for partial, result in _ORDER[_order(op, source, problem.attributes)].items():
        if source not in COMPLEXES:
            yield signature(partial, result)


def _order(op: U | Bin, source: DataType, attributes: Mapping[str, float]) -> Order | None:
    """Return what an op makes of a larger operand, or of a larger dy for all values of the other operand.

    It is None for an op that has no order with these attributes.
    """
    if op is U.kThreshold:  # value where x <= threshold, else x
        return Order.RISES if attributes["value"] <= attributes["threshold"] else None
    if op is U.kLogicalNot:
        return Order.FALLS if source in BOOL else None
    if op is U.kHardTanh and attributes["min"] > attributes["max"]:
        return Order.FALLS
    if op is Bin.kScalarBasePowerGrad:  # exponent * x ** (exponent - 1)
        exponent = attributes["exponent"]
        return None if exponent % 2 == 0 else Order.RISES if exponent > 0 else Order.FALLS
    if op is Bin.kScalarExpPowerGrad:  # log(base) * base ** x
        base = attributes["base"]
        return Order.RISES if base > 1 else Order.FALLS if 0 < base < 1 else None
    if op in _SLOPE_ALPHA and attributes["alpha"] < 0:
        return None
    return next(iter(OPS[op].order), None)


def binary_signatures(op: Bin, problem: Problem) -> Iterator[SbpSignature]:
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
    if "dy" not in OPS[op].operands:
        for position, order in enumerate(OPS[op].order):
            for partial, becomes in _ORDER[order].items():
                yield _with(position, partial, becomes)


def _of_bool(op: Bin) -> Iterator[SbpSignature]:
    """Yield the rows of ops that are `or` or `and` of two operands, of which one may be negated."""
    words = OPS[op].on_bool
    if words:
        x, y = (_ORDER[Order.FALLS if f"not {name}" in words else Order.RISES] for name in "xy")
        same, other = (PMAX, PMIN) if " or " in words else (PMIN, PMAX)
        yield signature(x[same], y[same], same)
        yield signature(x[other], B, other)
        yield signature(B, y[other], other)


def _of_gradient(op: Bin, source: DataType, attributes: Mapping[str, float]) -> Iterator[SbpSignature]:
    """Yield the rows of a gradient: it is linear in dy for any other operand, and monotonic if the slope has one sign.

    Gradients of integers are truncated, which is not linear if there are fractions, but keeps the order.
    """
    dy = OPS[op].operands.index("dy")
    exponent = attributes.get("exponent", 0.5)
    kept: dict[Sbp, Sbp] = {P: P} if source in FLOATS + COMPLEXES or exponent in range(1, 64) else {}
    if source not in COMPLEXES:
        kept |= _ORDER[_order(op, source, attributes)]
    for partial, becomes in kept.items():
        yield _with(dy, partial, becomes)
    if op is Bin.kScalarBasePowerGrad and exponent == 2:
        yield signature(P, B, P)
    if op is Bin.kIdentityBackwardWithDyX:  # x is not read
        for unread in (P, PMAX, PMIN):
            yield signature(B, unread, B)
            for partial, becomes in kept.items():
                yield signature(partial, unread, becomes)


def _with(position: int, place: Sbp, result: Sbp) -> SbpSignature:
    """Return the row in which one operand has the SBP `place`, and the other is broadcast."""
    return signature(place, B, result) if position == 0 else signature(B, place, result)


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
