"""Cases of the primitives that move data: permutations, pads, slices, joins, copies and memsets."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np

from ep.bench import numpy_ways
from ep.bench.case import Arrays, Call, Case, JoinWork, PadWork, PermuteWork, SetBytesWork, SliceWork, UnaryWork
from ep.bench.data import Array, Input
from ep.include.data_type import DTypeLike
from ep.include.primitive import ConstantPad, CopyNd, Memcpy, MemcpyKind, Memset, Permute, UnaryOp

_VALUE = 3


def permute(
    name: str,
    src_dims: tuple[int, ...],
    permutation: tuple[int, ...],
    dtype: DTypeLike = np.float32,
    **about: Any,
) -> Case:
    """Return a case that puts the axes of an array into another order."""
    item, dims = np.dtype(dtype), tuple(src_dims[axis] for axis in permutation)
    return Case(
        name, Permute, (len(dims),), PermuteWork(permutation), (Input(src_dims, item),), dims, item,
        lambda inputs, out: (item, src_dims, inputs[0], permutation, out),
        lambda inputs, out: partial(np.copyto, out, inputs[0].transpose(permutation)), **about,
    )  # fmt: skip


def pad(
    name: str,
    src_dims: tuple[int, ...],
    before: tuple[int, ...],
    after: tuple[int, ...],
    dtype: DTypeLike = np.float32,
    **about: Any,
) -> Case:
    """Return a case that puts an array inside a border of one number."""
    item, dims = np.dtype(dtype), tuple(map(sum, zip(src_dims, before, after, strict=True)))

    def numpy(inputs: Arrays, out: Array) -> Call:
        inside, src = numpy_ways.inside_border(inputs[0], before, out)

        def way() -> None:
            out.fill(_VALUE)
            np.copyto(inside, src)

        return way

    return Case(
        name, ConstantPad, (item,), PadWork(before, after, _VALUE), (Input(src_dims, item),), dims, item,
        lambda inputs, out: (src_dims, inputs[0], before, after, _VALUE, out), numpy, **about,
    )  # fmt: skip


def cut(
    name: str,
    src_dims: tuple[int, ...],
    begin: tuple[int, ...],
    dims: tuple[int, ...],
    dtype: DTypeLike = np.float32,
    **about: Any,
) -> Case:
    """Return a case that copies the box of `dims` that begins at `begin` in an array."""
    item, origin = np.dtype(dtype), (0,) * len(dims)
    return Case(
        name, CopyNd, (len(dims),), SliceWork(begin), (Input(src_dims, item),), dims, item,
        lambda inputs, out: (item, out, dims, origin, inputs[0], src_dims, begin, dims),
        lambda inputs, out: partial(np.copyto, out, inputs[0][numpy_ways.box(begin, dims)]),
        2 * math.prod(dims) * item.itemsize, **about,
    )  # fmt: skip


def join(
    name: str, dims: tuple[int, ...], axis: int, num_srcs: int = 2, dtype: DTypeLike = np.float32, **about: Any
) -> Case:
    """Return a case that joins arrays of `dims` along an axis, with one launch for each."""
    item = np.dtype(dtype)
    joined = tuple(size * num_srcs if at == axis else size for at, size in enumerate(dims))
    begins = [tuple(size * number if at == axis else 0 for at, size in enumerate(dims)) for number in range(num_srcs)]
    return Case(
        name, CopyNd, (len(dims),), JoinWork(axis), [Input(dims, item)] * num_srcs, joined, item,
        lambda inputs, out: [
            (item, out, joined, begin, src, dims, begins[0], dims) for src, begin in zip(inputs, begins, strict=True)
        ],
        lambda inputs, out: partial(np.concatenate, inputs, axis, out=out), **about,
    )  # fmt: skip


def copy_bytes(name: str, dims: tuple[int, ...], dtype: DTypeLike = np.float32, **about: Any) -> Case:
    """Return a case that copies bytes to another place in the device's memory."""
    item = np.dtype(dtype)
    size = math.prod(dims) * item.itemsize
    return Case(
        name, Memcpy, (MemcpyKind.kDtoD,), UnaryWork(UnaryOp.kIdentity), (Input(dims, item),), dims, item,
        lambda inputs, out: (out, inputs[0], size), lambda inputs, out: partial(np.copyto, out, inputs[0]), **about,
    )  # fmt: skip


def set_bytes(name: str, dims: tuple[int, ...], dtype: DTypeLike = np.float32, **about: Any) -> Case:
    """Return a case that sets every byte to one value."""
    item = np.dtype(dtype)
    size = math.prod(dims) * item.itemsize
    return Case(
        name, Memset, (), SetBytesWork(_VALUE), (), dims, item,
        lambda inputs, out: (out, _VALUE, size), lambda inputs, out: partial(out.view(np.uint8).fill, _VALUE), **about,
    )  # fmt: skip
