"""Operators that move elements, and those that compute sizes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from ep import ops
from ep.onnx.operators.fitting import axes_given, axes_in, axis_in, check, check_rank, number, numbers
from ep.onnx.operators.line import line, one_of
from ep.onnx.operators.placing import placed, taken
from ep.onnx.types import dtype_of

NDArray = np.ndarray[Any, Any]


@line("Constant", 1)
def constant(
    value: NDArray | None = None,
    value_float: float | None = None,
    value_floats: Sequence[float] | None = None,
    value_int: int | None = None,
    value_ints: Sequence[int] | None = None,
) -> NDArray:
    """Return the value in the node."""
    if value is not None:
        return value
    if value_int is not None or value_ints is not None:
        return np.array(value_ints if value_int is None else value_int, np.int64)
    return np.array(value_floats if value_float is None else value_float, np.float32)


@line("ConstantOfShape", 9, host=(0,))
def constant_of_shape(shape: NDArray, value: NDArray | None = None) -> NDArray:
    """Return an array of a shape filled with one value, 0.0 by default."""
    sizes, filled = numbers("input", shape), np.zeros(1, np.float32) if value is None else value
    check(min(sizes, default=0) >= 0, "input", sizes, "sizes of 0 or more")
    check(filled.size == 1, "value", filled.tolist(), "one number")
    return np.full(sizes, filled.reshape(()), filled.dtype)


@line("Range", 11, host=(0, 1, 2))
def arange(start: NDArray, limit: NDArray, delta: NDArray, **_: Any) -> NDArray:
    """Return the numbers from `start` to below `limit`."""
    given, is_whole = {"start": start, "limit": limit, "delta": delta}, start.dtype.kind == "i"
    wide: Any = np.int64 if is_whole else np.float64
    first, last, step = (number(name, one.astype(wide)) for name, one in given.items())
    check(step != 0, "delta", step, "another number than 0")
    if is_whole:
        count = -((first - last) // step)
    else:
        for name, one in zip(given, (first, last, step), strict=True):
            check(math.isfinite(one), name, one, "finite")
        count, wide = math.ceil((last - first) / step), np.float64 if start.dtype == np.float64 else np.float32
    found: NDArray = np.arange(max(count, 0), dtype=wide) * wide(step) + wide(first)
    return found.astype(start.dtype)


@line("Shape", 1, of_shape=True)
def shape(x: Any, start: int = 0, end: int | None = None) -> NDArray:
    """Return the sizes of the axes from `start` to before `end`."""
    return np.array(x.shape[start:end], np.int64)


@line("Size", 1, of_shape=True)
def size(x: Any) -> NDArray:
    """Return the number of elements."""
    return np.array(math.prod(x.shape), np.int64)


def check_type(to: int | None = None, dtype: int | None = None, **_: Any) -> None:
    """Raise NotImplementedError for an unsupported type."""
    for one in (to, dtype):
        if one is not None:
            dtype_of(one)


@line("EyeLike", 9, of_shape=True, check=check_type)
def eye_like(x: Any, k: int, dtype: int | None = None) -> NDArray:
    """Return a matrix of the shape of x with 1 on a diagonal."""
    check_rank("input", x, 2)
    rows, cols = x.shape
    return np.eye(rows, cols, k, x.dtype if dtype is None else dtype_of(dtype))


@line("Reshape", 5, host=(1,))
def reshape(x: Any, shape: NDArray, allowzero: int = 0) -> Any:
    """Return x in a shape: 0 means the size of x at this axis unless `allowzero`, and one -1 means the remaining
    size."""
    sizes, rank = numbers("shape", shape), len(x.shape)
    same = [] if allowzero else [axis for axis, size in enumerate(sizes) if size == 0]
    is_told = min(sizes, default=0) >= -1 and sizes.count(-1) <= 1 and not (allowzero and {0, -1} <= {*sizes})
    check(is_told, "shape", sizes, "sizes, of which one may be -1 if none is a 0 that is allowed")
    check(all(axis < rank for axis in same), "shape", sizes, f"without a 0 beyond the {rank} axes of shape {x.shape}")
    # axes that are taken from x are no part of the remaining size: so it is known without elements, too
    left = math.prod(size for axis, size in enumerate(x.shape) if axis not in same)
    told = math.prod(size for axis, size in enumerate(sizes) if size != -1 and axis not in same)
    found = [x.shape[axis] if axis in same else size if size >= 0 else left // told for axis, size in enumerate(sizes)]
    fits = math.prod(found) == math.prod(x.shape) and (-1 not in sizes or left % told == 0)
    check(fits, "shape", sizes, f"one of the {math.prod(x.shape)} elements of shape {x.shape}")
    return x.reshape(tuple(found))


@line("Flatten", 1)
def flatten(x: Any, axis: int) -> Any:
    """Return x as a matrix: the axes before `axis` become its rows."""
    rank = len(x.shape)
    axis = axis_in(rank, axis, end=rank + 1)
    return x.reshape((math.prod(x.shape[:axis]), math.prod(x.shape[axis:])))


@line("Squeeze", 13, host=(1,))
@line("Squeeze", 1, attributes=("axes",))
def squeeze(x: Any, axes: NDArray | None = None) -> Any:
    """Return x without some axes of one element, or without all."""
    rank = len(x.shape)
    gone = [k for k in range(rank) if x.shape[k] == 1] if axes is None else axes_in(rank, axes_given(axes))
    check(all(x.shape[axis] == 1 for axis in gone), "axes", gone, f"axes of one element of shape {x.shape}")
    return x.reshape(tuple(one for axis, one in enumerate(x.shape) if axis not in gone))


@line("Unsqueeze", 13, host=(1,))
@line("Unsqueeze", 1, attributes=("axes",))
def unsqueeze(x: Any, axes: NDArray) -> Any:
    """Return x with new axes of one element, at these places of the result."""
    rank = len(x.shape) + axes.size
    new, old = axes_in(rank, axes_given(axes)), iter(x.shape)
    return x.reshape(tuple(1 if axis in new else next(old) for axis in range(rank)))


@line("Transpose", 1)
def transpose(x: Any, perm: Sequence[int] | None = None) -> Any:
    """Return x with its axes in another order, reversed by default."""
    rank = len(x.shape)
    order = [*range(rank)][::-1] if perm is None else [*perm]
    check(sorted(order) == [*range(rank)], "perm", order, f"a permutation of the {rank} axes of shape {x.shape}")
    return ops.permute(x, order)


@line("Concat", 4)
def concat(*arrays: Any, axis: int) -> Any:
    """Return arrays joined along an axis."""
    axis, shape = axis_in(len(arrays[0].shape), axis), arrays[0].shape
    for k, one in enumerate(arrays):
        fits = len(one.shape) == len(shape) and all(size == one.shape[j] or j == axis for j, size in enumerate(shape))
        check(fits, f"inputs[{k}] of shape", tuple(one.shape), f"{tuple(shape)} but for axis {axis}")
    return ops.concat(arrays, axis)


@line("Expand", 8, host=(1,))
def expand(x: Any, shape: NDArray) -> Any:
    """Return x, repeated to the shape that the two broadcast to."""
    sizes = numbers("shape", shape)
    pairs = [*zip(x.shape[::-1], sizes[::-1], strict=False)]
    fits = min(sizes, default=0) >= 0 and all(one == other or 1 in (one, other) for one, other in pairs)
    check(fits, "shape", sizes, f"one that broadcasts with {x.shape}")
    return ops.expand(x, np.broadcast_shapes(x.shape, tuple(sizes)))


@line("Tile", 6, host=(1,))
def tile(x: Any, repeats: NDArray) -> Any:
    """Return x, repeated some times along each axis."""
    times = numbers("repeats", repeats, len(x.shape))
    check(min(times, default=0) >= 0, "repeats", times, "numbers of 0 or more")
    return ops.tile(x, times)


@line("Split", 13, host=(1,), counts=True)
@line("Split", 2, attributes=("split",), counts=True)
def split(x: Any, sizes: NDArray | None = None, *, axis: int, count: int, num_outputs: int | None = None) -> Any:
    """Return parts of x along an axis, of equal sizes if none are given; with `num_outputs`, the last may be smaller.

    count: the number of the node's outputs.
    """
    size = x.shape[axis := axis_in(len(x.shape), axis)]
    if sizes is not None:
        check(num_outputs is None, "num_outputs", num_outputs, "omitted, as there is an input split")
        parts = numbers("split", sizes, count)
        check(min(parts) >= 0 and sum(parts) == size, "split", parts, f"sizes with the sum {size} of axis {axis}")
        return ops.split(x, np.cumsum(parts)[:-1].tolist(), axis)
    check(num_outputs in (None, count), "num_outputs", num_outputs, f"{count}, as the node has outputs")
    each = -(-size // count)
    if num_outputs is None:
        check(each * count == size, "number of outputs", count, f"a divisor of {size}, as axis {axis} has")
    check(each * (count - 1) <= size, "num_outputs", count, f"fewer: axis {axis} has {size} elements")
    check(count <= size or not size, "num_outputs", count, f"at most {size}, as axis {axis} has")
    return ops.split(x, [each * k for k in range(1, count)], axis)


@line("Slice", 10, host=(1, 2, 3, 4))
@line("Slice", 1, attributes=("starts", "ends", "axes"))
def slices(x: Any, starts: NDArray, ends: NDArray, axes: NDArray | None = None, steps: NDArray | None = None) -> Any:
    """Return a part of each of some axes; steps may be negative."""
    rank, begins = len(x.shape), numbers("starts", starts)
    count = len(begins)
    check(axes is not None or count <= rank, "starts", begins, f"at most {rank} numbers, as {x.shape} has axes")
    places: list[slice] = [slice(None)] * rank
    several = zip(
        axes_in(rank, range(count) if axes is None else numbers("axes", axes, count)),
        begins,
        numbers("ends", ends, count),
        [1] * count if steps is None else numbers("steps", steps, count),
        strict=True,
    )
    for axis, start, end, step in several:
        check(step != 0, f"steps of axis {axis}", step, "another number than 0")
        size = x.shape[axis]
        if step < 0:  # a start before the first element is at the first one, unlike in Python
            start = max(start, -size)
        places[axis] = slice(start, end if step > 0 or end >= -size else None, step)
    backwards = [axis for axis, one in enumerate(places) if (one.step or 1) < 0]
    for axis in backwards:
        x, places[axis] = taken(x, np.arange(x.shape[axis])[places[axis]], axis), slice(None)
    return ops.slice(x, *places)


check_mode: Final = one_of(mode=("constant", "reflect", "edge", "wrap"))


@line("Pad", 11, host=(1, 2, 3), check=check_mode)
@line("Pad", 2, attributes=("pads", "value"), check=check_mode)
def pad(x: Any, pads: NDArray, value: NDArray | float | None = None, axes: NDArray | None = None, *, mode: str) -> Any:
    """Return x with elements around it: of one value, or those of x, depending on `mode`. Negative numbers remove
    elements."""
    rank = len(x.shape)
    places = axes_in(rank, range(rank) if axes is None else numbers("axes", axes))
    num, given = len(places), numbers("pads", pads, 2 * len(places))
    width = [(0, 0)] * rank
    for k, axis in enumerate(places):
        first, last = width[axis] = given[k], given[k + num]
        size = x.shape[axis]
        fits = min(first, last, first + last) >= -size and (mode == "constant" or size or max(first, last) <= 0)
        check(fits, "pads", given, f"such that axis {axis} of shape {x.shape} has the elements that are taken")
    filled = 0 if value is None else number("constant_value", np.asarray(value))
    if mode == "constant":
        return ops.pad(x, width, constant_values=filled)
    for axis, (first, last) in enumerate(width):
        if first or last:
            order = np.pad(np.arange(x.shape[axis]), (max(first, 0), max(last, 0)), mode=mode)  # type: ignore[call-overload]
            x = taken(x, order[max(-first, 0) : len(order) - max(-last, 0)], axis)
    return x


@line("CenterCropPad", 18, host=(1,))
def center_crop_pad(x: Any, shape: NDArray, axes: Sequence[int] | None = None) -> Any:
    """Return x with as many elements along some axes as `shape` says: those in the middle, or with zeros around."""
    places = axes_in(len(x.shape), range(len(x.shape)) if axes is None else axes)
    sizes = numbers("shape", shape, len(places))
    check(min(sizes, default=0) >= 0, "shape", sizes, "sizes of 0 or more")
    width, kept = [(0, 0)] * len(x.shape), [slice(None)] * len(x.shape)
    for axis, size in zip(places, sizes, strict=True):
        more = size - x.shape[axis]
        width[axis] = max(more // 2, 0), max(more - more // 2, 0)
        kept[axis] = slice(max(-more // 2, 0), max(-more // 2, 0) + size)
    return ops.pad(ops.slice(x, *kept), width)


@line("Trilu", 14, host=(1,))
def trilu(x: Any, k: NDArray | None = None, *, upper: int) -> Any:
    """Return matrices with 0 below a diagonal, or above it."""
    check_rank("input", x, least=2)
    ones, at = np.ones(x.shape[-2:], bool), 0 if k is None else int(number("k", k))
    at = max(min(at, ones.shape[1]), -ones.shape[0])  # further diagonals are beyond all elements, too
    kept = np.triu(ones, at) if upper else np.tril(ones, at)
    return ops.where(placed(kept, x), x, placed(np.zeros((), x.dtype), x))


check_order: Final = one_of(mode=("DCR", "CRD"))


@line("DepthToSpace", 1, check=check_order)
def depth_to_space(x: Any, blocksize: int, mode: str = "DCR") -> Any:
    """Return channels as blocks of rows and columns."""
    check_rank("input", x, 4)
    n, channels, rows, cols = x.shape
    fits = blocksize > 0 and channels % blocksize**2 == 0
    check(fits, "blocksize", blocksize, f"positive, and its square a divisor of the {channels} channels")
    b, left = blocksize, channels // blocksize**2
    shape, axes = ((n, b, b, left, rows, cols), (0, 3, 4, 1, 5, 2))
    if mode == "CRD":
        shape, axes = ((n, left, b, b, rows, cols), (0, 1, 4, 2, 5, 3))
    return ops.permute(x.reshape(shape), axes).reshape((n, left, rows * b, cols * b))


@line("SpaceToDepth", 1, check=check_order)
def space_to_depth(x: Any, blocksize: int, mode: str = "DCR") -> Any:
    """Return blocks of rows and columns as channels."""
    check_rank("input", x, 4)
    n, channels, rows, cols = x.shape
    b = blocksize
    check(b > 0 and rows % b == 0 and cols % b == 0, "blocksize", b, f"positive, and a divisor of {rows} and {cols}")
    axes = (0, 3, 5, 1, 2, 4) if mode == "DCR" else (0, 1, 3, 5, 2, 4)
    blocks = ops.permute(x.reshape((n, channels, rows // b, b, cols // b, b)), axes)
    return blocks.reshape((n, channels * b * b, rows // b, cols // b))
