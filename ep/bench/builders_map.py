"""Cases of the elementwise primitives: casts, selections, sums, fills and one-hot encodings."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Any

import ml_dtypes
import numpy as np

from ep.bench import data, numpy_ways
from ep.bench.case import AddWork, Array, Arrays, Call, Case, CastWork, FillWork, OneHotWork, WhereWork
from ep.include.data_type import DTypeLike
from ep.include.primitive import (
    Add,
    BroadcastElementwiseUnary,
    Cast,
    Fill,
    OneHot,
    TensorFill,
    UnaryOp,
    Where,
)
from ep.include.stream import Stream

_VALUE = 3


def cast(name: str, dims: tuple[int, ...], src_type: DTypeLike, dst_type: DTypeLike, **about: Any) -> Case:
    """Return a case that converts numbers of one type to another."""
    src, dst, count = np.dtype(src_type), np.dtype(dst_type), math.prod(dims)

    def make(rng: np.random.Generator) -> Arrays:
        return (data.numbers(rng, dims, src),)

    def bind(primitive: Cast, stream: Stream, inputs: Sequence[Any], out: Any) -> Call:
        return partial(primitive.Launch, stream, inputs[0], out, count)

    def numpy(inputs: Arrays, out: Array) -> Call:
        return partial(np.copyto, out, inputs[0], casting="unsafe")

    moved = count * (src.itemsize + dst.itemsize)
    is_half = dst in (np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16))
    error = 2.0**-7 if is_half else 0.0  # other libraries round twice, through float32
    return Case(name, Cast, (src, dst), CastWork(), make, dims, dst, bind, numpy, moved, relative_error=error, **about)


def transpose(name: str, rows: int, columns: int, src_type: DTypeLike, dst_type: DTypeLike, **about: Any) -> Case:
    """Return a case that converts a matrix into its transpose, by strides."""
    src, dst, dims = np.dtype(src_type), np.dtype(dst_type), (columns, rows)

    def make(rng: np.random.Generator) -> Arrays:
        return (data.numbers(rng, (rows, columns), src),)

    def bind(primitive: BroadcastElementwiseUnary, stream: Stream, inputs: Sequence[Any], out: Any) -> Call:
        return partial(primitive.Launch, stream, dims, inputs[0], dims, out, (1, columns))

    def numpy(inputs: Arrays, out: Array) -> Call:
        return partial(np.copyto, out, inputs[0].T, casting="unsafe")

    moved = rows * columns * (src.itemsize + dst.itemsize)
    return Case(
        name, BroadcastElementwiseUnary, (UnaryOp.kCast, src, dst, 2), CastWork(transposed=True), make,
        dims, dst, bind, numpy, moved, **about,
    )  # fmt: skip


def where(
    name: str,
    cond_dims: tuple[int, ...],
    x_dims: tuple[int, ...],
    y_dims: tuple[int, ...],
    dtype: DTypeLike = np.float32,
    **about: Any,
) -> Case:
    """Return a case that selects elements of x where a bool is true, else of y, with broadcasting."""
    item, cond = np.dtype(dtype), np.dtype(np.bool_)
    dims = np.broadcast_shapes(cond_dims, x_dims, y_dims)

    def make(rng: np.random.Generator) -> Arrays:
        return data.numbers(rng, cond_dims, cond), data.numbers(rng, x_dims, item), data.numbers(rng, y_dims, item)

    def bind(primitive: Where, stream: Stream, inputs: Sequence[Any], out: Any) -> Call:
        cond, x, y = inputs
        return partial(primitive.Launch, stream, cond_dims, cond, x_dims, x, y_dims, y, out)

    def numpy(inputs: Arrays, out: Array) -> Call:
        chosen, x, y = inputs
        return partial(numpy_ways.where, chosen, x, y, out)

    moved = math.prod(cond_dims) + item.itemsize * sum(map(math.prod, (x_dims, y_dims, dims)))
    return Case(
        name, Where, (cond, item, max(len(dims), 1)), WhereWork(), make, dims, item, bind, numpy, moved, **about
    )


def add(name: str, num_srcs: int, dims: tuple[int, ...], dtype: DTypeLike = np.float32, **about: Any) -> Case:
    """Return a case that adds several operands."""
    item, count = np.dtype(dtype), math.prod(dims)

    def make(rng: np.random.Generator) -> Arrays:
        return [data.numbers(rng, dims, item) for _ in range(num_srcs)]

    def bind(primitive: Add, stream: Stream, inputs: Sequence[Any], out: Any) -> Call:
        return partial(primitive.Launch, stream, list(inputs), out, count)

    moved = (num_srcs + 1) * count * item.itemsize
    # other libraries round each sum of 16-bit floats, and the smallest numbers are lost in sums with the largest
    error = 0.0 if item.kind in "iu" else 2.0**-6 * num_srcs if item.itemsize == 2 else 1e-6 * num_srcs
    return Case(
        name, Add, (item,), AddWork(), make, dims, item, bind,
        lambda inputs, out: partial(numpy_ways.add, inputs, out), moved,
        relative_error=error, absolute_error=2 * error, **about,
    )  # fmt: skip


def fill(name: str, dims: tuple[int, ...], dtype: DTypeLike = np.float32, **about: Any) -> Case:
    """Return a case that fills an array with one number."""
    item, count = np.dtype(dtype), math.prod(dims)

    def bind(primitive: Fill, stream: Stream, inputs: Sequence[Any], out: Any) -> Call:
        return partial(primitive.Launch, stream, out, _VALUE, count)

    return Case(
        name, Fill, (item,), FillWork(_VALUE), lambda rng: (), dims, item, bind,
        lambda inputs, out: partial(out.fill, _VALUE), count * item.itemsize, **about,
    )  # fmt: skip


def tensor_fill(name: str, dims: tuple[int, ...], dtype: DTypeLike = np.float32, **about: Any) -> Case:
    """Return a case that fills an array with one element of the device's memory."""
    item, count = np.dtype(dtype), math.prod(dims)

    def make(rng: np.random.Generator) -> Arrays:
        return (data.numbers(rng, (1,), item),)

    def bind(primitive: TensorFill, stream: Stream, inputs: Sequence[Any], out: Any) -> Call:
        return partial(primitive.Launch, stream, inputs[0], out, count)

    def numpy(inputs: Arrays, out: Array) -> Call:
        return partial(np.copyto, out, inputs[0])

    return Case(
        name, TensorFill, (item,), FillWork(None), make, dims, item, bind, numpy, (count + 1) * item.itemsize, **about
    )


def one_hot(
    name: str,
    num_indices: int,
    depth: int,
    dtype: DTypeLike = np.float32,
    index_type: DTypeLike = np.int64,
    **about: Any,
) -> Case:
    """Return a case that makes a row of zeros and a one for each index."""
    item, index, dims = np.dtype(dtype), np.dtype(index_type), (num_indices, depth)

    def make(rng: np.random.Generator) -> Arrays:
        return (data.indices(rng, depth, (num_indices,), index, "uniform"),)

    def bind(primitive: OneHot, stream: Stream, inputs: Sequence[Any], out: Any) -> Call:
        return partial(primitive.Launch, stream, inputs[0], out, 1, 0, num_indices, 0, depth)

    moved = num_indices * (depth * item.itemsize + index.itemsize)
    return Case(
        name, OneHot, (index, item), OneHotWork(), make, dims, item, bind,
        lambda inputs, out: numpy_ways.one_hot(inputs[0], out), moved, **about,
    )  # fmt: skip
