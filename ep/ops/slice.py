"""slice: a box of an array, with steps."""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from typing import Any

from ep.common.primitive.broadcast import Dims, simplify_strided
from ep.common.primitive.pad_shape import PadShape
from ep.common.primitive.strides import contiguous_strides
from ep.include.arrays import Array, ArrayLike, Arrays
from ep.include.primitive.primitive import kMaxNumDims
from ep.ops.boxes import copy_box
from ep.ops.devices import arrays_of
from ep.ops.expand import expand_primitive
from ep.ops.names import launch


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
        copy_box(on, crop.copied(), src, dst)
    else:
        box = on.destination(cropped, src.dtype, None)
        copy_box(on, crop.copied(), src, box)
        steps = [one.step * stride for one, stride in zip(ranges, contiguous_strides(cropped), strict=True)]
        _copy_strided(on, box, steps, dst, shape)
    return on.delivered(dst, out)


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


def _copy_strided(on: Arrays, src: Array, steps: Sequence[int], dst: Array, shape: Dims) -> None:
    if dst.size == 0:
        return
    dims, src_strides, dst_strides = simplify_strided(shape, tuple(steps), contiguous_strides(shape))
    if len(dims) > kMaxNumDims:
        raise ValueError(f"slices of x need {len(dims)} axes; at most {kMaxNumDims} are possible")
    launch(
        *(expand_primitive(on.device_type, src.dtype), {"src": "x", "dst": "out"}, on.stream),
        *(dims, src, dims, dst, src_strides, dst_strides),
    )
