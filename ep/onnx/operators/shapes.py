"""Operators that move elements, and those that compute sizes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from ep import ops
from ep.onnx.operators.attributes import one_of
from ep.onnx.operators.placing import placed, taken
from ep.onnx.types import dtype_of

NDArray = np.ndarray[Any, Any]


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


def constant_of_shape(shape: NDArray, value: NDArray | None = None) -> NDArray:
    """Return an array of a shape filled with one value, 0.0 by default."""
    number = np.zeros(1, np.float32) if value is None else value
    return np.full(tuple(shape.tolist()), number.reshape(()), number.dtype)


def arange(start: NDArray, limit: NDArray, delta: NDArray, **_: Any) -> NDArray:
    """Return the numbers from `start` to below `limit`."""
    wide = start.dtype if start.dtype.kind == "i" or start.dtype == np.float64 else np.dtype(np.float32)
    first, last, step = (one.reshape(()).astype(wide).item() for one in (start, limit, delta))
    count = max(math.ceil((last - first) / step), 0)
    return (wide.type(first) + np.arange(count, dtype=wide) * wide.type(step)).astype(start.dtype)


def shape(x: Any, start: int = 0, end: int | None = None) -> NDArray:
    """Return the sizes of the axes from `start` to before `end`."""
    return np.array(x.shape[start:end], np.int64)


def size(x: Any) -> NDArray:
    """Return the number of elements."""
    return np.array(math.prod(x.shape), np.int64)


def check_type(to: int | None = None, dtype: int | None = None, **_: Any) -> None:
    """Raise NotImplementedError for an unsupported type."""
    for number in (to, dtype):
        if number is not None:
            dtype_of(number)


def eye_like(x: Any, k: int, dtype: int | None = None) -> NDArray:
    """Return a matrix of the shape of x with 1 on a diagonal."""
    rows, cols = x.shape
    return np.eye(rows, cols, k, x.dtype if dtype is None else dtype_of(dtype))


def reshape(x: Any, shape: NDArray, allowzero: int = 0) -> Any:
    """Return x in a shape: 0 means the size of x at this axis unless `allowzero`, and one -1 means the remaining
    size."""
    sizes = [int(one) if one or allowzero else x.shape[axis] for axis, one in enumerate(shape)]
    if -1 in sizes:
        place = sizes.index(-1)
        sizes[place] = math.prod(x.shape) // max(math.prod(sizes[:place] + sizes[place + 1 :]), 1)
    return x.reshape(tuple(sizes))


def flatten(x: Any, axis: int) -> Any:
    """Return x as a matrix: the axes before `axis` become its rows."""
    axis = axis if axis >= 0 else axis + len(x.shape)
    return x.reshape((math.prod(x.shape[:axis]), math.prod(x.shape[axis:])))


def squeeze(x: Any, axes: NDArray | None = None) -> Any:
    """Return x without some axes of one element, or without all."""
    rank = len(x.shape)
    gone = {k for k in range(rank) if x.shape[k] == 1} if axes is None else {axis % rank for axis in axes.tolist()}
    if any(x.shape[axis] != 1 for axis in gone):
        raise ValueError(f"axes {sorted(gone)} of shape {x.shape} must have one element each")
    return x.reshape(tuple(one for axis, one in enumerate(x.shape) if axis not in gone))


def unsqueeze(x: Any, axes: NDArray) -> Any:
    """Return x with new axes of one element, at these places of the result."""
    rank = len(x.shape) + axes.size
    new, old = {axis % rank for axis in axes.reshape(-1).tolist()}, iter(x.shape)
    return x.reshape(tuple(1 if axis in new else next(old) for axis in range(rank)))


def transpose(x: Any, perm: Sequence[int] | None = None) -> Any:
    """Return x with its axes in another order, reversed by default."""
    return ops.permute(x, perm if perm is not None else range(len(x.shape))[::-1])


def concat(*arrays: Any, axis: int) -> Any:
    """Return arrays joined along an axis."""
    return ops.concat(arrays, axis)


def expand(x: Any, shape: NDArray) -> Any:
    """Return x, repeated to the shape that the two broadcast to."""
    return ops.expand(x, np.broadcast_shapes(x.shape, tuple(shape.tolist())))


def split(x: Any, sizes: NDArray | None = None, *, axis: int, num_outputs: int) -> Any:
    """Return parts of x along an axis, of equal sizes if none are given; then the last may be smaller."""
    each = -(-x.shape[axis] // num_outputs)
    ends = [each * k for k in range(1, num_outputs)] if sizes is None else np.cumsum(sizes)[:-1].tolist()
    return ops.split(x, ends, axis)


def slices(x: Any, starts: NDArray, ends: NDArray, axes: NDArray | None = None, steps: NDArray | None = None) -> Any:
    """Return a part of each of some axes; steps may be negative."""
    places: list[slice] = [slice(None)] * len(x.shape)
    for k, (start, end) in enumerate(zip(starts.tolist(), ends.tolist(), strict=True)):
        axis = k if axes is None else int(axes[k])
        step = 1 if steps is None else int(steps[k])
        size = x.shape[axis]
        if step < 0:  # a start before the first element is at the first one, unlike in Python
            start = max(start, -size)
        places[axis] = slice(start, end if step > 0 or end >= -size else None, step)
    backwards = [axis for axis, one in enumerate(places) if (one.step or 1) < 0]
    for axis in backwards:
        x, places[axis] = taken(x, np.arange(x.shape[axis])[places[axis]], axis), slice(None)
    return ops.slice(x, *places)


check_mode: Final = one_of(mode=("constant", "reflect", "edge", "wrap"))


def pad(x: Any, pads: NDArray, value: NDArray | float | None = None, axes: NDArray | None = None, *, mode: str) -> Any:
    """Return x with elements around it: of one value, or those of x, depending on `mode`. Negative numbers remove
    elements."""
    rank, num = len(x.shape), len(pads) // 2
    width = [(0, 0)] * rank
    for k in range(num):
        width[k if axes is None else int(axes[k])] = int(pads[k]), int(pads[k + num])
    if mode == "constant":
        before = [
            slice(max(-first, 0), size - max(-last, 0)) for (first, last), size in zip(width, x.shape, strict=True)
        ]
        number = 0 if value is None else np.asarray(value).item()
        inner = ops.slice(x, *before) if any(min(one) < 0 for one in width) else x
        return ops.pad(inner, [(max(first, 0), max(last, 0)) for first, last in width], constant_values=number)
    for axis, (first, last) in enumerate(width):
        if first or last:
            order = np.pad(np.arange(x.shape[axis]), (max(first, 0), max(last, 0)), mode=mode)  # type: ignore[call-overload]
            x = taken(x, order[max(-first, 0) : len(order) - max(-last, 0)], axis)
    return x


def trilu(x: Any, k: NDArray | None = None, *, upper: int) -> Any:
    """Return matrices with 0 below a diagonal, or above it."""
    ones = np.ones(x.shape[-2:], bool)
    at = 0 if k is None else int(k)
    kept = np.triu(ones, at) if upper else np.tril(ones, at)
    return ops.where(placed(kept, x), x, placed(np.zeros((), x.dtype), x))


def depth_to_space(x: Any, blocksize: int, mode: str = "DCR") -> Any:
    """Return channels as blocks of rows and columns."""
    n, channels, rows, cols = x.shape
    b, left = blocksize, channels // blocksize**2
    shape, axes = ((n, b, b, left, rows, cols), (0, 3, 4, 1, 5, 2))
    if mode == "CRD":
        shape, axes = ((n, left, b, b, rows, cols), (0, 1, 4, 2, 5, 3))
    return ops.permute(x.reshape(shape), axes).reshape((n, left, rows * b, cols * b))


def space_to_depth(x: Any, blocksize: int, mode: str = "DCR") -> Any:
    """Return blocks of rows and columns as channels."""
    n, channels, rows, cols = x.shape
    b = blocksize
    axes = (0, 3, 5, 1, 2, 4) if mode == "DCR" else (0, 1, 3, 5, 2, 4)
    blocks = ops.permute(x.reshape((n, channels, rows // b, b, cols // b, b)), axes)
    return blocks.reshape((n, channels * b * b, rows // b, cols // b))
