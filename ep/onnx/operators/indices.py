"""Operators that select elements by indices."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ep import ops
from ep.common.primitive.strides import contiguous_strides
from ep.onnx.operators.placing import places, taken

NDArray = np.ndarray[Any, Any]
_NEGATIVE = "wrap_negative"
_CHECKED = "zero"  # the mode that checks nothing: all indices are known to be right


def gather(x: Any, indices: Any, axis: int) -> Any:
    """Return the elements at some indices of an axis; negative indices count from the end."""
    return ops.gather(x, indices, axis, mode=_NEGATIVE)


def gather_elements(x: Any, indices: Any, axis: int) -> Any:
    """Return, for each element of `indices`, the element of x with this index along the axis and the same indices along
    others."""
    rank, steps = len(x.shape), contiguous_strides(x.shape)
    at = _offsets(indices, x.shape[axis], steps[axis])
    for k, size in enumerate(indices.shape):
        if k != axis % rank:
            at = ops.add(at, places(size, k, rank, x, steps[k]))
    return ops.gather(x.reshape((-1,)), at, 0, mode=_CHECKED)


def gather_nd(x: Any, indices: Any, batch_dims: int = 0) -> Any:
    """Return the parts of x whose indices along the first axes after the batch axes are in the last axis of
    `indices`."""
    *lead, depth = indices.shape
    batch, sizes, inner = x.shape[:batch_dims], x.shape[batch_dims:][:depth], x.shape[batch_dims + depth :]
    at: Any = None
    for k, (size, step) in enumerate(zip(sizes, contiguous_strides(sizes), strict=True)):
        one = ops.slice(indices, ..., (k, k + 1)).reshape(tuple(lead))
        one = _offsets(one, size, step)
        at = one if at is None else ops.add(at, one)
    return ops.gather(x.reshape((*batch, math.prod(sizes), *inner)), at, batch_dims, batch_dims, mode=_CHECKED)


def one_hot(indices: Any, depth: NDArray, values: Any, axis: int) -> Any:
    """Return values[1] at `indices` along a new axis, and values[0] elsewhere."""
    classes = int(depth.reshape(-1)[0])
    rank = len(indices.shape) + 1
    axis %= rank
    at = _counted(indices, classes).reshape((*indices.shape[:axis], 1, *indices.shape[axis:]))
    off, on = ops.split(values, 2)
    found = ops.equal(at, places(classes, axis, rank, indices))
    return ops.where(found, on.reshape(()), off.reshape(()))


def compress(x: Any, condition: NDArray, axis: int | None = None) -> Any:
    """Return the parts of x along an axis, or of flattened x, for which the condition is true."""
    if axis is None:
        x, axis = x.reshape((-1,)), 0
    return taken(x, np.flatnonzero(condition), axis)


def non_zero(x: NDArray) -> NDArray:
    """Return the indices of the elements that are not 0, one column for each."""
    return np.array(np.nonzero(x), np.int64)


def top_k(x: NDArray, k: NDArray, *, axis: int, largest: int = 1, **_: Any) -> tuple[NDArray, NDArray]:
    """Return the k largest or least elements along an axis, in order, and their places; of equal ones the first."""
    count, keys = int(k.reshape(())), x.astype(np.float32) if x.dtype.itemsize == 2 and x.dtype.kind in "fV" else x
    if not 0 <= count <= x.shape[axis]:
        raise ValueError(f"k is {count}; axis {axis} of shape {x.shape} has {x.shape[axis]} elements")
    order = np.argsort(np.flip(keys, axis) if largest else keys, axis, kind="stable")
    if largest:
        order = np.flip(x.shape[axis] - 1 - order, axis)
    order = np.take(order, np.arange(count), axis).astype(np.int64)
    return np.take_along_axis(x, order, axis), order


def reverse_sequence(x: Any, lengths: NDArray, *, batch_axis: int, time_axis: int) -> Any:
    """Return x with the first elements along an axis reversed, as many of each batch as it has in `lengths`."""
    steps, batches = x.shape[time_axis], x.shape[batch_axis]
    if {batch_axis, time_axis} != {0, 1} or lengths.shape != (batches,) or ((lengths < 0) | (lengths > steps)).any():
        raise ValueError(f"sequence_lens {lengths.tolist()} do not fit axes {batch_axis}, {time_axis} of {x.shape}")
    at = np.arange(steps)[:, None]
    order = np.where(at < lengths, lengths - 1 - at, at)
    rows = order.T + steps * np.arange(batches)[:, None] if batch_axis == 0 else order * batches + np.arange(batches)
    return taken(x.reshape((steps * batches, *x.shape[2:])), rows.reshape(-1), 0).reshape(x.shape)


def _offsets(indices: Any, size: int, step: int) -> Any:
    """Return indices of an axis times a step; negative ones count from the end.

    The axis itself is checked: an index beyond it may be inside of the whole array.
    """
    return ops.gather(places(size, 0, 1, indices, step), indices, 0, mode=_NEGATIVE)


def _counted(indices: Any, size: int) -> Any:
    """Return indices, of which negative ones count from the end, as int64 numbers from 0."""
    at = ops.cast(indices, np.int64)
    return ops.where(ops.less(at, 0), ops.add(at, size), at)
