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
from ep.ops.elementwise import ElementwiseKernel, OpOperator
from ep.ops.elementwise_signatures import unary_signatures
from ep.ops.kernels import Launches, OneLaunch
from ep.ops.names import in_errors


class UnaryKernel(ElementwiseKernel):
    """A kernel of one launch of ElementwiseUnary."""

    names = in_errors(src="x", dst="out")

    def prepare(self, shapes: Sequence[Dims], attributes: Attributes) -> Launches:
        return OneLaunch(self.primitive, Placeholder(0), RESULT, math.prod(shapes[0]))


def _shape(shapes: Sequence[Dims], attributes: Attributes) -> Sequence[Dims]:
    return shapes


def _declare(op: UnaryOp) -> None:
    """Declare the operator of `op`, whose function is `f(x, <attributes>, *, out=None)`."""
    operator = OpOperator(op, Role.TENSOR, _shape, unary_signatures)
    operator.add_kernel(ElementwiseUnaryFactory, UnaryKernel)
    names = operator.parameters.operands

    def read(operands: Sequence[Any]) -> tuple[Operands, Sequence[Array]]:
        arrays = arrays_of(operands, names)
        return arrays, [arrays.as_buffer(operands[0], "x")]

    operator.add_function(read)


for _op in UnaryOp:
    if _op is not UnaryOp.kCast:  # a cast needs a target type, which is not an operand
        _declare(_op)
