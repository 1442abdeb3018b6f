"""The unary operators: one for each UnaryOp that has an ElementwiseUnary."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ep.common.primitive.broadcast import Dims
from ep.include.arrays import RESULT, Array, Operands, Placeholder
from ep.include.primitive.elementwise_unary import ElementwiseUnaryFactory
from ep.include.primitive.unary_op import UnaryOp
from ep.ops.declare.inputs import Role
from ep.ops.declare.operator import Attributes
from ep.ops.devices import arrays_of
from ep.ops.elementwise import OpOperator
from ep.ops.elementwise_signatures import unary_signatures
from ep.ops.kernels import Calls, Launch, Launches, Plan


def _unary_kernel(calls: Calls, unary: Any) -> Launches:
    """Return one launch of ElementwiseUnary."""
    return Plan(Launch(unary, Placeholder(0), RESULT, math.prod(calls.shapes[0])))


def _shape(shapes: Sequence[Dims], attributes: Attributes) -> Sequence[Dims]:
    return shapes


def _declare(op: UnaryOp) -> None:
    """Declare the operator of `op`, whose function is `f(x, <attributes>, *, out=None)`."""
    operator = OpOperator(op, Role.TENSOR, _shape, unary_signatures)
    operator.add_kernel(ElementwiseUnaryFactory, _unary_kernel, "UnaryKernel", src="x", dst="out")
    names = operator.parameters.operands

    def read(operands: Sequence[Any]) -> tuple[Operands, Sequence[Array]]:
        arrays = arrays_of(operands, names)
        return arrays, [arrays.as_buffer(operands[0], "x")]

    operator.add_function(read)


for _op in UnaryOp:
    if _op is not UnaryOp.kCast:  # a cast needs a target type, which is not an operand
        _declare(_op)
