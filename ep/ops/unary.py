"""The unary operators: one for each UnaryOp that has an ElementwiseUnary."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

from ep.common.primitive.broadcast import Dims
from ep.include.arrays import RESULT, Placeholder
from ep.include.data_type import as_data_type
from ep.include.primitive.elementwise_unary import ElementwiseUnaryFactory
from ep.include.primitive.op_table import OPS, function_name
from ep.include.primitive.unary_op import UnaryOp
from ep.ops.declare.function import FUNCTIONS
from ep.ops.declare.gradient import Backward, Gradients, Rule
from ep.ops.declare.inputs import Role
from ep.ops.declare.operator import Attributes
from ep.ops.elementwise import add_kernel, declare_op
from ep.ops.elementwise_signatures import unary_signatures
from ep.ops.kernels import Calls, Launch, Plan
from ep.ops.names import parameter_name


def _unary_kernel(calls: Calls, unary: Any) -> Plan:
    """Return one launch of ElementwiseUnary."""
    return Plan(Launch(unary, Placeholder(0), RESULT, math.prod(calls.shapes[0])))


def _shape(shapes: Sequence[Dims], attributes: Attributes) -> Sequence[Dims]:
    return shapes


def _nan_assign_gradient(back: Backward) -> Gradients:
    (x,) = back.inputs
    return [FUNCTIONS["where"](FUNCTIONS["is_nan"](x), 0, back.dy)]


def _trigamma_gradient(back: Backward) -> Gradients:
    """Return the gradient; the derivative of trigamma is -2 zeta(3, x)."""
    (x,) = back.inputs
    return [FUNCTIONS["mul"](FUNCTIONS["mul"](FUNCTIONS["zeta"](3, x), -2), back.dy)]


_RULES: Final = {UnaryOp.kNanAssign: _nan_assign_gradient, UnaryOp.kTrigamma: _trigamma_gradient}
"""The gradients that are made of several operators."""


def _gradient(op: UnaryOp) -> Rule | None:
    """Return the rule, which is mostly a binary op of dy; None if there is none."""
    row = OPS[op]
    if op in _RULES:
        return _RULES[op]
    if not row.gradient:
        return None
    by = row.gradient[0]
    gradient = OPS[by]

    def rule(back: Backward) -> Gradients:
        (x,) = back.inputs
        if as_data_type(x.dtype) not in gradient.takes and op is UnaryOp.kIdentity:
            return [FUNCTIONS["identity"](back.dy)]
        attributes = {parameter_name(one): back.attributes[parameter_name(one)] for one in gradient.attributes}
        if isinstance(by, UnaryOp):
            return [FUNCTIONS[function_name(by)](back.dy, **attributes)]
        operands = [back.dy if one == "dy" else back.output if one == "y" else x for one in gradient.operands]
        return [FUNCTIONS[function_name(by)](*operands, **attributes)]

    return rule


for _op in UnaryOp:
    if _op is not UnaryOp.kCast:  # a cast needs a target type, which is not an operand
        declare_op(_op, Role.TENSOR, _shape, unary_signatures, _gradient(_op))
        add_kernel(_op, ElementwiseUnaryFactory, _unary_kernel, "UnaryKernel", src="x", dst="out")
