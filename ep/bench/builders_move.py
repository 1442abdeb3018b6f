"""Cases of the primitives that move data: permutations, pads, slices, joins, copies and memsets."""

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
    JoinWork,
    PadWork,
    PermuteWork,
    SetBytesWork,
    SliceWork,
    UnaryWork,
)
from ep.include.data_type import DTypeLike
from ep.include.primitive import ConstantPad, CopyNd, Memcpy, MemcpyKind, Memset, Permute, UnaryOp
from ep.include.stream import Stream

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

    def make(rng: np.random.Generator) -> Arrays:
        return (data.numbers(rng, src_dims, item),)

    def bind(primitive: Permute, stream: Stream, inputs: Sequence[Any], out: Any) -> Call:
        return partial(primitive.Launch, stream, item, src_dims, inputs[0], permutation, out)

    def numpy(inputs: Arrays, out: Array) -> Call:
        return partial(np.copyto, out, inputs[0].transpose(permutation))

    return Case(
        name, Permute, (len(dims),), PermuteWork(permutation), make, dims, item, bind, numpy,
        2 * math.prod(dims) * item.itemsize, **about,
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
    item = np.dtype(dtype)
    dims = tuple(map(sum, zip(src_dims, before, after, strict=True)))

    def make(rng: np.random.Generator) -> Arrays:
        return (data.numbers(rng, src_dims, item),)

    def bind(primitive: ConstantPad, stream: Stream, inputs: Sequence[Any], out: Any) -> Call:
        return partial(primitive.Launch, stream, src_dims, inputs[0], before, after, _VALUE, out)

    def numpy(inputs: Arrays, out: Array) -> Call:
        inside, src = numpy_ways.inside_border(inputs[0], before, out)

        def way() -> None:
            out.fill(_VALUE)
            np.copyto(inside, src)

        return way

    moved = (math.prod(src_dims) + math.prod(dims)) * item.itemsize
    return Case(
        name, ConstantPad, (item,), PadWork(before, after, _VALUE), make, dims, item, bind, numpy, moved, **about
    )


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

    def make(rng: np.random.Generator) -> Arrays:
        return (data.numbers(rng, src_dims, item),)

    def bind(primitive: CopyNd, stream: Stream, inputs: Sequence[Any], out: Any) -> Call:
        return partial(primitive.Launch, stream, item, out, dims, origin, inputs[0], src_dims, begin, dims)

    def numpy(inputs: Arrays, out: Array) -> Call:
        return partial(np.copyto, out, inputs[0][numpy_ways.box(begin, dims)])

    return Case(
        name, CopyNd, (len(dims),), SliceWork(begin), make, dims, item, bind, numpy,
        2 * math.prod(dims) * item.itemsize, **about,
    )  # fmt: skip


def join(
    name: str, dims: tuple[int, ...], axis: int, num_srcs: int = 2, dtype: DTypeLike = np.float32, **about: Any
) -> Case:
    """Return a case that joins arrays of `dims` along an axis, with one launch for each."""
    item = np.dtype(dtype)
    joined = tuple(size * num_srcs if at == axis else size for at, size in enumerate(dims))
    begins = [tuple(size * number if at == axis else 0 for at, size in enumerate(dims)) for number in range(num_srcs)]

    def make(rng: np.random.Generator) -> Arrays:
        return [data.numbers(rng, dims, item) for _ in range(num_srcs)]

    def bind(primitive: CopyNd, stream: Stream, inputs: Sequence[Any], out: Any) -> Call:
        def launch() -> None:
            for src, begin in zip(inputs, begins, strict=True):
                primitive.Launch(stream, item, out, joined, begin, src, dims, begins[0], dims)

        return launch

    def numpy(inputs: Arrays, out: Array) -> Call:
        return partial(np.concatenate, inputs, axis, out=out)

    return Case(
        name, CopyNd, (len(dims),), JoinWork(axis), make, joined, item, bind, numpy,
        2 * math.prod(joined) * item.itemsize, **about,
    )  # fmt: skip


def copy_bytes(name: str, dims: tuple[int, ...], dtype: DTypeLike = np.float32, **about: Any) -> Case:
    """Return a case that copies bytes to another place in the device's memory."""
    item = np.dtype(dtype)
    size = math.prod(dims) * item.itemsize

    def make(rng: np.random.Generator) -> Arrays:
        return (data.numbers(rng, dims, item),)

    def bind(primitive: Memcpy, stream: Stream, inputs: Sequence[Any], out: Any) -> Call:
        return partial(primitive.Launch, stream, out, inputs[0], size)

    def numpy(inputs: Arrays, out: Array) -> Call:
        return partial(np.copyto, out, inputs[0])

    return Case(
        name,
        Memcpy,
        (MemcpyKind.kDtoD,),
        UnaryWork(UnaryOp.kIdentity),
        make,
        dims,
        item,
        bind,
        numpy,
        2 * size,
        **about,
    )


def set_bytes(name: str, dims: tuple[int, ...], dtype: DTypeLike = np.float32, **about: Any) -> Case:
    """Return a case that sets every byte to one value."""
    item = np.dtype(dtype)
    size = math.prod(dims) * item.itemsize

    def bind(primitive: Memset, stream: Stream, inputs: Sequence[Any], out: Any) -> Call:
        return partial(primitive.Launch, stream, out, _VALUE, size)

    def numpy(inputs: Arrays, out: Array) -> Call:
        return partial(out.view(np.uint8).fill, _VALUE)

    return Case(name, Memset, (), SetBytesWork(_VALUE), lambda rng: (), dims, item, bind, numpy, size, **about)
