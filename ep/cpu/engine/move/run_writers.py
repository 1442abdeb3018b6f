"""The compiled writers, which the walk calls on blocks of rows.

Strides are in bytes. `count` is the length of a row, or less if a thread's range begins or ends within the row; then
`num_rows` is 1. `past`: 1 to write whole cache lines of dst with non-temporal stores; plans request this only
from writers that can (`in_lines`), and the walk calls `finish_streams`. `following`: the start of the next block in
src, for writers that prefetch it; 0 if src fits in the caches, or no block follows.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Final

from ep.common.native.fields import Int64
from ep.cpu.compile.compiler import compile_task
from ep.cpu.compile.memory import unit_functions
from ep.cpu.compile.vector import load, store, vector
from ep.cpu.engine.move.repetition import repeat_tiny_row, unit_repeater
from ep.cpu.engine.move.run_writer import VECTOR, RunWriter
from ep.cpu.engine.move.transposed_block import transpose_tile
from ep.cpu.engine.move.transposition import transpose
from ep.cpu.engine.move.weaving import every, unweave, weave
from ep.cpu.lines.fetch import fetch_second
from ep.cpu.lines.inline_copy import copy_bytes, copy_short_row, row_filler
from ep.cpu.lines.sizes import LEAST_STREAMED_ROW
from ep.cpu.lines.streaming import stream_row, streaming_filler
from ep.include.data_type import DataType

Writer = Callable[[int, int, int, int, int, int, int, int, int, int], None]

_AHEAD: Final = 4096  # bytes of short rows of src that are prefetched: processors look ahead within one row only


@cache
def writer(wanted: RunWriter) -> int:
    """Return the address of the task of a writer.

    Its arguments are (dst, dst_row, dst_step, src, src_row, src_step, num_rows, count, past, following).
    """
    kind, unit, count = wanted
    name = f"move.{kind}" + (f".{unit}" if unit else "") + (f".{count}" if count else "")
    return compile_task(name, _MAKERS[kind](unit, count), 10)


def _copy(unit: int, of_count: int) -> Writer:
    """Return the writer of rows of adjacent units on both sides, whatever the unit."""

    def write(
        dst: int, dst_row: int, dst_step: int, src: int, src_row: int, src_step: int, num_rows: int, count: int,
        past: int, following: int,
    ) -> None:  # fmt: skip
        size = count * dst_step
        if past == 0 and following == 0:
            for i in range(num_rows):
                copy_bytes(dst + i * dst_row, src + i * src_row, size)
            return
        ahead = min(_AHEAD // size, num_rows) if following != 0 and 0 < size < LEAST_STREAMED_ROW else 0
        for i in range(num_rows):
            if ahead != 0:
                fetched = src + (i + ahead) * src_row
                if i + ahead >= num_rows:
                    fetched = following + (i + ahead - num_rows) * src_row
                fetch_second(fetched, size)
            if past == 0:
                copy_bytes(dst + i * dst_row, src + i * src_row, size)
            else:
                stream_row(dst + i * dst_row, src + i * src_row, size)

    return write


def _repeat(unit: int, of_count: int) -> Writer:
    """Return the writer that repeats one row of one to two vectors without gaps, whatever the unit."""
    Bytes = vector(DataType.kUInt8, VECTOR)

    def write(
        dst: int, dst_row: int, dst_step: int, src: int, src_row: int, src_step: int, num_rows: int, count: int,
        past: int, following: int,
    ) -> None:  # fmt: skip
        row_bytes, start = count * dst_step, 0
        if row_bytes < VECTOR:
            copy_short_row(dst, src, row_bytes)
            return
        last = row_bytes - VECTOR  # the two vectors may overlap
        lower, upper = load(Bytes, src), load(Bytes, src + last)
        while start < row_bytes * num_rows:
            store(dst + start, 0, lower)
            store(dst + start + last, 0, upper)
            start += row_bytes

    return write


def _repeat_tiny(unit: int, of_count: int) -> Writer:
    """Return the writer that repeats one shorter row without gaps, whatever the unit."""

    def write(
        dst: int, dst_row: int, dst_step: int, src: int, src_row: int, src_step: int, num_rows: int, count: int,
        past: int, following: int,
    ) -> None:  # fmt: skip
        repeat_tiny_row(Int64.at(dst), src, count * dst_step, num_rows)

    return write


def _few(unit: int, of_count: int) -> Writer:
    """Return the writer of rows of a few units; of_count: their number."""
    copy_unit = unit_functions(unit)[0]

    def write(
        dst: int, dst_row: int, dst_step: int, src: int, src_row: int, src_step: int, num_rows: int, count: int,
        past: int, following: int,
    ) -> None:  # fmt: skip
        if count == of_count:
            for i in range(num_rows):
                for k in range(of_count):
                    copy_unit(dst + i * dst_row + k * unit, 0, src + i * src_row + k * unit, 0)
        else:
            for k in range(count):
                copy_unit(dst, k, src, k)

    return write


def _each(unit: int, of_count: int) -> Writer:
    """Return the writer of rows that repeat one unit a few times; of_count: the number of times."""
    copy_unit, repeat_units = unit_functions(unit)[0], unit_repeater(unit, of_count)

    def write(
        dst: int, dst_row: int, dst_step: int, src: int, src_row: int, src_step: int, num_rows: int, count: int,
        past: int, following: int,
    ) -> None:  # fmt: skip
        if count == of_count:
            done = repeat_units(dst, src, num_rows) if dst_row == unit * of_count and src_row == unit else 0
            for i in range(done, num_rows):
                for k in range(of_count):
                    copy_unit(dst + i * dst_row + k * unit, 0, src + i * src_row, 0)
        else:
            for k in range(count):
                copy_unit(dst, k, src, 0)

    return write


def _fill(unit: int, of_count: int) -> Writer:
    """Return the writer of rows that repeat one unit."""
    fill_bytes, stream_fill = row_filler(unit), streaming_filler(unit)

    def write(
        dst: int, dst_row: int, dst_step: int, src: int, src_row: int, src_step: int, num_rows: int, count: int,
        past: int, following: int,
    ) -> None:  # fmt: skip
        for i in range(num_rows):
            if past == 0:
                fill_bytes(dst + i * dst_row, count * unit, src + i * src_row)
            else:
                stream_fill(dst + i * dst_row, count * unit, src + i * src_row)

    return write


def _any(unit: int, of_count: int) -> Writer:
    """Return the writer of rows with any steps; units at small steps are picked out of vectors if dst has no gaps."""
    copy_unit, (second, third, fourth) = unit_functions(unit)[0], (every(unit, step) for step in (2, 3, 4))

    def write(
        dst: int, dst_row: int, dst_step: int, src: int, src_row: int, src_step: int, num_rows: int, count: int,
        past: int, following: int,
    ) -> None:  # fmt: skip
        for i in range(num_rows):
            to, of, done = dst + i * dst_row, src + i * src_row, 0
            if dst_step == unit:
                if src_step == 2 * unit:
                    done = second(to, of, count)
                elif src_step == 3 * unit:
                    done = third(to, of, count)
                elif src_step == 4 * unit:
                    done = fourth(to, of, count)
            for k in range(done, count):
                copy_unit(to + k * dst_step, 0, of + k * src_step, 0)

    return write


_MAKERS: Final = {
    "copy": _copy,
    "repeat": _repeat,
    "repeat_tiny": _repeat_tiny,
    "few": _few,
    "each": _each,
    "fill": _fill,
    "any": _any,
    "transpose": transpose,
    "transpose_tile": transpose_tile,
    "weave": weave,
    "unweave": unweave,
}
