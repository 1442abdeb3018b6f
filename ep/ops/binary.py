"""The functions of two operands: one for each BinaryOp."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, Final

import numpy as np

from ep.common.primitive.broadcast import broadcast_dims
from ep.include.arrays import Array
from ep.include.data_type import as_data_type
from ep.include.device_type import DeviceType
from ep.include.primitive.binary_op import BinaryOp
from ep.include.primitive.broadcast_elementwise_binary import (
    BroadcastElementwiseBinary,
    BroadcastElementwiseBinaryFactory,
)
from ep.include.primitive.op_table import OPS
from ep.include.primitive.primitive import kMaxNumDims
from ep.include.primitive.registry import RequirePrimitive
from ep.ops.devices import arrays_of
from ep.ops.documentation import described
from ep.ops.names import function_name, launch
from ep.ops.operands import as_operands
from ep.ops.parameters import Parameters
from ep.ops.shapes import launch_dims


def binary_function(op: BinaryOp) -> Callable[..., Array]:
    """Return the function of `op`: `f(x, y, <attributes>, *, out=None)`; backward ops have dy and x or y."""
    parameters = Parameters(op)
    name, names = function_name(op), parameters.operands
    in_errors = {"src0": names[0], "src1": names[1], "dst": "out"}

    def function(*args: Any, **kwargs: Any) -> Array:
        (x, y), attributes, out = parameters.read(args, kwargs)
        arrays = arrays_of((x, y), names)
        a, b = as_operands(arrays, x, y, names)
        primitive, dtype = _primitive(arrays.device_type, op, a.dtype, attributes)
        shape = a.shape if a.shape == b.shape else broadcast_dims(a.shape, b.shape, names=names)
        a_dims, b_dims = launch_dims(name, a.shape, b.shape)
        dst = arrays.destination(shape, dtype, out)
        launch(primitive, in_errors, arrays.stream, a_dims, a, b_dims, b, dst)
        return arrays.delivered(dst, out)

    return described(function, op, parameters.signature)


@lru_cache(maxsize=1024)
def _primitive(
    device_type: DeviceType, op: BinaryOp, dtype: np.dtype[Any], attributes: tuple[str, ...]
) -> tuple[BroadcastElementwiseBinary, np.dtype[Any]]:
    """Return the primitive for operands of `dtype`, and the dtype of its result."""
    src_type = as_data_type(dtype)
    dst_type = OPS[op].result_type(src_type)
    key = op, src_type, dst_type, kMaxNumDims, *map(float.fromhex, attributes)
    return RequirePrimitive(BroadcastElementwiseBinaryFactory, device_type, *key), dst_type.dtype


FUNCTIONS: Final = {function_name(op): binary_function(op) for op in BinaryOp}
"""The functions by their names."""
