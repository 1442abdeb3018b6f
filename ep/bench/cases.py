"""What is timed: for each case the inputs, the primitive and its launch, NumPy's way, and the bytes moved.

A case knows no device. Builders make cases of any size; `bench_cases` is the set that `ep bench` runs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import numpy as np

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
from ep.include.stream import Stream

Array: TypeAlias = np.ndarray[Any, Any]
Arrays: TypeAlias = Sequence[Array]

_MAX_NUM_DIMS: Final = 4
_F32: Final = np.dtype(np.float32)


@dataclass(frozen=True)
class Case:
    """One thing to compute.

    name: what it is, in words.
    primitive: the interface; `key` is what its factory's New takes.
    make: inputs from a random generator, the same ones from the same seed.
    out_dims, out_type: the result.
    launch: launches a primitive on a stream, from buffers of the inputs to a buffer of the result.
    numpy: computes the same into an array, with the fastest plain NumPy that allocates nothing.
    bytes_moved: what has to be read and written at least.
    relative_error: how far a right result may be from NumPy's; 0 for equal.
    """

    name: str
    primitive: type[Any]
    key: tuple[Any, ...]
    make: Callable[[np.random.Generator], Arrays]
    out_dims: tuple[int, ...]
    out_type: np.dtype[Any]
    launch: Callable[[Any, Stream, Sequence[Any], Any], None]
    numpy: Callable[[Arrays, Array], object]
    bytes_moved: int
    relative_error: float = 0.0

    def is_right(self, result: Array, expected: Array) -> bool:
        """Whether `result` is as near to NumPy's as it should be."""
        if self.relative_error == 0:
            return np.array_equal(result, expected)
        return np.allclose(result, expected, rtol=self.relative_error, atol=self.relative_error)


def gather(name: str, rows: int, row_size: int, num_indices: int) -> Case:
    """Rows of a float32 table, by int32 indices of which a few are far more frequent than most, as words are."""

    def make(rng: np.random.Generator) -> Arrays:
        frequent_first = rng.permutation(rows).astype(np.int32)
        return rng.random((rows, row_size), np.float32), frequent_first[(rng.zipf(1.1, num_indices) - 1) % rows]

    def launch(primitive: Gather, stream: Stream, inputs: Sequence[Any], out: Any) -> None:
        primitive.Launch(stream, 1, rows, row_size, inputs[0], num_indices, inputs[1], out)

    def numpy(inputs: Arrays, out: Array) -> None:
        np.take(inputs[0], inputs[1], axis=0, out=out, mode="clip")  # the default mode would copy through a buffer

    moved = (2 * row_size * _F32.itemsize + 4) * num_indices
    return Case(name, Gather, (_F32, np.int32), make, (num_indices, row_size), _F32, launch, numpy, moved)


def batch_gather(name: str, batch: int, rows: int, row_size: int, num_indices: int) -> Case:
    """In each batch, float32 rows by the batch's own int64 indices."""

    def make(rng: np.random.Generator) -> Arrays:
        return rng.random((batch, rows, row_size), np.float32), rng.integers(0, rows, (batch, num_indices))

    def launch(primitive: BatchGather, stream: Stream, inputs: Sequence[Any], out: Any) -> None:
        primitive.Launch(stream, batch, 1, rows, row_size, inputs[0], num_indices, inputs[1], out)

    def numpy(inputs: Arrays, out: Array) -> None:
        for params, indices, destination in zip(*inputs, out, strict=True):
            np.take(params, indices, axis=0, out=destination, mode="clip")

    moved = (2 * row_size * _F32.itemsize + 8) * batch * num_indices
    dims = (batch, num_indices, row_size)
    return Case(name, BatchGather, (_F32, np.int64), make, dims, _F32, launch, numpy, moved)


def expand(name: str, src_dims: tuple[int, ...], dst_dims: tuple[int, ...], dtype: DTypeLike = np.float32) -> Case:
    """An array of random bits or numbers, repeated along the axes where src_dims has 1."""
    item = np.dtype(dtype)

    def make(rng: np.random.Generator) -> Arrays:
        return (rng.integers(0, 2, src_dims).astype(item),)

    def launch(primitive: Expand, stream: Stream, inputs: Sequence[Any], out: Any) -> None:
        primitive.Launch(stream, src_dims, inputs[0], dst_dims, out)

    def numpy(inputs: Arrays, out: Array) -> None:
        np.copyto(out, np.broadcast_to(inputs[0], dst_dims))

    moved = (math.prod(src_dims) + math.prod(dst_dims)) * item.itemsize
    return Case(name, Expand, (item, len(dst_dims)), make, dst_dims, item, launch, numpy, moved)


