"""full: an array filled with one value."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np

from ep.common.arrays.on_device import arrays_on
from ep.common.checks import as_size
from ep.common.primitive.broadcast import Dims
from ep.common.scalar import is_scalar
from ep.include.arrays import Array, ArrayLike, Arrays
from ep.include.data_type import DataType, DTypeLike, as_data_type
from ep.include.device_type import DeviceType
from ep.include.primitive.fill import Fill, FillFactory
from ep.include.primitive.registry import RequirePrimitive
from ep.include.primitive.tensor_fill import TensorFill, TensorFillFactory
from ep.include.shown import shown
from ep.ops.devices import arrays_of
from ep.ops.names import launch
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
        `fill_value` is an array, its device is used.

    Raises ValueError for a number that the dtype does not hold, TypeError if `fill_value` is an array of another dtype
    than `dtype`.
    """
    sizes = tuple(as_size(size, f"shape[{axis}]") for axis, size in enumerate(as_sizes((shape,), "shape")))
    if not is_scalar(fill_value):
        return _filled_by_array(sizes, fill_value, dtype, device)
    if isinstance(device, str):
        device = DeviceType.FromTag(device)
    data_type = as_data_type(np.asarray(fill_value).dtype if dtype is None else dtype)
    return filled(arrays_on(device or DeviceType.kCPU, device_index), sizes, fill_value, data_type)


def filled(arrays: Arrays, sizes: Dims, fill_value: complex, data_type: DataType) -> Array:
    """Return a new array of a device, filled with a number."""
    primitive = _fill(arrays.device_type, data_type)
    dst = arrays.destination(sizes, data_type.dtype, None)
    launch(primitive, {"value": "fill_value"}, arrays.stream, dst, fill_value, math.prod(sizes))
    return arrays.delivered(dst, None)


def _filled_by_array(sizes: Dims, fill_value: ArrayLike, dtype: DTypeLike | None, device: Any) -> Array:
    arrays = arrays_of((fill_value,), ("fill_value",))
    if not isinstance(arrays, Arrays):
        raise TypeError(f"fill_value is on {arrays.place}; it must be an array of one device")
    src = arrays.as_buffer(fill_value, "fill_value")
    if src.shape != ():
        raise ValueError(f"fill_value has shape {src.shape}; it must be a number or an array without axes")
    if device is not None:
        raise ValueError(f"device is {shown(device)}; an array is filled on the device that fill_value is on")
    data_type = as_data_type(src.dtype if dtype is None else dtype)
    if data_type.dtype != src.dtype:
        raise TypeError(f"dtype is {data_type.dtype}, fill_value has {src.dtype}; convert it first")
    primitive = _tensor_fill(arrays.device_type, data_type)
    dst = arrays.destination(sizes, data_type.dtype, None)
    launch(primitive, {"src": "fill_value"}, arrays.stream, src, dst, math.prod(sizes))
    return arrays.delivered(dst, None)


@cache
def _fill(device_type: DeviceType, data_type: DataType) -> Fill:
    return RequirePrimitive(FillFactory, device_type, data_type)


@cache
def _tensor_fill(device_type: DeviceType, data_type: DataType) -> TensorFill:
    return RequirePrimitive(TensorFillFactory, device_type, data_type)
