"""one_hot: indices of classes as rows with one element of another value."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from ep.common.checks import as_size
from ep.common.scalar import is_scalar
from ep.include.arrays import Array, ArrayLike
from ep.include.data_type import DataType, DTypeLike, as_data_type
from ep.include.device_type import DeviceType
from ep.include.primitive.one_hot import OneHot, OneHotFactory
from ep.include.primitive.registry import RequirePrimitive
from ep.ops.devices import arrays_of
from ep.ops.indices import as_indices
from ep.ops.names import launch


def one_hot(
    indices: ArrayLike,
    num_classes: int,
    on_value: complex = 1,
    off_value: complex = 0,
    dtype: DTypeLike | None = None,
    *,
    out: Array | None = None,
) -> Array:
    """Return a row for each index: `on_value` at the place that it names, and `off_value` elsewhere.

    indices: array of integers of any shape.
    num_classes: the elements of a row.
    on_value, off_value: numbers that the dtype of the result holds.
    dtype: that of the result; where left out, what NumPy makes of the two numbers (int64, float64, ...).
    out: where to put the result, an array of its shape and dtype.

    The result has the shape `(*indices.shape, num_classes)`. An index outside `0 ... num_classes - 1` gives a row of
    `off_value`, as in TensorFlow; PyTorch refuses it. Raises TypeError for indices that are no integers.
    """
    arrays = arrays_of((indices,), ("indices",))
    places = as_indices(arrays, indices)
    depth = as_size(num_classes, "num_classes")
    for value, name in ((on_value, "on_value"), (off_value, "off_value")):
        if not is_scalar(value):
            raise TypeError(f"{name} must be a number, not {value!r}")
    data_type = as_data_type(np.array([on_value, off_value]).dtype if dtype is None else dtype)
    primitive = _one_hot(arrays.device_type, places.dtype, data_type)
    dst = arrays.destination((*places.shape, depth), data_type.dtype, out)
    launch(primitive, {}, arrays.stream, places, dst, on_value, off_value, places.size, 0, depth)
    return arrays.delivered(dst, out)


@cache
def _one_hot(device_type: DeviceType, indices_dtype: np.dtype[Any], data_type: DataType) -> OneHot:
    return RequirePrimitive(OneHotFactory, device_type, indices_dtype, data_type)
