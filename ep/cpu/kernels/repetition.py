"""Short things written many times to one run of memory: each unit two or three times, or one short row after another.

Stores are of whole vectors, whatever the size of what is repeated.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Final

from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

from ep.cpu.kernels.jit import jit
from ep.cpu.kernels.memory import stack_words
from ep.cpu.kernels.rows import copy_row

_VECTOR: Final = 32
_CHUNK: Final = 4 * _VECTOR  # bytes that are written at a time
_BLOCK_WORDS: Final = (_VECTOR + _CHUNK + _VECTOR) // 8
_LEAST_CHUNKS: Final = 2  # that are worth a block of copies


@cache
def unit_repeater(unit: int, times: int) -> Any:
    """A function repeat(dst, src, count): writes units of `unit` bytes, each `times` times, while vectors are full.

    It returns how many of the `count` units it has read.
    """
    per_vector = _VECTOR // unit

    @intrinsic
    def repeat_vector(typing_context: Any, dst: Any, src: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            vector, bits32 = ir.VectorType(ir.IntType(8), _VECTOR), ir.IntType(32)
            dst, src = (builder.inttoptr(address, vector.as_pointer()) for address in args)
            value = builder.load(src, align=1)
            for part in range(times):
                places = range(part * _VECTOR, (part + 1) * _VECTOR)
                sources = [place // (unit * times) * unit + place % unit for place in places]
                repeated = builder.shuffle_vector(value, value, ir.Constant(ir.VectorType(bits32, _VECTOR), sources))
                builder.store(repeated, builder.gep(dst, [bits32(part)]), align=1)
            return context.get_dummy_value()

        return types.void(types.int64, types.int64), generate

    @jit
    def repeat(dst, src, count):  # type: ignore[no-untyped-def]
        full = count // per_vector
        for i in range(full):
            repeat_vector(dst + i * times * _VECTOR, src + i * _VECTOR)
        return full * per_vector

    return repeat


@jit
def repeat_row(dst, src, row_bytes, num_rows):  # type: ignore[no-untyped-def]
    """Write the row at `src` `num_rows` times; whether it was short enough for that, and the times many enough."""
    if _VECTOR <= row_bytes <= 2 * _VECTOR:
        _repeat_two_vectors(dst, src, row_bytes, num_rows)
        return True
    if row_bytes < _VECTOR and row_bytes * num_rows >= _LEAST_CHUNKS * (_CHUNK + row_bytes):
        _repeat_tiny_row(dst, src, row_bytes, num_rows)
        return True
    return False


@jit
def _repeat_tiny_row(dst, src, row_bytes, num_rows):  # type: ignore[no-untyped-def]
    """By way of a block of copies, enough for a whole chunk to begin at any byte of the row."""
    block = stack_words(_BLOCK_WORDS)
    for start in range(0, row_bytes + _CHUNK, row_bytes):
        copy_row(block + start, src, row_bytes)
    last, step, place = row_bytes * num_rows - _CHUNK, _CHUNK % row_bytes, 0
    for offset in range(0, last, _CHUNK):
        _copy_chunk(dst + offset, block + place)
        place += step
        if place >= row_bytes:
            place -= row_bytes
    _copy_chunk(dst + last, block + last % row_bytes)


@intrinsic
def _repeat_two_vectors(typing_context: Any, dst: Any, src: Any, row_bytes: Any, num_rows: Any) -> Any:
    """A row of one to two vectors, which may overlap: it stays in registers."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        dst, src, row_bytes, num_rows = args
        word, pointer = ir.IntType(64), ir.VectorType(ir.IntType(8), _VECTOR).as_pointer()
        places = word(0), builder.sub(row_bytes, word(_VECTOR))
        halves = [builder.load(builder.inttoptr(builder.add(src, place), pointer), align=1) for place in places]
        end = builder.mul(row_bytes, num_rows)
        with cgutils.for_range_slice(builder, word(0), end, row_bytes, word) as (start, _):
            for half, place in zip(halves, places, strict=True):
                target = builder.add(dst, builder.add(start, place))
                builder.store(half, builder.inttoptr(target, pointer), align=1)
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, types.int64, types.int64), generate


@intrinsic
def _copy_chunk(typing_context: Any, dst: Any, src: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        vector, bits32 = ir.VectorType(ir.IntType(8), _VECTOR), ir.IntType(32)
        dst, src = (builder.inttoptr(address, vector.as_pointer()) for address in args)
        for part in range(_CHUNK // _VECTOR):
            value = builder.load(builder.gep(src, [bits32(part)]), align=1)
            builder.store(value, builder.gep(dst, [bits32(part)]), align=1)
        return context.get_dummy_value()

    return types.void(types.int64, types.int64), generate
