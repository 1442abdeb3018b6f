"""Functions of the array API that change the shape of an array, or the order of its elements."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from ep.common.arrays.indexing import reshaped
from ep.common.checks import as_integer
from ep.include.arrays import Array, ArrayLike, Arrays, Operands
from ep.include.data_type import DataType, as_data_type
from ep.include.device_type import DeviceType
from ep.include.primitive.expand import Expand, ExpandFactory
from ep.include.primitive.registry import RequirePrimitive
from ep.ops.declare.function import FUNCTIONS, composition
from ep.ops.devices import arrays_of, as_operand
from ep.ops.names import launch
from ep.ops.shapes import as_sizes, from_front


def viewed(array: Any, shape: Sequence[int]) -> Any:
    """Return the elements of an array in another shape, as a view if the arrays of the device have one."""
    return array.reshape(tuple(shape)) if hasattr(array, "reshape") else reshape(array, shape)


def _read(x: ArrayLike) -> tuple[Operands, Any, Any]:
    """Return the reader of an operand, and what `as_operand` returns."""
    arrays = arrays_of((x,), ("x",))
    return arrays, *as_operand(arrays, x, "x")


def _in_shape(arrays: Operands, buffer: Any, shape: Sequence[int]) -> Array:
    """Return a new array of the elements in another shape; of arrays that are recorded, nothing is copied."""
    if not isinstance(arrays, Arrays):
        return buffer.reshape(tuple(shape))
    row = (buffer.size,)
    dst = arrays.destination(shape, buffer.dtype, None)
    primitive = _copy(arrays.device_type, as_data_type(buffer.dtype))
    launch(primitive, {"src": "x"}, arrays.stream, row, buffer, row, dst)
    return arrays.delivered(dst, None)


@cache
def _copy(device_type: DeviceType, data_type: DataType) -> Expand:
    return RequirePrimitive(ExpandFactory, device_type, data_type, 1)


def _axes(given: Any, name: str, num_dims: int) -> list[int]:
    """Return one or several axes, counted from the front; ValueError if one is given twice."""
    several = given if isinstance(given, Sequence) else (given,)
    axes = [from_front(axis, name, num_dims, num_dims) for axis in several]
    if len(set(axes)) < len(axes):
        raise ValueError(f"{name} is {given}, which has an axis twice")
    return axes


@composition
def reshape(x: ArrayLike, shape: Any) -> Array:
    """Return the elements of `x` in another shape, as `numpy.reshape`, in a new array.

    x: array of any type. shape: sizes, one of which may be -1: it follows from the others.

    Raises ValueError if the number of elements differs.
    """
    arrays, _, buffer = _read(x)
    return _in_shape(arrays, buffer, reshaped(buffer, (shape,)))


@composition
def squeeze(x: ArrayLike, axis: int | tuple[int, ...] | None = None) -> Array:
    """Return `x` without axes of size 1, as `numpy.squeeze`, in a new array.

    x: array of any type. axis: one or several axes, which must have size 1; by default, all of this size.
    """
    arrays, _, buffer = _read(x)
    shape = tuple(buffer.shape)
    axes = [k for k, size in enumerate(shape) if size == 1] if axis is None else _axes(axis, "axis", len(shape))
    for one in axes:
        if shape[one] != 1:
            raise ValueError(f"axis {one} of x has size {shape[one]}; it must be 1")
    return _in_shape(arrays, buffer, [size for k, size in enumerate(shape) if k not in axes])


@composition
def expand_dims(x: ArrayLike, axis: int | tuple[int, ...] = 0) -> Array:
    """Return `x` with new axes of size 1, as `numpy.expand_dims`, in a new array.

    x: array of any type. axis: the positions of the new axes in the result; negative ones are counted from the last.
    """
    arrays, _, buffer = _read(x)
    num_dims = len(buffer.shape) + (len(axis) if isinstance(axis, Sequence) else 1)
    places = _axes(axis, "axis", num_dims)
    sizes = iter(buffer.shape)
    return _in_shape(arrays, buffer, [1 if k in places else next(sizes) for k in range(num_dims)])


@composition
def moveaxis(x: ArrayLike, source: int | tuple[int, ...], destination: int | tuple[int, ...]) -> Array:
    """Return `x` with some axes in other positions, as `numpy.moveaxis`; the others keep their order.

    x: array of any type. source, destination: one or several axes, and their positions in the result.
    """
    _, array, buffer = _read(x)
    num_dims = len(buffer.shape)
    begin, end = _axes(source, "source", num_dims), _axes(destination, "destination", num_dims)
    if len(begin) != len(end):
        raise ValueError(f"source has {len(begin)} axes, destination has {len(end)}")
    rest = iter(axis for axis in range(num_dims) if axis not in begin)
    return FUNCTIONS["permute"](array, [begin[end.index(k)] if k in end else next(rest) for k in range(num_dims)])


@composition
def matrix_transpose(x: ArrayLike) -> Array:
    """Return `x` with its last two axes exchanged, as `numpy.matrix_transpose`; ValueError if it has fewer."""
    _, array, buffer = _read(x)
    num_dims = len(buffer.shape)
    if num_dims < 2:
        raise ValueError(f"x has shape {tuple(buffer.shape)}; it must have two axes at least")
    return FUNCTIONS["permute"](array, [*range(num_dims - 2), num_dims - 1, num_dims - 2])


@composition
def broadcast_to(x: ArrayLike, shape: Any) -> Array:
    """Return `x` repeated to a shape, as `numpy.broadcast_to`, in a new array: `expand`, in which -1 keeps a size.

    x: array of any type. shape: sizes >= 0; axes of size 1 and new ones in front are repeated.
    """
    sizes = as_sizes((shape,), "shape")
    for axis, size in enumerate(sizes):
        if size < 0:
            raise ValueError(f"shape[{axis}] is {size}; it must be 0 at least")
    return FUNCTIONS["expand"](x, *sizes) if sizes else FUNCTIONS["expand"](x, ())


@composition
def flip(x: ArrayLike, axis: int | tuple[int, ...] | None = None) -> Array:
    """Return the elements of `x` in the reverse order along axes, as `numpy.flip`.

    x: array of any type. axis: one or several axes; all by default.
    """
    arrays, array, buffer = _read(x)
    num_dims = len(buffer.shape)
    axes = list(range(num_dims)) if axis is None else _axes(axis, "axis", num_dims)
    if not axes:
        return FUNCTIONS["identity"](array)
    for one in axes:
        order = np.arange(buffer.shape[one] - 1, -1, -1)
        # no index is out of range, so none is checked
        array = FUNCTIONS["gather"](array, arrays.copy_from_host(order), axis=one, mode="zero")
    return array


@composition
def roll(x: ArrayLike, shift: int | tuple[int, ...], axis: int | tuple[int, ...] | None = None) -> Array:
    """Return the elements of `x` moved along axes, as `numpy.roll`: those moved beyond the end begin again.

    x: array of any type. shift: how far, for one or several axes. axis: the axes; by default, the array is taken as one
    row, and then has its own shape again. Raises ValueError if there are several shifts, and another number of axes.
    """
    _, array, buffer = _read(x)
    shape = tuple(buffer.shape)
    if axis is None:
        return viewed(roll(viewed(array, (buffer.size,)), as_integer(shift, "shift"), 0), shape)
    axes = [from_front(one, "axis", len(shape), len(shape)) for one in _several(axis)]
    shifts = [as_integer(one, "shift") for one in _several(shift)]
    if len(shifts) == 1:
        shifts *= len(axes)
    if len(axes) == 1:
        axes *= len(shifts)
    if len(axes) != len(shifts):
        raise ValueError(f"shift has {len(shifts)} numbers, axis has {len(axes)}")
    moved = False
    for one, by in zip(axes, shifts, strict=True):
        size = shape[one]
        first = (size - by) % size if size else 0
        if first:
            before = [slice(None)] * one
            parts = [FUNCTIONS["slice"](array, *before, part) for part in (slice(first, size), slice(0, first))]
            array = FUNCTIONS["concat"](parts, one)
        moved |= bool(first)
    return array if moved else FUNCTIONS["identity"](array)


def _several(given: Any) -> Sequence[Any]:
    return given if isinstance(given, Sequence) else (given,)
