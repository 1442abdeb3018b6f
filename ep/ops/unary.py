"""The functions of one operand: one for each UnaryOp that has an ElementwiseUnary."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, Final

import numpy as np

from ep.include.arrays import Array
from ep.include.data_type import as_data_type
from ep.include.device_type import DeviceType
from ep.include.primitive.elementwise_unary import ElementwiseUnary, ElementwiseUnaryFactory
from ep.include.primitive.op_table import OPS
from ep.include.primitive.registry import RequirePrimitive
from ep.include.primitive.unary_op import UnaryOp
from ep.ops.devices import arrays_of
from ep.ops.documentation import described
from ep.ops.names import function_name, launch
from ep.ops.parameters import Parameters

_NAMES: Final = {"src": "x", "dst": "out"}


def unary_function(op: UnaryOp) -> Callable[..., Array]:
    """Return the function of `op`: `f(x, <attributes>, *, out=None)`."""
    parameters = Parameters(op)

    def function(*args: Any, **kwargs: Any) -> Array:
        (x,), attributes, out = parameters.read(args, kwargs)
        arrays = arrays_of((x,), parameters.operands)
        src = arrays.as_buffer(x, "x")
        primitive, dtype = _primitive(arrays.device_type, op, src.dtype, attributes)
        dst = arrays.destination(src.shape, dtype, out)
        launch(primitive, _NAMES, arrays.stream, src, dst, src.size)
        return arrays.delivered(dst, out)

    return described(function, op, parameters.signature)


@lru_cache(maxsize=1024)
def _primitive(
    device_type: DeviceType, op: UnaryOp, dtype: np.dtype[Any], attributes: tuple[str, ...]
) -> tuple[ElementwiseUnary, np.dtype[Any]]:
    """Return the primitive for operands of `dtype`, and the dtype of its result."""
    src_type = as_data_type(dtype)
    dst_type = OPS[op].result_type(src_type)
    values = map(float.fromhex, attributes)
    return RequirePrimitive(ElementwiseUnaryFactory, device_type, op, src_type, dst_type, *values), dst_type.dtype


# a cast needs a type to cast to, which is no operand
FUNCTIONS: Final = {function_name(op): unary_function(op) for op in UnaryOp if op is not UnaryOp.kCast}
"""The functions by their names."""
