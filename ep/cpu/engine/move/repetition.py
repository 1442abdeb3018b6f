"""Repeated writing of short data to one run of memory: each unit two or three times, or a short row many times.

Stores are whole vectors, whatever the size of the repeated data.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Final

from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

from ep.cpu.compile.jit import jit
from ep.cpu.compile.memory import stack_words
from ep.cpu.engine.move.run_writer import VECTOR
from ep.cpu.lines.inline_copy import copy_short_row

_CHUNK: Final = 4 * VECTOR  # bytes that are written at a time
_BLOCK_WORDS: Final = (VECTOR + _CHUNK + VECTOR) // 8
_LEAST_CHUNKS: Final = 2  # from this many chunks on, a block of copies is worth making


@cache
def unit_repeater(unit: int, times: int) -> Any:
    """Return a function repeat(dst, src, count) that writes units of `unit` bytes, each `times` times, in full vectors.

    It returns how many of the `count` units it has read.
    """
    per_vector = VECTOR // unit

    @intrinsic
    def repeat_vector(typing_context: Any, dst: Any, src: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            vector, bits32 = ir.VectorType(ir.IntType(8), VECTOR), ir.IntType(32)
            dst, src = (builder.inttoptr(address, vector.as_pointer()) for address in args)
            value = builder.load(src, align=1)
            for part in range(times):
                places = range(part * VECTOR, (part + 1) * VECTOR)
                sources = [place // (unit * times) * unit + place % unit for place in places]
                repeated = builder.shuffle_vector(value, value, ir.Constant(ir.VectorType(bits32, VECTOR), sources))
                builder.store(repeated, builder.gep(dst, [bits32(part)]), align=1)
            return context.get_dummy_value()

        return types.void(types.int64, types.int64), generate

    @jit
    def repeat(dst, src, count):
        full = count // per_vector
        for i in range(full):
            repeat_vector(dst + i * times * VECTOR, src + i * VECTOR)
        return full * per_vector

    return repeat


@jit
def repeat_tiny_row(dst, src, row_bytes, num_rows):
    """Write a row of less than a vector `num_rows` times.

    The row is copied to a block first, large enough for a whole chunk to begin at any byte of the row. If there are few
    rows, they are written directly.
    """
    size = row_bytes * num_rows
    in_chunks = size >= _LEAST_CHUNKS * (_CHUNK + row_bytes)
    block = stack_words(_BLOCK_WORDS)
    copies, copied = (block, row_bytes + _CHUNK) if in_chunks else (dst, size)
    for start in range(0, copied, row_bytes):
        copy_short_row(copies + start, src, row_bytes)
    if in_chunks:
        last, step, place = size - _CHUNK, _CHUNK % row_bytes, 0
        for offset in range(0, last, _CHUNK):
            _copy_chunk(dst + offset, block + place)
            place += step
            if place >= row_bytes:
                place -= row_bytes
        _copy_chunk(dst + last, block + last % row_bytes)


@intrinsic
def repeat_two_vectors(typing_context: Any, dst: Any, src: Any, row_bytes: Any, num_rows: Any) -> Any:
    """Write a row of one to two vectors `num_rows` times from registers; the two vectors may overlap."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        dst, src, row_bytes, num_rows = args
        word, pointer = ir.IntType(64), ir.VectorType(ir.IntType(8), VECTOR).as_pointer()
        places = word(0), builder.sub(row_bytes, word(VECTOR))
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
        vector, bits32 = ir.VectorType(ir.IntType(8), VECTOR), ir.IntType(32)
        dst, src = (builder.inttoptr(address, vector.as_pointer()) for address in args)
        for part in range(_CHUNK // VECTOR):
            value = builder.load(builder.gep(src, [bits32(part)]), align=1)
            builder.store(value, builder.gep(dst, [bits32(part)]), align=1)
        return context.get_dummy_value()

    return types.void(types.int64, types.int64), generate
