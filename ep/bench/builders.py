"""Cases of any size: one function for each primitive."""

from __future__ import annotations

import math
from functools import partial
from typing import Any, Final

import numpy as np

from ep.bench import data
from ep.bench.case import Arrays, BatchGatherWork, BinaryWork, Call, Case, ExpandWork, GatherWork, UnaryWork
from ep.bench.data import Array, Input
from ep.bench.numpy_ways import Way
from ep.include.data_type import DTypeLike
from ep.include.primitive import (
    BatchGather,
    BinaryOp,
    BroadcastElementwiseBinary,
    ElementwiseUnary,
    Expand,
    Gather,
    UnaryOp,
)

_MAX_NUM_DIMS: Final = 4


def gather(
    name: str,
    rows: int,
    row_size: int,
    num_indices: int,
    *,
    outer: int = 1,
    dtype: DTypeLike = np.float32,
    index_type: DTypeLike = np.int32,
    order: data.Order = "skewed",
    **about: Any,
) -> Case:
    """Return a case that gathers rows of `row_size` elements from [outer, rows, row_size]."""
    item, index, dims = np.dtype(dtype), np.dtype(index_type), (outer, rows, row_size)

    def numpy(inputs: Arrays, out: Array) -> Call:
        # the default mode would copy through a buffer
        if outer == 1:
            return partial(np.take, inputs[0][0], inputs[1], axis=0, out=out[0], mode="clip")
        return partial(np.take, inputs[0], inputs[1], axis=1, out=out, mode="clip")

    return Case(
        name, Gather, (item, index), GatherWork(*dims, num_indices),
        (Input(dims, item), data.rows_of(rows, (num_indices,), index, order)), (outer, num_indices, row_size), item,
        lambda inputs, out: (*dims, inputs[0], num_indices, inputs[1], out), numpy,
        2 * outer * num_indices * row_size * item.itemsize + num_indices * index.itemsize, **about,
    )  # fmt: skip


def batch_gather(
    name: str,
    batch: int,
    rows: int,
    row_size: int,
    num_indices: int,
    *,
    dtype: DTypeLike = np.float32,
    order: data.Order = "uniform",
    **about: Any,
) -> Case:
    """Return a case that gathers rows of `row_size` elements in each batch, by the batch's own int64 indices."""
    item, index = np.dtype(dtype), np.dtype(np.int64)

    def numpy(inputs: Arrays, out: Array) -> Call:
        def take() -> None:
            for params, indices, destination in zip(*inputs, out, strict=True):
                np.take(params, indices, axis=0, out=destination, mode="clip")

        return take

    return Case(
        name, BatchGather, (item, index), BatchGatherWork(batch, rows, row_size, num_indices),
        (Input((batch, rows, row_size), item), data.rows_of(rows, (batch, num_indices), index, order)),
        (batch, num_indices, row_size), item,
        lambda inputs, out: (batch, 1, rows, row_size, inputs[0], num_indices, inputs[1], out), numpy,
        (2 * row_size * item.itemsize + index.itemsize) * batch * num_indices, **about,
    )  # fmt: skip


def expand(
    name: str, src_dims: tuple[int, ...], dst_dims: tuple[int, ...], dtype: DTypeLike = np.float32, **about: Any
) -> Case:
    """Return a case that repeats an array along the axes of size 1 in src_dims."""
    item = np.dtype(dtype)
    return Case(
        name, Expand, (item, len(dst_dims)), ExpandWork(), (Input(src_dims, item),), dst_dims, item,
        lambda inputs, out: (src_dims, inputs[0], dst_dims, out),
        lambda inputs, out: partial(np.copyto, out, np.broadcast_to(inputs[0], dst_dims)), **about,
    )  # fmt: skip


def unary(
    name: str,
    op: UnaryOp,
    dims: tuple[int, ...],
    numpy: Way,
    relative_error: float = 0.0,
    *,
    dtype: DTypeLike = np.float32,
    domain: tuple[float, float] | None = None,
    **about: Any,
) -> Case:
    """Return a case of a unary op on numbers of its domain; `numpy(x, out)` computes it with NumPy."""
    item, count = np.dtype(dtype), math.prod(dims)
    return Case(
        name, ElementwiseUnary, (op, item, item), UnaryWork(op), (data.within(dims, item, domain),), dims, item,
        lambda inputs, out: (inputs[0], out, count), lambda inputs, out: partial(numpy, inputs[0], out),
        relative_error=relative_error, absolute_error=relative_error, **about,
    )  # fmt: skip


def binary(
    name: str,
    op: BinaryOp,
    dims0: tuple[int, ...],
    dims1: tuple[int, ...],
    numpy: Way,
    dst_type: DTypeLike | None = None,
    *,
    dtype: DTypeLike = np.float32,
    domain: tuple[float, float] | None = None,
    relative_error: float = 0.0,
    **about: Any,
) -> Case:
    """Return a case of a binary op with broadcasting, the first operand from the domain.

    `numpy(x, y, out=out)` computes it with NumPy.

    dst_type: that of the operands by default.
    """
    item = np.dtype(dtype)
    dims, out_type = np.broadcast_shapes(dims0, dims1), item if dst_type is None else np.dtype(dst_type)
    return Case(
        name, BroadcastElementwiseBinary, (op, item, out_type, max(_MAX_NUM_DIMS, len(dims))), BinaryWork(op),
        (data.within(dims0, item, domain), Input(dims1, item)), dims, out_type,
        lambda inputs, out: (dims0, inputs[0], dims1, inputs[1], out),
        lambda inputs, out: partial(numpy, *inputs, out=out),
        relative_error=relative_error, absolute_error=relative_error, **about,
    )  # fmt: skip
