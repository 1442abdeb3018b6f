"""Transposition in registers of blocks whose units are adjacent in src along one axis, and in dst along the other.

A vector is read from each of a few rows of src, whole cache lines if possible, so that no line is fetched twice: if
rows are a power of two apart, their lines map to few sets of the caches.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, Final

from ep.common.loops import unrolled
from ep.cpu.compile.jit import inlined, jit
from ep.cpu.compile.memory import unit_functions
from ep.cpu.compile.target import has_avx512
from ep.cpu.compile.vector import load, shuffle, store, vector
from ep.cpu.engine.move.run_writer import LANE
from ep.cpu.lines.fetch import fetch_second
from ep.cpu.lines.sizes import LINE
from ep.include.data_type import DataType

_MOST_ROWS: Final = 16  # of src in registers
_FEW_REGISTERS, _SHORT_REGISTER = 16, 32  # the number of registers without AVX-512, and their bytes


def transpose_tile(unit: int, of_count: int) -> Callable[..., None]:
    """Return the writer for a dst in L1, written with ordinary stores. Either axis may be that of the rows."""
    transpose_block = block_transposer(unit)

    def write(
        dst: int, dst_row: int, dst_step: int, src: int, src_row: int, src_step: int, num_rows: int, count: int,
        past: int, following: int,
    ) -> None:  # fmt: skip
        if dst_row == unit:
            transpose_block(dst, dst_step, src, src_row, count, num_rows, following)
        else:
            transpose_block(dst, dst_row, src, src_step, num_rows, count, following)

    return write


@cache
def block_transposer(unit: int) -> Any:
    """Return a function transpose(dst, dst_row, src, src_row, width, length, following) of rows of `width` units.

    length: the number of rows of src; each row of dst has room for at least one lane.
    following: the start of the next block in src, or 0. Its lines are prefetched meanwhile, since processors do not
        predict this many short runs.
    """
    copy_unit, longest = unit_functions(unit)[0], _longest(unit)
    per_line, line_rows, per_lane = LINE // unit, _num_rows(unit, longest), LANE // unit
    of_parts, of_lanes, of_few = _vectors(unit, longest, True), _vectors(unit, LANE, True), _vectors(unit, LANE, False)
    parts, per_part = LINE // longest, longest // unit

    @jit
    def fetch(place: int, src_row: int, size: int, num_rows: int) -> None:
        for i in range(num_rows):
            fetch_second(place + i * src_row, size)

    @jit
    def transpose_lines(
        dst: int, dst_row: int, src: int, src_row: int, width: int, length: int, following: int
    ) -> None:
        row = 0
        while row < length:
            if following != 0:
                fetch(following + row * src_row, src_row, width * unit, min(line_rows, length - row))
            row = min(row, length - line_rows)
            column = 0
            while column < width:
                column = min(column, width - per_line)
                to, of = dst + column * dst_row + row * unit, src + row * src_row + column * unit
                for part in range(parts):
                    of_parts(to + part * per_part * dst_row, dst_row, of + part * longest, src_row, 0)
                column += per_line
            row += line_rows

    @jit
    def transpose_lanes(
        dst: int, dst_row: int, src: int, src_row: int, width: int, length: int, following: int
    ) -> None:
        row, last = 0, min(per_lane, length) - 1
        while row < length:
            if following != 0:
                fetch(following + row * src_row, src_row, width * unit, min(per_lane, length - row))
            row = max(min(row, length - per_lane), 0)
            column = 0
            while column < width:
                column = min(column, width - per_lane)
                to, of = dst + column * dst_row + row * unit, src + row * src_row + column * unit
                if length >= per_lane:
                    of_lanes(to, dst_row, of, src_row, last)
                else:
                    of_few(to, dst_row, of, src_row, last)
                column += per_lane
            row += per_lane

    @jit
    def transpose_block(
        dst: int, dst_row: int, src: int, src_row: int, width: int, length: int, following: int
    ) -> None:
        if width >= per_line and length >= line_rows:
            rest = width % per_line
            if rest > per_line // 2:
                rest = 0  # one more line, which overlaps the one before it
            transpose_lines(dst, dst_row, src, src_row, width - rest, length, following)
            if rest > 0:
                first = width - max(rest, per_lane)
                transpose_lanes(dst + first * dst_row, dst_row, src + first * unit, src_row, width - first, length, 0)
        elif width >= per_lane:
            transpose_lanes(dst, dst_row, src, src_row, width, length, following)
        else:
            for i in range(width):
                for k in range(length):
                    copy_unit(dst + i * dst_row, k, src + k * src_row, i)

    return transpose_block


def _num_rows(unit: int, size: int) -> int:
    """Return the number of rows of src that are transposed together, as vectors of `size` bytes."""
    return min(size // unit, _MOST_ROWS)


def _longest(unit: int) -> int:
    """Return the bytes that are read from each row: a whole cache line if the registers hold the lines of all rows."""
    are_enough = has_avx512() or _num_rows(unit, LINE) * (LINE // _SHORT_REGISTER) <= _FEW_REGISTERS
    return LINE if are_enough else LINE // 2


@cache
def _vectors(unit: int, size: int, whole: bool) -> Any:
    """Return a function transpose(dst, dst_row, src, src_row, last) of a vector from each of a few rows of src.

    A vector has `size` bytes. With n units per vector, n rows of dst are written, each with one unit of each row of
    src.
    last: the last row of src that exists; it replaces the rows after it.
    whole: whether all rows exist, and `last` is ignored.
    """
    per_lane, num_rows = LANE // unit, _num_rows(unit, size)
    Bytes, run, group_bits = vector(DataType.kUInt8, size), num_rows * unit, (num_rows // per_lane).bit_length() - 1

    def interleaved(half: int, block: int, within: int) -> Any:
        """Return a function of two vectors: one half of every `within` bytes, in blocks of each in turn."""
        return shuffle(
            *(
                number * size + first + half * within // 2 + place + part
                for first in range(0, size, within)
                for place in range(0, within // 2, block)
                for number in range(2)
                for part in range(block)
            )
        )

    # groups of as many rows as a lane has units: units move until each lane has those of a column, then whole lanes
    steps = [(per_lane >> k, unit, LANE) for k in range(1, per_lane.bit_length())]
    steps += [(per_lane << k, LANE << k, size) for k in range(group_bits)]
    exchanges, order, columns = [], [0], []
    for distance, block, within in steps:
        lower, upper = (interleaved(half, block, within) for half in range(2))
        exchanges += [(k, k + distance, lower, upper) for k in range(num_rows) if k & distance == 0]
    for _ in range(group_bits):  # the order in which the vectors of a column are then
        order = [2 * group for group in order] + [2 * group + 1 for group in order]
    for k in range(per_lane):
        for place in range(0, size * len(order), run):
            number, first = divmod(place, size)
            row, part = order[number] * per_lane + k, shuffle(*range(first, first + run))
            columns.append((place // run * per_lane + k, row, part))

    @inlined
    def transpose(dst: int, dst_row: int, src: int, src_row: int, last: int) -> None:
        rows = Bytes.array_on_stack(num_rows)
        for number in unrolled(range(num_rows)):
            rows[number] = load(Bytes, src + (number if whole else min(number, last)) * src_row)
        for first, second, lower, upper in unrolled(exchanges):
            x, y = rows[first], rows[second]
            rows[first], rows[second] = lower(x, y), upper(x, y)
        for column, row, part in unrolled(columns):
            store(dst + column * dst_row, 0, part(rows[row]))

    return transpose
