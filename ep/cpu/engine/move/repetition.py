"""Repeated writing of short data to one run of memory: each unit two or three times, or a short row many times.

Stores are whole vectors, whatever the size of the repeated data.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Final

from ep.common.loops import unrolled
from ep.common.native.fields import Int64
from ep.cpu.compile.jit import jit
from ep.cpu.compile.vector import load, shuffle, store, vector
from ep.cpu.engine.move.run_writer import VECTOR
from ep.cpu.lines.inline_copy import copy_short_row
from ep.include.data_type import DataType

_Bytes: Final = vector(DataType.kUInt8, VECTOR)
_CHUNK: Final = 4 * VECTOR  # bytes that are written at a time
_BLOCK_WORDS: Final = (VECTOR + _CHUNK + VECTOR) // 8
_LEAST_CHUNKS: Final = 2  # the least chunks for which a block of copies is worth making


@cache
def unit_repeater(unit: int, times: int) -> Any:
    """Return a function repeat(dst, src, count) that writes units of `unit` bytes, each `times` times, in full vectors.

    It returns how many of the `count` units it has read.
    """
    per_vector, size = VECTOR // unit, times * VECTOR
    sources = [place // (unit * times) * unit + place % unit for place in range(size)]
    parts = tuple((first, shuffle(*sources[first : first + VECTOR])) for first in range(0, size, VECTOR))

    @jit
    def repeat(dst: int, src: int, count: int) -> int:
        full = count // per_vector
        for i in range(full):
            value = load(_Bytes, src + i * VECTOR)
            for first, repeated in unrolled(parts):
                store(dst + i * size, first, repeated(value))
        return full * per_vector

    return repeat


@jit
def repeat_tiny_row(dst: Int64, src: int, row_bytes: int, num_rows: int) -> None:
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


@jit
def _copy_chunk(dst: int, src: int) -> None:
    for place in unrolled(range(0, _CHUNK, VECTOR)):
        store(dst, place, load(_Bytes, src, place))
