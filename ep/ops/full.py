"""full: an array filled with one value."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

from ep.common.primitive.broadcast import Dims
from ep.common.scalar import is_scalar
from ep.include.arrays import Array, ArrayLike, Arrays, LaterNumber, Operands
from ep.include.data_type import DataType, DTypeLike, as_data_type
from ep.include.device_type import DeviceType
from ep.include.errors import UnsupportedPrimitiveError
from ep.include.primitive.fill import Fill, FillFactory
from ep.include.primitive.registry import RequirePrimitive
from ep.include.primitive.tensor_fill import TensorFill, TensorFillFactory
from ep.include.shown import in_short, shown
from ep.ops.declare.function import FUNCTIONS
from ep.ops.devices import arrays_of, chosen
from ep.ops.names import launch
from ep.ops.operands import as_weak, dtype_of_numbers
from ep.ops.shapes import as_sizes


def full(
    shape: Any,
    fill_value: ArrayLike,
    dtype: DTypeLike | None = None,
    *,
    device: DeviceType | str | None = None,
    device_index: int = 0,
) -> Array:
    """Return a new array filled with one value, as `numpy.full`.

    shape: sizes >= 0, or one of them.
    fill_value: a number, or an array without axes, which is read on its device when the work is done.
    dtype: that of the result; by default, the dtype that NumPy gives the number (int64, float64, ...).
    device, device_index: where to put the array, such as DeviceType.kCUDA or its tag; the CPU by default. If
        `fill_value` is an array, its device is used. In a function of `ep.fuse` or `ep.grad` the default is the device
        of its arrays, and the result is one of its constants.

    Raises ValueError for a number that the dtype does not hold, TypeError if `fill_value` is an array of another dtype
    than `dtype`.
    """
    sizes = as_sizes((shape,), "shape")
    if not is_scalar(fill_value):
        return _filled_by_array(sizes, fill_value, dtype, device)
    own = dtype_of_numbers((fill_value,))
    if dtype is None and own.kind == "O":
        raise ValueError(f"fill_value is {in_short(fill_value)}, which no dtype holds")
    data_type = as_data_type(own if dtype is None else dtype)
    return filled(chosen(device, device_index), sizes, fill_value, data_type)


def filled(arrays: Operands, sizes: Dims, fill_value: complex, data_type: DataType) -> Array:
    """Return a new array, filled with a number."""
    if not isinstance(arrays, Arrays):
        number = as_weak(fill_value, data_type.dtype, "fill_value")
        return FUNCTIONS["expand"](arrays.number(number), sizes)
    primitive = _fill(arrays.device_type, data_type)
    dst = arrays.destination(sizes, data_type.dtype, None)
    launch(primitive, {"value": "fill_value"}, arrays.stream, dst, fill_value, math.prod(sizes))
    return arrays.delivered(dst, None)


def _filled_by_array(sizes: Dims, fill_value: ArrayLike, dtype: DTypeLike | None, device: Any) -> Array:
    arrays = arrays_of((fill_value,), ("fill_value",))
    if isinstance(fill_value, LaterNumber):
        wanted = dtype_of_numbers((fill_value,)) if dtype is None else as_data_type(dtype).dtype
        src: Any = fill_value.as_array(wanted, "fill_value")
    else:
        src = arrays.as_buffer(fill_value, "fill_value")
    if src.shape != ():
        raise ValueError(f"fill_value has shape {src.shape}; it must be a number or an array without axes")
    if device is not None:
        raise ValueError(f"device is {shown(device)}; an array is filled on the device that fill_value is on")
    data_type = as_data_type(src.dtype if dtype is None else dtype)
    if data_type.dtype != src.dtype:
        raise TypeError(f"dtype is {data_type.dtype}, fill_value has {src.dtype}; convert it first")
    if not isinstance(arrays, Arrays):
        return FUNCTIONS["expand"](src, sizes)
    primitive = _tensor_fill(arrays.device_type, data_type)
    dst = arrays.destination(sizes, data_type.dtype, None)
    launch(primitive, {"src": "fill_value"}, arrays.stream, src, dst, math.prod(sizes))
    return arrays.delivered(dst, None)


@cache
def _fill(device_type: DeviceType, data_type: DataType) -> Fill:
    primitive: Fill = _required(FillFactory, device_type, data_type)
    return primitive


@cache
def _tensor_fill(device_type: DeviceType, data_type: DataType) -> TensorFill:
    primitive: TensorFill = _required(TensorFillFactory, device_type, data_type)
    return primitive


def _required(factory: Any, device_type: DeviceType, data_type: DataType) -> Any:
    try:
        return RequirePrimitive(factory, device_type, data_type)
    except UnsupportedPrimitiveError as error:
        words = f"full has no kernel for out {data_type.dtype} on {device_type.tag}: {error}"
        raise UnsupportedPrimitiveError(words) from None
