"""Operators that select elements by indices."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from ep import ops
from ep.onnx.operators.fitting import axis_in, check, check_rank, check_shape, check_within, number, numbers
from ep.onnx.operators.line import line
from ep.onnx.operators.placing import places, taken

NDArray = np.ndarray[Any, Any]
_NEGATIVE: Final = "wrap_negative"


@line("Gather", 1)
def gather(x: Any, indices: Any, axis: int) -> Any:
    """Return the elements at some indices of an axis; negative indices count from the end."""
    return ops.gather(x, indices, axis, mode=_NEGATIVE)


@line("GatherElements", 11)
def gather_elements(x: Any, indices: Any, axis: int) -> Any:
    """Return, for each element of `indices`, the element of x with this index along the axis and the same indices along
    others."""
    axis = axis_in(len(x.shape), axis)
    check_within("indices", indices.shape, x.shape, axis)
    parts = [None if k == axis else (0, size) for k, size in enumerate(indices.shape)]
    if any(part and part[1] < size for part, size in zip(parts, x.shape, strict=True)):
        x = ops.slice(x, *parts)
    return ops.take_along_axis(x, indices, axis, mode=_NEGATIVE)


@line("GatherND", 11)
def gather_nd(x: Any, indices: Any, batch_dims: int = 0) -> Any:
    """Return the parts of x whose indices along the first axes after the batch axes are in the last axis of
    `indices`."""
    check_rank("data", x, least=1)
    check_rank("indices", indices, least=1)
    depth = indices.shape[-1]
    most = min(len(x.shape), len(indices.shape)) - 1
    check(0 <= batch_dims <= most, "batch_dims", batch_dims, f"a number of axes of both inputs, 0 to {most}")
    fits = 1 <= depth <= len(x.shape) - batch_dims and indices.shape[:batch_dims] == x.shape[:batch_dims]
    check(
        fits,
        "indices of shape",
        tuple(indices.shape),
        f"of batches and 1 or more axes of data, of shape {tuple(x.shape)}",
    )
    return ops.gather_nd(x, indices, batch_dims, mode=_NEGATIVE)


@line("OneHot", 9, host=(1,))
def one_hot(indices: Any, depth: NDArray, values: Any, axis: int) -> Any:
    """Return values[1] at `indices` along a new axis, and values[0] elsewhere."""
    classes, rank = int(number("depth", depth)), len(indices.shape) + 1
    check(classes >= 0, "depth", classes, "0 or more")
    check_shape("values", values, (2,))
    axis = axis_in(rank, axis)
    at = _counted(indices, classes).reshape((*indices.shape[:axis], 1, *indices.shape[axis:]))
    off, on = ops.split(values, 2)
    found = ops.equal(at, places(classes, axis, rank, indices))
    return ops.where(found, on.reshape(()), off.reshape(()))


@line("Compress", 9, host=(1,))
def compress(x: Any, condition: NDArray, axis: int | None = None) -> Any:
    """Return the parts of x along an axis, or of flattened x, for which the condition is true."""
    if axis is None:
        x, axis = x.reshape((-1,)), 0
    axis = axis_in(len(x.shape), axis)
    fits = condition.ndim == 1 and len(condition) <= x.shape[axis]
    check(fits, "condition of shape", condition.shape, f"of one axis, with at most {x.shape[axis]} elements")
    return taken(x, np.flatnonzero(condition), axis)


@line("NonZero", 9, host=(0,))
def non_zero(x: NDArray) -> NDArray:
    """Return the indices of the elements that are not 0, one column for each."""
    if x.ndim == 0:  # ONNX has no axis here, and NumPy one
        return np.zeros((0, int(x != 0)), np.int64)
    return np.array(np.nonzero(x), np.int64)


@line("TopK", 10, host=(1,))
def top_k(x: Any, k: NDArray, *, axis: int, largest: int = 1, sorted: int = 1) -> tuple[Any, Any]:
    """Return the k largest or least elements along an axis, in order, and their places; of equal ones the first."""
    axis, count = axis_in(len(x.shape), axis), int(number("k", k))
    check(0 <= count <= x.shape[axis], "k", count, f"0 to {x.shape[axis]}, as axis {axis} of shape {x.shape} has")
    return ops.topk(x, count, axis, largest=bool(largest))


@line("ReverseSequence", 10, host=(1,))
def reverse_sequence(x: Any, lengths: NDArray, *, batch_axis: int, time_axis: int) -> Any:
    """Return x with the first elements along an axis reversed, as many of each batch as it has in `lengths`."""
    check_rank("input", x, least=2)
    check({batch_axis, time_axis} == {0, 1}, "time_axis, batch_axis", (time_axis, batch_axis), "0 and 1, or 1 and 0")
    steps, batches = x.shape[time_axis], x.shape[batch_axis]
    each = numbers("sequence_lens", lengths, batches)
    check(all(0 <= one <= steps for one in each), "sequence_lens", each, f"numbers of 0 to {steps} steps")
    at = np.arange(steps)[:, None]
    order = np.where(at < lengths, lengths - 1 - at, at)
    rows = order.T + steps * np.arange(batches)[:, None] if batch_axis == 0 else order * batches + np.arange(batches)
    return taken(x.reshape((steps * batches, *x.shape[2:])), rows.reshape(-1), 0).reshape(x.shape)


def _counted(indices: Any, size: int) -> Any:
    """Return indices, of which negative ones count from the end, as int64 numbers from 0."""
    if indices.dtype == np.uint64:
        indices = ops.minimum(indices, np.iinfo(np.int64).max)  # larger ones would become negative
    at = ops.cast(indices, np.int64)
    return ops.where(ops.less(at, 0), ops.add(at, size), at)
