"""concat and stack: several arrays as one."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from ep.common.primitive.box_copy import BoxCopy
from ep.common.primitive.broadcast import Dims
from ep.include.arrays import Array, ArrayLike, Arrays
from ep.ops.boxes import copy_box
from ep.ops.devices import arrays_of
from ep.ops.shapes import from_front


def concat(arrays: Sequence[ArrayLike], axis: int | None = 0) -> Array:
    """Return arrays one behind the other along an axis, as `numpy.concat`.

    arrays: one or more, of one dtype and of the same shape but for the axis.
    axis: negative: counted from the last; None: the arrays are flattened, and may have any shapes.

    Raises TypeError where the dtypes differ, ValueError where the shapes do.
    """
    on, buffers = _buffers(arrays)
    if axis is None:
        shapes, along = [(buffer.size,) for buffer in buffers], 0
    else:
        shapes, num_dims = [buffer.shape for buffer in buffers], len(buffers[0].shape)
        along = from_front(axis, "axis", num_dims, num_dims)
    first = shapes[0]
    for position, shape in enumerate(shapes):
        if len(shape) != len(first) or _without(shape, along) != _without(first, along):
            raise ValueError(
                f"arrays[{position}] has shape {shape}, arrays[0] has {first}; they may differ at axis {along} alone"
            )
    whole = (*first[:along], sum(shape[along] for shape in shapes), *first[along + 1 :])
    return _joined(on, buffers, [shape[along] for shape in shapes], whole, along)


def stack(arrays: Sequence[ArrayLike], axis: int = 0) -> Array:
    """Return arrays beside each other along a new axis, as `numpy.stack`.

    arrays: one or more, of one dtype and one shape.
    axis: where the new axis is in the result; negative: counted from the last one there.

    Raises TypeError where the dtypes differ, ValueError where the shapes do.
    """
    on, buffers = _buffers(arrays)
    shape = buffers[0].shape
    for position, buffer in enumerate(buffers):
        if buffer.shape != shape:
            raise ValueError(f"arrays[{position}] has shape {buffer.shape}, arrays[0] has {shape}; they must be equal")
    along = from_front(axis, "axis", len(shape) + 1, len(shape) + 1)
    whole = (*shape[:along], len(buffers), *shape[along:])
    return _joined(on, buffers, [1] * len(buffers), whole, along)


def _buffers(arrays: Sequence[ArrayLike]) -> tuple[Arrays, list[Array]]:
    if isinstance(arrays, str | bytes) or not isinstance(arrays, Iterable):
        raise TypeError(f"arrays must be a sequence of arrays, not {type(arrays).__qualname__}")
    given = list(arrays)
    if not given:
        raise ValueError("arrays is empty; there must be one at least")
    names = [f"arrays[{position}]" for position in range(len(given))]
    on = arrays_of(given, names)
    buffers = [on.as_buffer(value, name) for value, name in zip(given, names, strict=True)]
    for buffer, name in zip(buffers, names, strict=True):
        if buffer.dtype != buffers[0].dtype:
            raise TypeError(f"{name} has dtype {buffer.dtype}, arrays[0] has {buffers[0].dtype}; convert one of them")
    return on, buffers


def _without(shape: Dims, axis: int) -> Dims:
    return shape[:axis] + shape[axis + 1 :]


def _joined(on: Arrays, buffers: Sequence[Array], sizes: Sequence[int], shape: Dims, axis: int) -> Array:
    """Copy buffers into a new array of `shape`, one behind the other along an axis of which they take `sizes`."""
    dst = on.destination(shape, buffers[0].dtype, None)
    outer, inner = math.prod(shape[:axis]), math.prod(shape[axis + 1 :])
    begin = 0
    for buffer, size in zip(buffers, sizes, strict=True):
        dims = outer, size * inner
        copy_box(on, BoxCopy((outer, shape[axis] * inner), (0, begin), dims, (0, 0), dims), buffer, dst)
        begin += size * inner
    return on.delivered(dst, None)
