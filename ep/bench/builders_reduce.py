"""Cases of the softmaxes, of reductions, of sums of segments, and of scatters."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np

from ep.bench import data, numpy_ways
from ep.bench.case import Case, ReduceWork, ScanWork, ScatterWork, SegmentSumWork, SoftmaxWork, SortWork
from ep.bench.data import Array, Input
from ep.include.data_type import DTypeLike
from ep.include.primitive import (
    ArgSort,
    BatchScatter,
    BatchUnsortedSegmentSum,
    LogSoftmax,
    LogSoftmaxBackward,
    Reduce,
    ReduceOp,
    Scan,
    ScanOp,
    ScatterOp,
    Softmax,
    SoftmaxBackward,
    SortOrder,
    UnsortedSegmentSum,
)

_SOFTMAXES = {
    (False, False): Softmax,
    (True, False): LogSoftmax,
    (False, True): SoftmaxBackward,
    (True, True): LogSoftmaxBackward,
}
_NEAR_1 = 0.5, 1.5
_INDEX = np.dtype(np.int64)


def softmax(
    name: str,
    rows: int,
    cols: int,
    dtype: DTypeLike = np.float32,
    *,
    log: bool = False,
    backward: bool = False,
    **about: Any,
) -> Case:
    """Return a case of a softmax of rows, its logarithm, or the gradient of either."""
    item, dims = np.dtype(dtype), (rows, cols)

    def result(rng: np.random.Generator) -> Array:
        x = data.numbers(rng, dims, item)
        y = np.empty_like(x)
        numpy_ways.softmax(x, y, log)
        return y

    way: numpy_ways.Way = numpy_ways.softmax_backward if backward else numpy_ways.softmax
    error = {2: 2.0**-6, 4: 1e-5, 8: 1e-13}[item.itemsize]
    return Case(
        name, _SOFTMAXES[log, backward], (item,), SoftmaxWork(log, backward),
        (Input(dims, item, result), Input(dims, item)) if backward else (Input(dims, item),), dims, item,
        lambda inputs, out: (rows, cols, *inputs, out), lambda inputs, out: partial(way, *inputs, out, log),
        relative_error=error, absolute_error=error, **about,
    )  # fmt: skip


def reduce(
    name: str,
    op: ReduceOp,
    dims: tuple[int, ...],
    axes: tuple[int, ...],
    dtype: DTypeLike = np.float32,
    **about: Any,
) -> Case:
    """Return a case that reduces all elements along some axes to one value."""
    item = np.dtype(dtype)
    out_dims = tuple(size for axis, size in enumerate(dims) if axis not in axes)
    out_type = np.dtype(np.bool_) if op in (ReduceOp.kAny, ReduceOp.kAll) else item
    count = math.prod(dims[axis] for axis in axes)
    error = 0.0 if item.kind in "biu" else {2: 2.0**-6, 4: 2.0**-22, 8: 2.0**-50}[item.itemsize] * max(count, 8) ** 0.5
    return Case(
        name, Reduce, (op, item, len(dims)), ReduceWork(op, axes), (data.within(dims, item, _NEAR_1),),
        out_dims, out_type, lambda inputs, out: (dims, inputs[0], axes, out),
        lambda inputs, out: partial(numpy_ways.reduce, op, inputs[0], axes, out), relative_error=error, **about,
    )  # fmt: skip


def scan(name: str, dims: tuple[int, int], axis: int, dtype: DTypeLike = np.float32, **about: Any) -> Case:
    """Return a case that computes the sums of all elements up to each one, along an axis of a matrix."""
    item, sizes = np.dtype(dtype), (1, *dims) if axis == 0 else (*dims, 1)
    error = 0.0 if item.kind in "iu" else {2: 2.0**-6, 4: 2.0**-16, 8: 2.0**-40}[item.itemsize]
    return Case(
        name, Scan, (ScanOp.kSum, item), ScanWork(axis), (data.within(dims, item, _NEAR_1),), dims, item,
        lambda inputs, out: (*sizes, inputs[0], out),
        lambda inputs, out: partial(numpy_ways.scan, inputs[0], axis, out), relative_error=error, **about,
    )  # fmt: skip


def sort(name: str, rows: int, cols: int, num_places: int, dtype: DTypeLike = np.float32, **about: Any) -> Case:
    """Return a case that finds the places of the largest elements of each row, or sorts all."""
    item = np.dtype(dtype)
    return Case(
        name, ArgSort, (SortOrder.kDescending, item), SortWork(num_places), (Input((rows, cols), item),),
        (rows, num_places), _INDEX, lambda inputs, out: (rows, cols, 1, num_places, inputs[0], out),
        lambda inputs, out: partial(numpy_ways.places, inputs[0], out), **about,
    )  # fmt: skip


def segment_sum(
    name: str,
    num_ids: int,
    num_segments: int,
    inner: int,
    dtype: DTypeLike = np.float32,
    *,
    batch: int = 0,
    order: data.Order = "skewed",
    **about: Any,
) -> Case:
    """Return a case that sums the rows of each segment; of batches with their own ids if there is a batch size."""
    item, lead = np.dtype(dtype), (batch,) * bool(batch)
    error = 0.0 if item.kind in "iu" else {2: 2.0**-4, 4: 2.0**-18, 8: 2.0**-46}[item.itemsize]
    ids = data.rows_of(num_segments, (*lead, num_ids), _INDEX, order)
    return Case(
        name, BatchUnsortedSegmentSum if batch else UnsortedSegmentSum, (item, _INDEX), SegmentSumWork(),
        (Input((*lead, num_ids, inner), item), ids), (*lead, num_segments, inner), item,
        lambda inputs, out: (*lead, 1, num_segments, inner, inputs[0], num_ids, inputs[1], out),
        lambda inputs, out: partial(numpy_ways.segment_sum, inputs[0], inputs[1], out),
        relative_error=error, absolute_error=64 * error, **about,
    )  # fmt: skip


def scatter(name: str, places: int, inner: int, dtype: DTypeLike = np.float32, **about: Any) -> Case:
    """Return a case that writes rows to places, of which each is written once."""
    item, dims = np.dtype(dtype), (places, inner)
    order = Input((places,), _INDEX, lambda rng: rng.permutation(places))
    return Case(
        name, BatchScatter, (ScatterOp.kUpdate, item, _INDEX), ScatterWork(), (Input(dims, item), order), dims, item,
        lambda inputs, out: (1, 1, *dims, inputs[0], places, inputs[1], out),
        lambda inputs, out: partial(out.__setitem__, inputs[1], inputs[0]), **about,
    )  # fmt: skip