def unary(
    name: str, op: UnaryOp, dims: tuple[int, ...], numpy: Callable[..., object], relative_error: float = 0.0
) -> Case:
    """An op on normally distributed float32; `numpy(x, out)` is NumPy's way."""
    count = math.prod(dims)

    def make(rng: np.random.Generator) -> Arrays:
        return (rng.standard_normal(dims, np.float32),)

    def launch(primitive: ElementwiseUnary, stream: Stream, inputs: Sequence[Any], out: Any) -> None:
        primitive.Launch(stream, inputs[0], out, count)

    return Case(
        name, ElementwiseUnary, (op, _F32, _F32), make, dims, _F32, launch,
        lambda inputs, out: numpy(inputs[0], out), 2 * count * _F32.itemsize, relative_error,
    )  # fmt: skip


def binary(
    name: str,
    op: BinaryOp,
    dims0: tuple[int, ...],
    dims1: tuple[int, ...],
    numpy: Callable[..., object],
    dst_type: DTypeLike = np.float32,
) -> Case:
    """An op on normally distributed float32 with broadcasting; `numpy(x, y, out)` is NumPy's way."""
    dims, out_type = np.broadcast_shapes(dims0, dims1), np.dtype(dst_type)

    def make(rng: np.random.Generator) -> Arrays:
        return rng.standard_normal(dims0, np.float32), np.asarray(rng.standard_normal(dims1, np.float32))

    def launch(primitive: BroadcastElementwiseBinary, stream: Stream, inputs: Sequence[Any], out: Any) -> None:
        primitive.Launch(stream, dims0, inputs[0], dims1, inputs[1], out)

    moved = (math.prod(dims0) + math.prod(dims1)) * _F32.itemsize + math.prod(dims) * out_type.itemsize
    return Case(
        name, BroadcastElementwiseBinary, (op, _F32, out_type, _MAX_NUM_DIMS), make, dims, out_type, launch,
        lambda inputs, out: numpy(inputs[0], inputs[1], out), moved,
    )  # fmt: skip


def numpy_relu(x: Array, out: Array) -> None:
    """max(x, 0)."""
    np.maximum(x, np.float32(0), out=out)


def numpy_fast_gelu(x: Array, out: Array) -> None:
    """0.5 x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))), without a temporary."""
    np.multiply(x, x, out=out)
    np.multiply(out, np.float32(0.044715), out=out)
    np.add(out, np.float32(1), out=out)
    np.multiply(out, x, out=out)
    np.multiply(out, np.float32(math.sqrt(2 / math.pi)), out=out)
    np.tanh(out, out=out)
    np.add(out, np.float32(1), out=out)
    np.multiply(out, x, out=out)
    np.multiply(out, np.float32(0.5), out=out)


def copy(count: int) -> Case:
    """A plain copy: what the memory of the device gives."""
    return unary("copy", UnaryOp.kIdentity, (count,), lambda x, out: np.copyto(out, x))


def bench_cases(count: int) -> list[Case]:
    """The cases of `ep bench`, with about `count` elements in each result; count is at least 4096."""
    rows = count // 64
    side = math.isqrt(count)
    dims = (side, side)
    return [
        gather("rows of 64", rows, 64, rows),
        gather("rows of 1,024", max(count // 1024, 1), 1024, max(count // 1024, 1)),
        gather("single elements", count, 1, count),
        batch_gather("rows of 64, 16 batches", 16, rows // 16, 64, rows // 16),
        expand("along the first axis", (1, side), dims),
        expand("along the last axis", (side, 1), dims),
        expand("attention mask", (4, 1, 1, side), (4, 4, side // 16, side), np.bool_),
        unary("relu", UnaryOp.kRelu, dims, numpy_relu),
        unary("exp", UnaryOp.kExp, dims, np.exp, 1e-6),
        unary("fast_gelu", UnaryOp.kFastGelu, dims, numpy_fast_gelu, 1e-5),
        binary("add, same shape", BinaryOp.kAdd, dims, dims, np.add),
        binary("add a row", BinaryOp.kAdd, dims, (side,), np.add),
        binary("multiply by a column", BinaryOp.kMul, dims, (side, 1), np.multiply),
        binary("less than a scalar", BinaryOp.kLessThan, dims, (), np.less, np.bool_),
    ]
