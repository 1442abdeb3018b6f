"""Repeated writing of short data to one run of memory: each unit two or three times, or a short row many times.

Stores are whole vectors, whatever the size of the repeated data.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Final

from llvmlite import ir

from ep.common.native.emitted import emitted
from ep.common.native.fields import Int64
from ep.cpu.compile.jit import jit
from ep.cpu.compile.vectors import BYTE, WORD, counted_at_head, load, store, taken
from ep.cpu.engine.move.run_writer import VECTOR
from ep.cpu.lines.inline_copy import copy_short_row

_BYTES: Final = ir.VectorType(BYTE, VECTOR)
_CHUNK: Final = 4 * VECTOR  # bytes that are written at a time
_BLOCK_WORDS: Final = (VECTOR + _CHUNK + VECTOR) // 8
_LEAST_CHUNKS: Final = 2  # the least chunks for which a block of copies is worth making


@cache
def unit_repeater(unit: int, times: int) -> Any:
    """Return a function repeat(dst, src, count) that writes units of `unit` bytes, each `times` times, in full vectors.

    It returns how many of the `count` units it has read.
    """
    per_vector = VECTOR // unit

    @emitted()
    def repeat_vector(builder: Any, dst: Any, src: Any) -> None:
        value = load(builder, src, _BYTES)
        for first in range(0, times * VECTOR, VECTOR):
            sources = [place // (unit * times) * unit + place % unit for place in range(first, first + VECTOR)]
            store(builder, taken(builder, sources, value), dst, WORD(first))

    @jit
    def repeat(dst, src, count):
        full = count // per_vector
        for i in range(full):
            repeat_vector(dst + i * times * VECTOR, src + i * VECTOR)
        return full * per_vector

    return repeat


@jit
def repeat_tiny_row(dst: Int64, src, row_bytes, num_rows):
    """Write a row of less than a vector `num_rows` times.

    The row is copied to a block first, large enough for a whole chunk to begin at any byte of the row. If there are few
    rows, they are written directly.
    """
    size = row_bytes * num_rows
    in_chunks = size >= _LEAST_CHUNKS * (_CHUNK + row_bytes)
    block = Int64.array_on_stack(_BLOCK_WORDS)
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


@emitted()
def repeat_two_vectors(builder: Any, dst: Any, src: Any, row_bytes: Any, num_rows: Any) -> None:
    """Write a row of one to two vectors `num_rows` times from registers; the two vectors may overlap."""
    places = WORD(0), builder.sub(row_bytes, WORD(VECTOR))
    halves = [load(builder, builder.add(src, place), _BYTES) for place in places]

    def row(start: Any, _: Any) -> None:
        for half, place in zip(halves, places, strict=True):
            store(builder, half, builder.add(dst, builder.add(start, place)))

    counted_at_head(builder, WORD(0), builder.mul(row_bytes, num_rows), row_bytes, [], row)


@emitted()
def _copy_chunk(builder: Any, dst: Any, src: Any) -> None:
    for place in range(0, _CHUNK, VECTOR):
        store(builder, load(builder, src, _BYTES, WORD(place)), dst, WORD(place))
