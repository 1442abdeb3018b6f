"""Operators that select elements by indices."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ep import ops
from ep.onnx.operators.placing import placed

NDArray = np.ndarray[Any, Any]
_NEGATIVE = "wrap_negative"


def gather(x: Any, indices: Any, axis: int) -> Any:
    """Return the elements at some indices of an axis; negative indices count from the end."""
    return ops.gather(x, indices, axis, mode=_NEGATIVE)


def gather_elements(x: Any, indices: Any, axis: int) -> Any:
    """Return, for each element of `indices`, the element of x with this index along the axis and the same indices along
    others."""
    axis %= len(x.shape)
    others = [np.arange(size).reshape([-1 if k == one else 1 for k in range(len(x.shape))])
              for one, size in enumerate(indices.shape)]  # fmt: skip
    steps = _steps(x.shape)
    first = sum(
        (other * step for k, (other, step) in enumerate(zip(others, steps, strict=True)) if k != axis), np.zeros(1, int)
    )
    at = _counted(indices, x.shape[axis])
    places = ops.add(ops.mul(at, steps[axis]), placed(np.broadcast_to(first, indices.shape).astype(np.int64), x))
    return ops.gather(x.reshape((-1,)), places, 0)


def gather_nd(x: Any, indices: Any, batch_dims: int = 0) -> Any:
    """Return the parts of x whose indices along the first axes after the batch axes are in the last axis of
    `indices`."""
    *lead, depth = indices.shape
    batch, inner = x.shape[:batch_dims], x.shape[batch_dims + depth :]
    steps = _steps(x.shape[batch_dims : batch_dims + depth])
    places: Any = None
    for k, (step, size) in enumerate(zip(steps, x.shape[batch_dims:], strict=False)):
        one = ops.slice(indices, ..., (k, k + 1)).reshape(tuple(lead))
        one = ops.mul(_counted(one, size), step)
        places = one if places is None else ops.add(places, one)
    many = math.prod(x.shape[batch_dims : batch_dims + depth])
    return ops.gather(x.reshape((*batch, many, *inner)), places, batch_dims, batch_dims)


def one_hot(indices: Any, depth: NDArray, values: Any, axis: int) -> Any:
    """Return values[1] at `indices` along a new axis, and values[0] elsewhere."""
    classes = int(depth.reshape(-1)[0])
    axis %= len(indices.shape) + 1
    at = ops.floor_mod(ops.cast(indices, np.int64), classes)
    inside = ops.logical_and(
        ops.less(ops.cast(indices, np.int64), classes),
        ops.greater_equal(ops.cast(indices, np.int64), -classes),
    )
    shape = (*indices.shape[:axis], 1, *indices.shape[axis:])
    places = np.arange(classes, dtype=np.int64).reshape([-1 if k == axis else 1 for k in range(len(shape))])
    found = ops.logical_and(ops.equal(at.reshape(shape), placed(places, indices)), inside.reshape(shape))
    off, on = ops.split(values, 2)
    return ops.where(found, on.reshape(()), off.reshape(()))


def compress(x: Any, condition: NDArray, axis: int | None = None) -> Any:
    """Return the parts of x along an axis, or of flattened x, for which the condition is true."""
    if axis is None:
        x, axis = x.reshape((-1,)), 0
    return ops.gather(x, placed(np.flatnonzero(condition).astype(np.int64), x), axis)


def non_zero(x: NDArray) -> NDArray:
    """Return the indices of the elements that are not 0, one column for each."""
    return np.array(np.nonzero(x), np.int64)


def top_k(x: NDArray, k: NDArray, *, axis: int, largest: int = 1, **_: Any) -> tuple[NDArray, NDArray]:
    """Return the k largest or least elements along an axis, in order, and their places; of equal ones the first."""
    count, keys = int(k.reshape(())), x.astype(np.float32) if x.dtype.itemsize == 2 and x.dtype.kind in "fV" else x
    if not 0 <= count <= x.shape[axis]:
        raise ValueError(f"k is {count}; axis {axis} of shape {x.shape} has {x.shape[axis]} elements")
    last = x.shape[axis] - 1
    order = np.flip(last - np.argsort(np.flip(keys, axis), axis, kind="stable"), axis) if largest else None
    order = np.argsort(keys, axis, kind="stable") if order is None else order
    places = np.take(order, np.arange(count), axis).astype(np.int64)
    return np.take_along_axis(x, places, axis), places


def reverse_sequence(x: Any, lengths: NDArray, *, batch_axis: int, time_axis: int) -> Any:
    """Return x with the first elements along an axis reversed, as many of each batch as it has in `lengths`."""
    steps, batches = x.shape[time_axis], x.shape[batch_axis]
    if {batch_axis, time_axis} != {0, 1} or lengths.shape != (batches,) or ((lengths < 0) | (lengths > steps)).any():
        raise ValueError(f"sequence_lens {lengths.tolist()} do not fit axes {batch_axis}, {time_axis} of {x.shape}")
    at = np.arange(steps)[:, None]
    order = np.where(at < lengths, lengths - 1 - at, at)
    places = order.T + steps * np.arange(batches)[:, None] if batch_axis == 0 else order * batches + np.arange(batches)
    rows = x.reshape((steps * batches, *x.shape[2:]))
    return ops.gather(rows, placed(places.reshape(-1).astype(np.int64), x), 0).reshape(x.shape)


def _counted(indices: Any, size: int) -> Any:
    """Return indices, of which negative ones count from the end, as int64 numbers from 0."""
    at = ops.cast(indices, np.int64)
    return ops.where(ops.less(at, 0), ops.add(at, size), at)


def _steps(shape: tuple[int, ...]) -> list[int]:
    return [math.prod(shape[axis + 1 :]) for axis in range(len(shape))]
