"""Cases of the softmaxes, of reductions, of sums of segments, and of scatters."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from ep.bench import data, numpy_ways
from ep.bench.case import (
    Array,
    Arrays,
    Call,
    Case,
    ReduceWork,
    ScanWork,
    ScatterWork,
    SegmentSumWork,
    SoftmaxWork,
    SortWork,
)
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
from ep.include.stream import Stream

_SOFTMAXES = {
    (False, False): Softmax,
    (True, False): LogSoftmax,
    (False, True): SoftmaxBackward,
    (True, True): LogSoftmaxBackward,
}


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

    def make(rng: np.random.Generator) -> Arrays:
        x = data.numbers(rng, dims, item)
        if not backward:
            return (x,)
        y = np.empty_like(x)
        numpy_ways.softmax(x, y, log)
        return y, data.numbers(rng, dims, item)

    def bind(primitive: Any, stream: Stream, inputs: Sequence[Any], out: Any) -> Call:
        return partial(primitive.Launch, stream, rows, cols, *inputs, out)

    def numpy(inputs: Arrays, out: Array) -> Call:
        if backward:
            return partial(numpy_ways.softmax_backward, inputs[0], inputs[1], out, log)
        return partial(numpy_ways.softmax, inputs[0], out, log)

    moved = (3 if backward else 2) * rows * cols * item.itemsize
    error = {2: 2.0**-6, 4: 1e-5, 8: 1e-13}[item.itemsize]
    return Case(
        name, _SOFTMAXES[log, backward], (item,), SoftmaxWork(log, backward), make, dims, item, bind, numpy, moved,
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

    def make(rng: np.random.Generator) -> Arrays:
        return (data.numbers(rng, dims, item, None if item.kind in "biu" else 0.5, 1.5),)

    def bind(primitive: Reduce, stream: Stream, inputs: Sequence[Any], out: Any) -> Call:
        return partial(primitive.Launch, stream, dims, inputs[0], axes, out)

    moved = math.prod(dims) * item.itemsize + math.prod(out_dims) * out_type.itemsize
    error = 0.0 if item.kind in "biu" else {2: 2.0**-6, 4: 2.0**-22, 8: 2.0**-50}[item.itemsize] * max(count, 8) ** 0.5
    return Case(
        name, Reduce, (op, item, len(dims)), ReduceWork(op, axes), make, out_dims, out_type, bind,
        lambda inputs, out: partial(numpy_ways.reduce, op, inputs[0], axes, out), moved,
        relative_error=error, **about,
    )  # fmt: skip


def scan(name: str, dims: tuple[int, int], axis: int, dtype: DTypeLike = np.float32, **about: Any) -> Case:
    """Return a case that computes the sums of all elements up to each one, along an axis of a matrix."""
    item, sizes = np.dtype(dtype), (1, *dims) if axis == 0 else (*dims, 1)

    def make(rng: np.random.Generator) -> Arrays:
        return (data.numbers(rng, dims, item, None if item.kind in "biu" else 0.5, 1.5),)

    def bind(primitive: Scan, stream: Stream, inputs: Sequence[Any], out: Any) -> Call:
        return partial(primitive.Launch, stream, *sizes, inputs[0], out)

    error = 0.0 if item.kind in "iu" else {2: 2.0**-6, 4: 2.0**-16, 8: 2.0**-40}[item.itemsize]
    return Case(
        name, Scan, (ScanOp.kSum, item), ScanWork(axis), make, dims, item, bind,
        lambda inputs, out: partial(numpy_ways.scan, inputs[0], axis, out), 2 * math.prod(dims) * item.itemsize,
        relative_error=error, **about,
    )  # fmt: skip


def sort(name: str, rows: int, cols: int, num_places: int, dtype: DTypeLike = np.float32, **about: Any) -> Case:
    """Return a case that finds the places of the largest elements of each row, or sorts all."""
    item, out_dims, out_type = np.dtype(dtype), (rows, num_places), np.dtype(np.int64)

    def bind(primitive: ArgSort, stream: Stream, inputs: Sequence[Any], out: Any) -> Call:
        return partial(primitive.Launch, stream, rows, cols, 1, num_places, inputs[0], out)

    return Case(
        name, ArgSort, (SortOrder.kDescending, item), SortWork(num_places),
        lambda rng: (data.numbers(rng, (rows, cols), item),), out_dims, out_type, bind,
        lambda inputs, out: partial(numpy_ways.places, inputs[0], out),
        rows * (cols * item.itemsize + num_places * 8), **about,
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
    out_dims = (*lead, num_segments, inner)
    sizes = (*lead, 1, num_segments, inner)

    def make(rng: np.random.Generator) -> Arrays:
        ids = data.indices(rng, num_segments, (*lead, num_ids), np.dtype(np.int64), order)
        return data.numbers(rng, (*lead, num_ids, inner), item), ids

    def bind(primitive: Any, stream: Stream, inputs: Sequence[Any], out: Any) -> Call:
        return partial(primitive.Launch, stream, *sizes, inputs[0], num_ids, inputs[1], out)

    rows = (batch or 1) * num_ids
    moved = (rows * inner + math.prod(out_dims)) * item.itemsize + rows * 8
    error = 0.0 if item.kind in "iu" else {2: 2.0**-4, 4: 2.0**-18, 8: 2.0**-46}[item.itemsize]
    return Case(
        name, BatchUnsortedSegmentSum if batch else UnsortedSegmentSum, (item, np.dtype(np.int64)),
        SegmentSumWork(), make, out_dims, item, bind,
        lambda inputs, out: partial(numpy_ways.segment_sum, inputs[0], inputs[1], out), moved,
        relative_error=error, absolute_error=64 * error, **about,
    )  # fmt: skip


def scatter(name: str, places: int, inner: int, dtype: DTypeLike = np.float32, **about: Any) -> Case:
    """Return a case that writes rows to places, of which each is written once."""
    item, index = np.dtype(dtype), np.dtype(np.int64)

    def make(rng: np.random.Generator) -> Arrays:
        return data.numbers(rng, (places, inner), item), rng.permutation(places)

    def bind(primitive: BatchScatter, stream: Stream, inputs: Sequence[Any], out: Any) -> Call:
        return partial(primitive.Launch, stream, 1, 1, places, inner, inputs[0], places, inputs[1], out)

    moved = 2 * places * inner * item.itemsize + places * index.itemsize
    return Case(
        name, BatchScatter, (ScatterOp.kUpdate, item, index), ScatterWork(), make, (places, inner), item, bind,
        lambda inputs, out: partial(out.__setitem__, inputs[1], inputs[0]), moved, **about,
    )  # fmt: skip
