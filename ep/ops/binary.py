"""The operators of two operands: one for each BinaryOp."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from ep.common.primitive.broadcast import Dims, broadcast_dims
from ep.include.arrays import RESULT, Array, Operands, Placeholder
from ep.include.primitive.binary_op import BinaryOp
from ep.include.primitive.broadcast_elementwise_binary import BroadcastElementwiseBinaryFactory
from ep.include.primitive.op_table import OPS
from ep.include.primitive.primitive import kMaxNumDims
from ep.include.primitive.unary_op import UnaryOp
from ep.ops.declare.inputs import Role
from ep.ops.declare.operator import Attributes
from ep.ops.devices import arrays_of
from ep.ops.elementwise import ElementwiseKernel, OpOperator
from ep.ops.elementwise_signatures import binary_signatures
from ep.ops.kernels import Launches, OneLaunch, PrimitiveExists, Subject
from ep.ops.names import function_name
from ep.ops.operands import as_operands
from ep.ops.shapes import launch_dims


class BinaryKernel(ElementwiseKernel):
    """A kernel of one launch of BroadcastElementwiseBinary."""

    def __init__(self, op: UnaryOp | BinaryOp, exists: PrimitiveExists, subject: Subject) -> None:
        """Errors name the operator of `op` and its operands."""
        super().__init__(op, exists, subject)
        first, second = OPS[op].operands
        self._name, self.names = function_name(op), {"src0": first, "src1": second, "dst": "out"}

    def prepare(self, shapes: Sequence[Dims], attributes: Attributes) -> Launches:
        x_dims, y_dims = launch_dims(self._name, *shapes)
        return OneLaunch(self.primitive, x_dims, Placeholder(0), y_dims, Placeholder(1), RESULT)


def _shape(names: tuple[str, ...], shapes: Sequence[Dims], attributes: Attributes) -> list[Dims]:
    x, y = shapes
    return [x if x == y else broadcast_dims(x, y, names=names)]


def _declare(op: BinaryOp) -> None:
    """Declare the operator of `op`, whose function is `f(x, y, <attributes>, *, out=None)`.

    Some functions have dy as their first operand.
    """
    operator = OpOperator(op, Role.OPERAND, partial(_shape, OPS[op].operands), binary_signatures)
    operator.add_kernel(BroadcastElementwiseBinaryFactory, BinaryKernel, kMaxNumDims)
    names = operator.parameters.operands

    def read(operands: Sequence[Any]) -> tuple[Operands, Sequence[Array]]:
        arrays = arrays_of(operands, names)
        x, y = operands
        return arrays, as_operands(arrays, x, y, names)

    operator.add_function(read)


for _op in BinaryOp:
    _declare(_op)
