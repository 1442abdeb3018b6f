"""Functions of the array API that change the shape of an array, or the order of its elements."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from ep.common.arrays.indexing import reshaped
from ep.common.checks import are_several, integers_in
from ep.common.primitive.broadcast import Dims
from ep.include.arrays import Array, ArrayLike, Arrays
from ep.include.data_type import DataType, as_data_type
from ep.include.device_type import DeviceType
from ep.include.primitive.expand import Expand, ExpandFactory
from ep.include.primitive.registry import RequirePrimitive
from ep.ops.composition import composition
from ep.ops.declare.function import FUNCTIONS
from ep.ops.devices import arrays_of
from ep.ops.expand import expanded_shape
from ep.ops.names import launch
from ep.ops.shapes import as_axes, as_sizes, from_front
from ep.ops.terms import viewed


def _in_shape(x: Any, shape: Sequence[int]) -> Array:
    """Return a new array of the elements in another shape; of arrays that are recorded, nothing is copied."""
    arrays = arrays_of((x,), ("x",))
    if not isinstance(arrays, Arrays):
        return x.reshape(tuple(shape))
    buffer, row = arrays.as_buffer(x, "x"), (x.size,)
    dst = arrays.destination(shape, buffer.dtype, None)
    primitive = _copy(arrays.device_type, as_data_type(buffer.dtype))
    launch(primitive, {"src": "x"}, arrays.stream, row, buffer, row, dst)
    return arrays.delivered(dst, None)


@cache
def _copy(device_type: DeviceType, data_type: DataType) -> Expand:
    return RequirePrimitive(ExpandFactory, device_type, data_type, 1)


@composition()
def reshape(x: ArrayLike, shape: Any) -> Array:
    """Return the elements of `x` in another shape, as `numpy.reshape`, in a new array.

    x: array of any type. shape: sizes, one of which may be -1: it follows from the others.

    Raises ValueError if the number of elements differs.
    """
    return _in_shape(x, reshaped(x, (shape,)))


@composition()
def squeeze(x: ArrayLike, axis: int | tuple[int, ...] | None = None) -> Array:
    """Return `x` without axes of size 1, as `numpy.squeeze`, in a new array.

    x: array of any type. axis: one or several axes, which must have size 1; by default, all of this size.
    """
    shape = tuple(x.shape)
    axes = [k for k, size in enumerate(shape) if size == 1] if axis is None else as_axes(axis, "axis", len(shape))
    for one in axes:
        if shape[one] != 1:
            raise ValueError(f"axis {one} of x has size {shape[one]}; it must be 1")
    return _in_shape(x, [size for k, size in enumerate(shape) if k not in axes])


@composition()
def expand_dims(x: ArrayLike, axis: int | tuple[int, ...] = 0) -> Array:
    """Return `x` with new axes of size 1, as `numpy.expand_dims`, in a new array.

    x: array of any type. axis: the positions of the new axes in the result; negative ones are counted from the last.
    """
    new: Any = tuple(axis) if are_several(axis) else axis
    num_dims = len(x.shape) + (len(new) if isinstance(new, tuple) else 1)
    axes, sizes = as_axes(new, "axis", num_dims), iter(x.shape)
    return _in_shape(x, [1 if k in axes else next(sizes) for k in range(num_dims)])


@composition()
def moveaxis(x: ArrayLike, source: int | tuple[int, ...], destination: int | tuple[int, ...]) -> Array:
    """Return `x` with some axes in other positions, as `numpy.moveaxis`; the others keep their order.

    x: array of any type. source, destination: one or several axes, and their positions in the result.
    """
    num_dims = len(x.shape)
    begin, end = as_axes(source, "source", num_dims), as_axes(destination, "destination", num_dims)
    if len(begin) != len(end):
        raise ValueError(f"source has {len(begin)} axes, destination has {len(end)}")
    rest = iter(axis for axis in range(num_dims) if axis not in begin)
    return FUNCTIONS["permute"](x, [begin[end.index(k)] if k in end else next(rest) for k in range(num_dims)])


@composition()
def matrix_transpose(x: ArrayLike) -> Array:
    """Return `x` with its last two axes exchanged, as `numpy.matrix_transpose`; ValueError if it has fewer."""
    num_dims = len(x.shape)
    if num_dims < 2:
        raise ValueError(f"x has shape {tuple(x.shape)}; it must have two axes at least")
    return FUNCTIONS["permute"](x, [*range(num_dims - 2), num_dims - 1, num_dims - 2])


@composition()
def broadcast_to(x: ArrayLike, shape: Any) -> Array:
    """Return `x` repeated to a shape, as `numpy.broadcast_to`, in a new array: `expand`, in which -1 keeps a size.

    x: array of any type. shape: sizes >= 0; axes of size 1 and new ones in front are repeated.
    """
    return FUNCTIONS["expand"](x, expanded_shape(tuple(x.shape), as_sizes((shape,), "shape"), "shape"))


@composition()
def flip(x: ArrayLike, axis: int | tuple[int, ...] | None = None) -> Array:
    """Return the elements of `x` in the reverse order along axes, as `numpy.flip`.

    x: array of any type. axis: one or several axes; all by default.
    """
    num_dims = len(x.shape)
    axes = range(num_dims) if axis is None else as_axes(axis, "axis", num_dims)
    if not axes:
        return FUNCTIONS["identity"](x)
    arrays = arrays_of((x,), ("x",))
    for one in axes:
        order = np.arange(x.shape[one] - 1, -1, -1)
        # no index is out of range, so none is checked
        x = FUNCTIONS["gather"](x, arrays.copy_from_host(order), axis=one, mode="zero")
    return x


@composition()
def roll(x: ArrayLike, shift: int | tuple[int, ...], axis: int | tuple[int, ...] | None = None) -> Array:
    """Return the elements of `x` moved along axes, as `numpy.roll`: those moved beyond the end begin again.

    x: array of any type. shift: how far, for one or several axes. axis: the axes; by default, the array is taken as one
    row, and then has its own shape again. Raises ValueError if there are several shifts, and another number of axes.
    """
    shape, shifts = tuple(x.shape), integers_in(shift, "shift")
    axes: Dims
    if axis is None:
        sizes, axes = (x.size,), (0,)
    else:
        sizes, axes = shape, integers_in(axis, "axis")
        axes = tuple(from_front(one, "axis", len(shape), len(shape)) for one in axes)
    axes *= len(shifts) if len(axes) == 1 else 1
    shifts *= len(axes) if len(shifts) == 1 else 1
    if len(axes) != len(shifts):
        raise ValueError(f"shift has {len(shifts)} numbers, axis has {len(axes)}")
    row = x if sizes == shape else viewed(x, sizes)
    result = row
    for one in dict.fromkeys(axes):
        size, by = sizes[one], sum(each for at, each in zip(axes, shifts, strict=True) if at == one)
        first = -by % size if size else 0
        if first:
            before = [slice(None)] * one
            parts = [FUNCTIONS["slice"](result, *before, part) for part in (slice(first, size), slice(0, first))]
            result = FUNCTIONS["concat"](parts, one)
    result = FUNCTIONS["identity"](x) if result is row else result
    return result if tuple(result.shape) == shape else viewed(result, shape)
