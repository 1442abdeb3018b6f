"""The operators of one operand: one for each UnaryOp that has an ElementwiseUnary."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ep.common.arrays.host import HostArrays
from ep.common.primitive.broadcast import Dims
from ep.include.arrays import Array
from ep.include.primitive.elementwise_unary import ElementwiseUnaryFactory
from ep.include.primitive.unary_op import UnaryOp
from ep.ops.declare.operator import Attributes, Role
from ep.ops.devices import arrays_of
from ep.ops.elementwise import MISSING, ElementwiseKernel, OpOperator, given
from ep.ops.elementwise_rows import unary_rows
from ep.ops.kernels import Call
from ep.ops.names import launch


class UnaryKernel(ElementwiseKernel):
    """One launch of ElementwiseUnary."""

    def compute(self, call: Call) -> None:
        (x,), (out,) = call.inputs, call.outputs
        launch(self.primitive, {"src": "x", "dst": "out"}, call.stream, x, out, x.size)


def _shape(shapes: Sequence[Dims], attributes: Attributes) -> Sequence[Dims]:
    return shapes


def _declare(op: UnaryOp) -> None:
    """Declare the operator of `op`, whose function is `f(x, <attributes>, *, out=None)`.

    Where x is an ndarray and nothing else is given, the function remembers the kernel by the dtype of x, and lets its
    Launch check the rest, which it does in any case.
    """
    operator = OpOperator(op, Role.TENSOR, _shape, unary_rows)
    operator.add_kernel(ElementwiseUnaryFactory, UnaryKernel)
    declared, parameters = operator.declared, operator.parameters
    ready, ndarray, empty = declared.ready, np.ndarray, np.empty

    def function(x: Any = MISSING, /, *more: Any, **named: Any) -> Array:
        plain = type(x) is ndarray and not more and not named
        if plain and (found := ready.get(x.dtype)) is not None:
            launch_it, stream, dtype = found
            dst = empty(x.shape, dtype)
            try:
                launch_it(stream, x, dst, x.size)
            except (TypeError, ValueError):
                pass  # nothing is written; below x is copied, or refused in the operator's words
            else:
                return dst
        (x,), attributes, out = parameters.read(given(x, *more), named)
        arrays = arrays_of((x,), parameters.operands)
        src = arrays.as_buffer(x, "x")
        result = arrays.compute(declared, (src,), attributes, out)[0]
        if plain and type(arrays) is HostArrays:
            kernel, dtype = declared.kernel(arrays.device_type, (src.dtype,), attributes)
            if type(kernel) is UnaryKernel:
                ready[src.dtype] = kernel.primitive.Launch, arrays.stream, dtype
        return result

    operator.add_function(function)


for _op in UnaryOp:
    if _op is not UnaryOp.kCast:  # a cast needs a type to cast to, which is no operand
        _declare(_op)
