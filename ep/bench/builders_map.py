"""Cases of the elementwise primitives: casts, selections, sums, fills and one-hot encodings."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import ml_dtypes
import numpy as np

from ep.bench import data, numpy_ways
from ep.bench.case import AddWork, Case, CastWork, FillWork, OneHotWork, WhereWork
from ep.bench.data import Input
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

_VALUE = 3


def cast(name: str, dims: tuple[int, ...], src_type: DTypeLike, dst_type: DTypeLike, **about: Any) -> Case:
    """Return a case that converts numbers of one type to another."""
    src, dst, count = np.dtype(src_type), np.dtype(dst_type), math.prod(dims)
    is_half = dst in (np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16))
    return Case(
        name, Cast, (src, dst), CastWork(), (Input(dims, src),), dims, dst,
        lambda inputs, out: (inputs[0], out, count),
        lambda inputs, out: partial(np.copyto, out, inputs[0], casting="unsafe"),
        relative_error=2.0**-7 if is_half else 0.0,  # other libraries round twice, through float32
        **about,
    )  # fmt: skip


def transpose(name: str, rows: int, columns: int, src_type: DTypeLike, dst_type: DTypeLike, **about: Any) -> Case:
    """Return a case that converts a matrix into its transpose, by strides."""
    src, dst, dims = np.dtype(src_type), np.dtype(dst_type), (columns, rows)
    return Case(
        name, BroadcastElementwiseUnary, (UnaryOp.kCast, src, dst, 2), CastWork(transposed=True),
        (Input((rows, columns), src),), dims, dst,
        lambda inputs, out: (dims, inputs[0], dims, out, (1, columns)),
        lambda inputs, out: partial(np.copyto, out, inputs[0].T, casting="unsafe"), **about,
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
    return Case(
        name, Where, (cond, item, max(len(dims), 1)), WhereWork(),
        (Input(cond_dims, cond), Input(x_dims, item), Input(y_dims, item)), dims, item,
        lambda inputs, out: (cond_dims, inputs[0], x_dims, inputs[1], y_dims, inputs[2], out),
        lambda inputs, out: partial(numpy_ways.where, inputs[0], inputs[1], inputs[2], out), **about,
    )  # fmt: skip


def add(name: str, num_srcs: int, dims: tuple[int, ...], dtype: DTypeLike = np.float32, **about: Any) -> Case:
    """Return a case that adds several operands."""
    item, count = np.dtype(dtype), math.prod(dims)
    # other libraries round each sum of 16-bit floats, and the smallest numbers are lost in sums with the largest
    error = 0.0 if item.kind in "iu" else 2.0**-6 * num_srcs if item.itemsize == 2 else 1e-6 * num_srcs
    return Case(
        name, Add, (item,), AddWork(), [Input(dims, item)] * num_srcs, dims, item,
        lambda inputs, out: (list(inputs), out, count),
        lambda inputs, out: partial(numpy_ways.add, inputs, out),
        relative_error=error, absolute_error=2 * error, **about,
    )  # fmt: skip


def fill(name: str, dims: tuple[int, ...], dtype: DTypeLike = np.float32, **about: Any) -> Case:
    """Return a case that fills an array with one number."""
    item, count = np.dtype(dtype), math.prod(dims)
    return Case(
        name, Fill, (item,), FillWork(_VALUE), (), dims, item,
        lambda inputs, out: (out, _VALUE, count), lambda inputs, out: partial(out.fill, _VALUE), **about,
    )  # fmt: skip


def tensor_fill(name: str, dims: tuple[int, ...], dtype: DTypeLike = np.float32, **about: Any) -> Case:
    """Return a case that fills an array with one element of the device's memory."""
    item, count = np.dtype(dtype), math.prod(dims)
    return Case(
        name, TensorFill, (item,), FillWork(None), (Input((1,), item),), dims, item,
        lambda inputs, out: (inputs[0], out, count), lambda inputs, out: partial(np.copyto, out, inputs[0]), **about,
    )  # fmt: skip


def one_hot(
    name: str,
    num_indices: int,
    depth: int,
    dtype: DTypeLike = np.float32,
    index_type: DTypeLike = np.int64,
    **about: Any,
) -> Case:
    """Return a case that makes a row of zeros and a one for each index."""
    item, index = np.dtype(dtype), np.dtype(index_type)
    return Case(
        name, OneHot, (index, item), OneHotWork(), (data.rows_of(depth, (num_indices,), index, "uniform"),),
        (num_indices, depth), item, lambda inputs, out: (inputs[0], out, 1, 0, num_indices, 0, depth),
        lambda inputs, out: numpy_ways.one_hot(inputs[0], out), **about,
    )  # fmt: skip
