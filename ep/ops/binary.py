"""The operators of two operands: one for each BinaryOp."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from ep.common.arrays.host import HostArrays
from ep.common.primitive.broadcast import Dims, broadcast_dims
from ep.include.arrays import Array
from ep.include.primitive.binary_op import BinaryOp
from ep.include.primitive.broadcast_elementwise_binary import BroadcastElementwiseBinaryFactory
from ep.include.primitive.op_table import OPS
from ep.include.primitive.primitive import kMaxNumDims
from ep.include.primitive.unary_op import UnaryOp
from ep.ops.declare.operator import Attributes, Role
from ep.ops.devices import arrays_of
from ep.ops.elementwise import MISSING, ElementwiseKernel, OpOperator, given
from ep.ops.elementwise_rows import binary_rows
from ep.ops.kernels import Call, PrimitiveExists, Subject
from ep.ops.names import function_name, launch
from ep.ops.operands import as_operands
from ep.ops.shapes import launch_dims


class BinaryKernel(ElementwiseKernel):
    """One launch of BroadcastElementwiseBinary."""

    def __init__(self, op: UnaryOp | BinaryOp, exists: PrimitiveExists, subject: Subject) -> None:
        """Errors name the operator of `op` and its operands."""
        super().__init__(op, exists, subject)
        first, second = OPS[op].operands
        self._name, self._in_errors = function_name(op), {"src0": first, "src1": second, "dst": "out"}

    def compute(self, call: Call) -> None:
        (x, y), (out,) = call.inputs, call.outputs
        x_dims, y_dims = launch_dims(self._name, x.shape, y.shape)
        launch(self.primitive, self._in_errors, call.stream, x_dims, x, y_dims, y, out)


def _shape(names: tuple[str, ...], shapes: Sequence[Dims], attributes: Attributes) -> list[Dims]:
    x, y = shapes
    return [x if x == y else broadcast_dims(x, y, names=names)]


def _declare(op: BinaryOp) -> None:
    """Declare the operator of `op`, whose function is `f(x, y, <attributes>, *, out=None)`; dy is an operand of some.

    Where operands are ndarrays of one shape and nothing else is given, the function remembers the kernel by their
    dtype, and lets its Launch check the rest, which it does in any case.
    """
    operator = OpOperator(op, Role.OPERAND, partial(_shape, OPS[op].operands), binary_rows)
    operator.add_kernel(BroadcastElementwiseBinaryFactory, BinaryKernel, kMaxNumDims)
    declared, parameters, names = operator.declared, operator.parameters, operator.parameters.operands
    ready, ndarray, empty = declared.ready, np.ndarray, np.empty

    def function(x: Any = MISSING, y: Any = MISSING, /, *more: Any, **named: Any) -> Array:
        plain = type(x) is ndarray and type(y) is ndarray and not more and not named
        if plain:
            shape, found = x.shape, ready.get(x.dtype)
            if found is not None and y.shape == shape:
                launch_it, stream, dtype = found
                dst = empty(shape, dtype)
                try:
                    launch_it(stream, shape, x, shape, y, dst)
                except (TypeError, ValueError):
                    pass  # nothing is written; below operands are copied, or refused in the operator's words
                else:
                    return dst
        (x, y), attributes, out = parameters.read(given(x, y, *more), named)
        arrays = arrays_of((x, y), names)
        operands = as_operands(arrays, x, y, names)
        result = arrays.compute(declared, operands, attributes, out)[0]
        if plain and type(arrays) is HostArrays:
            kernel, dtype = declared.kernel(arrays.device_type, [one.dtype for one in operands], attributes)
            if type(kernel) is BinaryKernel:
                ready[operands[0].dtype] = kernel.primitive.Launch, arrays.stream, dtype
        return result

    operator.add_function(function)


for _op in BinaryOp:
    _declare(_op)
