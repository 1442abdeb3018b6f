"""The gradients of unary and binary operators, which sum over broadcast axes."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ep.include.data_type import as_data_type
from ep.include.primitive.op_table import OPS
from ep.include.primitive.unary_op import UnaryOp
from ep.ops.gradients.vjp import (
    RULES,
    Backward,
    Gradients,
    call,
    conjugated,
    gradient_of,
    in_type,
    summed_to,
    unselected,
    zeros_like,
)
from ep.ops.names import function_name, parameter_name


def _unary_rule(op: UnaryOp) -> Callable[[Backward], Gradients] | None:
    row = OPS[op]
    if row.is_constant:
        return lambda back: [zeros_like(back.inputs[0])]
    if not row.gradient:
        return None
    by = row.gradient[0]
    gradient = OPS[by]

    def rule(back: Backward) -> Gradients:
        (x,) = back.inputs
        if as_data_type(x.dtype) not in gradient.takes and op is UnaryOp.kIdentity:
            return [call("identity")(back.dy)]
        attributes = {parameter_name(one): back.attributes[parameter_name(one)] for one in gradient.attributes}
        if isinstance(by, UnaryOp):
            return [call(function_name(by))(back.dy, **attributes)]
        operands = [back.dy if one == "dy" else back.output if one == "y" else x for one in gradient.operands]
        return [call(function_name(by))(*operands, **attributes)]

    return rule


for _unary in UnaryOp:
    if _unary is not UnaryOp.kCast and (_rule := _unary_rule(_unary)) is not None:
        RULES[function_name(_unary)] = _rule


@gradient_of("nan_assign")
def _nan_assign(back: Backward) -> Gradients:
    (x,) = back.inputs
    return [call("where")(call("is_nan")(x), 0, back.dy)]


@gradient_of("trigamma")
def _trigamma(back: Backward) -> Gradients:
    """Return the gradient; the derivative of trigamma is -2 zeta(3, x)."""
    (x,) = back.inputs
    return [call("mul")(call("mul")(call("zeta")(3, x), -2), back.dy)]


@gradient_of("cast")
def _cast(back: Backward) -> Gradients:
    return [in_type(back.dy, back.inputs[0].dtype)]


@gradient_of("add")
def _add(back: Backward) -> Gradients:
    return [summed_to(back.dy, one) for one in back.inputs]


@gradient_of("sub")
def _sub(back: Backward) -> Gradients:
    x, y = back.inputs
    return [summed_to(back.dy, x), summed_to(call("negative")(back.dy), y)]


@gradient_of("mul")
def _mul(back: Backward) -> Gradients:
    x, y = back.inputs
    mul = call("mul")
    return [summed_to(mul(back.dy, conjugated(y)), x), summed_to(mul(back.dy, conjugated(x)), y)]


@gradient_of("div")
def _div(back: Backward) -> Gradients:
    x, y = back.inputs
    of_x = call("div")(back.dy, conjugated(y))
    return [summed_to(of_x, x), summed_to(call("negative")(call("mul")(of_x, conjugated(back.output))), y)]


@gradient_of("maximum")
def _larger(back: Backward) -> Gradients:
    return _selected(back, *back.inputs)


@gradient_of("minimum")
def _smaller(back: Backward) -> Gradients:
    x, y = back.inputs
    return _selected(back, y, x)


def _selected(back: Backward, x: Any, y: Any) -> Gradients:
    """Give the gradient to an operand if x, or y, is larger; equal operands have half of it each, NaN spreads."""
    where, greater, dy = call("where"), call("greater"), back.dy
    shared = where(call("equal")(x, y), call("mul")(dy, 0.5), math.nan)
    zero, larger = unselected(dy), (greater(x, y), greater(y, x))
    return [
        summed_to(where(here, dy, where(there, zero, shared)), one)
        for here, there, one in zip(larger, larger[::-1], back.inputs, strict=True)
    ]


@gradient_of("pow")
def _pow(back: Backward) -> Gradients:
    """Return the gradients of x to the power of y; that of y is 0 if x is 0."""
    x, y = back.inputs
    mul, where = call("mul"), call("where")
    zero = call("add")(unselected(back.dy), unselected(back.output))
    of_x = where(call("equal")(y, 0), zero, mul(mul(back.dy, y), call("pow")(x, call("sub")(y, 1))))
    of_y = where(call("equal")(x, 0), zero, mul(mul(back.dy, back.output), call("log")(x)))
    return [summed_to(of_x, x), summed_to(of_y, y)]


@gradient_of("fmod", "floor_mod")
def _remainder(back: Backward) -> Gradients:
    """Return the gradients. The quotient follows from the remainder: x / y alone may be rounded to the next integer."""
    x, y = back.inputs
    times = call("rint")(call("div")(call("sub")(x, back.output), y))
    return [summed_to(back.dy, x), summed_to(call("negative")(call("mul")(back.dy, times)), y)]


@gradient_of("floor_div", "trunc_div")
def _whole_div(back: Backward) -> Gradients:
    """Return zero gradients: these ops are constant between their steps."""
    return [zeros_like(one) for one in back.inputs]


@gradient_of("where")
def _where(back: Backward) -> Gradients:
    condition, x, y = back.inputs
    where = call("where")
    return [None, summed_to(where(condition, back.dy, 0), x), summed_to(where(condition, 0, back.dy), y)]
