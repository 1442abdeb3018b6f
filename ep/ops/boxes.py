"""concat, stack, split and slice: boxes of arrays copied to where they belong."""

from __future__ import annotations

import builtins
import math
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any

import numpy as np

from ep.common.checks import as_integer
from ep.common.primitive.box_copy import BoxCopy
from ep.common.primitive.broadcast import Dims, simplify_strided
from ep.common.primitive.pad_shape import PadShape
from ep.common.primitive.strides import contiguous_strides
from ep.include.arrays import Array, ArrayLike, Arrays
from ep.include.device_type import DeviceType
from ep.include.primitive.copy_nd import CopyNd, CopyNdFactory
from ep.include.primitive.expand import Expand, ExpandFactory
from ep.include.primitive.primitive import kMaxNumDims
from ep.include.primitive.registry import RequirePrimitive
from ep.ops.devices import arrays_of
from ep.ops.names import launch
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


def split(x: ArrayLike, indices_or_sections: Any, axis: int = 0) -> list[Array]:
    """Return the parts of `x` along an axis, as `numpy.split`; they are arrays of their own, and no views.

    indices_or_sections: how many equal parts; or where they end, but for the last: `[2, 5]` gives `[:2]`, `[2:5]` and
        `[5:]`, which NumPy's rules for slices read.
    axis: negative: counted from the last.

    Raises ValueError where the parts cannot be equal.
    """
    on = arrays_of((x,), ("x",))
    src = on.as_buffer(x, "x")
    along = from_front(axis, "axis", len(src.shape), len(src.shape))
    inner, size = math.prod(src.shape[along + 1 :]), src.shape[along]
    outer = math.prod(src.shape[:along])
    parts = []
    for begin, end in _sections(indices_or_sections, size):
        part = on.destination((*src.shape[:along], end - begin, *src.shape[along + 1 :]), src.dtype, None)
        dims = outer, (end - begin) * inner
        _copy(on, BoxCopy(dims, (0, 0), (outer, size * inner), (0, begin * inner), dims), src, part)
        parts.append(on.delivered(part, None))
    return parts


def slice(x: ArrayLike, *slices: Any, out: Array | None = None) -> Array:
    """Return a box of `x`, as `x[slices]` of NumPy, for slices with positive steps; it is no view.

    x: array of any type.
    slices: for each axis a `slice`, a tuple `(start, stop)` or `(start, stop, step)`, or None for all of it; axes for
        which there is none are kept. Each part may be None; negative ones count from the end; what is out of range is
        cut, all as NumPy has it.
    out: where to put the result, an array of its shape and dtype.

    Raises TypeError for what is no slice, an integer too: axes are kept; ValueError for more slices than axes, for
    steps below 1, and where more than 8 axes are left once those that are kept whole are part of their neighbours.
    """
    on = arrays_of((x,), ("x",))
    src = on.as_buffer(x, "x")
    ranges = _ranges(slices, src.shape)
    shape = tuple(map(len, ranges))
    begins = tuple(one.start for one in ranges)
    ends = tuple(one[-1] + 1 if one else one.start for one in ranges)
    dst = on.destination(shape, src.dtype, out)
    cropped = tuple(end - begin for begin, end in zip(begins, ends, strict=True))
    after = tuple(end - size for end, size in zip(ends, src.shape, strict=True))
    crop = PadShape(src.shape, tuple(-begin for begin in begins), after)
    if len(src.shape) > kMaxNumDims:
        crop = crop.simplified()
    if cropped == shape:  # no steps
        _copy(on, crop.copied(), src, dst)
    else:
        box = on.destination(cropped, src.dtype, None)
        _copy(on, crop.copied(), src, box)
        steps = [one.step * stride for one, stride in zip(ranges, contiguous_strides(cropped), strict=True)]
        _copy_strided(on, box, steps, dst, shape)
    return on.delivered(dst, out)


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
        _copy(on, BoxCopy((outer, shape[axis] * inner), (0, begin), dims, (0, 0), dims), buffer, dst)
        begin += size * inner
    return on.delivered(dst, None)


def _sections(indices_or_sections: Any, size: int) -> list[tuple[int, int]]:
    """Return where each part begins and ends."""
    if isinstance(indices_or_sections, Iterable) and getattr(indices_or_sections, "ndim", None) != 0:
        name = "indices_or_sections"
        ends = [as_integer(end, f"{name}[{place}]") for place, end in enumerate(indices_or_sections)]
        pairs = zip([0, *ends], [*ends, size], strict=True)
        ranges = [builtins.slice(begin, end).indices(size) for begin, end in pairs]
        return [(begin, max(begin, end)) for begin, end, _ in ranges]
    count = as_integer(indices_or_sections, "indices_or_sections")
    if count < 1 or size % count:
        raise ValueError(f"indices_or_sections is {count}, and the axis has {size} elements: no equal parts")
    part = size // count
    return [(place * part, (place + 1) * part) for place in range(count)]


def _ranges(slices: Sequence[Any], shape: Dims) -> list[range]:
    """Return the places along each axis."""
    if len(slices) > len(shape):
        raise ValueError(f"there are {len(slices)} slices for the {len(shape)} axes of x")
    ranges = []
    for position, size in enumerate(shape):
        given = slices[position] if position < len(slices) else None
        if given is None:
            given = builtins.slice(None)
        elif isinstance(given, tuple) and len(given) in (2, 3):
            given = builtins.slice(*given)
        if not isinstance(given, builtins.slice):
            raise TypeError(f"slices[{position}] must be a slice, a tuple of 2 or 3 integers, or None, not {given!r}")
        try:
            begin, end, step = given.indices(size)
        except (TypeError, ValueError) as error:  # parts that are no integers; a step of 0
            raise type(error)(f"slices[{position}]: {error}") from error
        if step < 1:
            raise ValueError(f"slices[{position}] has the step {step}; it must be 1 at least")
        ranges.append(range(begin, max(begin, end), step))
    return ranges


def _copy(on: Arrays, box: BoxCopy, src: Array, dst: Array) -> None:
    if len(box.extent) > kMaxNumDims:
        raise ValueError(f"slices of x leave {len(box.extent)} axes; at most {kMaxNumDims} are possible")
    launch(
        *(_copy_nd(on.device_type), {"src": "x", "dst": "out"}, on.stream, src.dtype),
        *(dst, box.dst_dims, box.dst_pos, src, box.src_dims, box.src_pos, box.extent),
    )


def _copy_strided(on: Arrays, src: Array, steps: Sequence[int], dst: Array, shape: Dims) -> None:
    if dst.size == 0:
        return
    dims, src_strides, dst_strides = simplify_strided(shape, tuple(steps), contiguous_strides(shape))
    if len(dims) > kMaxNumDims:
        raise ValueError(f"slices of x need {len(dims)} axes; at most {kMaxNumDims} are possible")
    launch(
        *(_expand(on.device_type, src.dtype), {"src": "x", "dst": "out"}, on.stream),
        *(dims, src, dims, dst, src_strides, dst_strides),
    )


@cache
def _copy_nd(device_type: DeviceType) -> CopyNd:
    return RequirePrimitive(CopyNdFactory, device_type, kMaxNumDims)


@cache
def _expand(device_type: DeviceType, dtype: np.dtype[Any]) -> Expand:
    return RequirePrimitive(ExpandFactory, device_type, dtype, kMaxNumDims)
