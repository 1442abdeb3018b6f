"""The movers of Gather: each looks up the rows for indices of one type, and moves rows of one size class.

Data is moved by size, so a mover serves all data types. A row of up to 128 bytes is one or two units of 1 to 64 bytes:
the loop has so few instructions that the processor overlaps the memory accesses of many rows.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, Final

import numpy as np

from ep.common.loops import unrolled
from ep.cpu.compile.compiler import compile_task
from ep.cpu.compile.jit import inlined
from ep.cpu.compile.memory import set_bytes, unit_functions
from ep.cpu.compile.vector import any_lane, convert, elements, load, vector
from ep.cpu.compile.vectors import L1_CACHE, L2_CACHE
from ep.cpu.engine.move.gather_walk import GatherContext
from ep.cpu.engine.move.size_class import ANY_SIZE
from ep.cpu.lines.fetch import bounded_fetch, fetch_second
from ep.cpu.lines.inline_copy import copy_bytes
from ep.cpu.lines.sizes import LEAST_STREAMED_ROW
from ep.cpu.lines.streaming import stream_row
from ep.include.data_type import DataType

_AHEAD: Final = 64  # prefetch distance, in rows
_AHEAD_BYTES: Final = 2**15  # the most bytes that are prefetched ahead: a part of L2
_SHORT: Final = 16  # the most bytes of a row for which indices are checked in blocks
_VECTOR: Final = 32  # bytes that are moved at once: those of 64 mostly span two lines, and take longer then
_BLOCK: Final = 16  # rows
_CACHED: Final = 2**22  # the most bytes of params that need no prefetch; a shared last-level cache holds few more
_LONGEST_FETCHED: Final = 4096  # the most bytes of a row that are prefetched: the processor fetches the rest itself


@cache
def mover(indices_type: DataType, of_class: int) -> int:
    """Return the address of a task (context, params, indices, out, count, width, later) that moves rows to `out`.

    context: that of the walk. count: the number of rows. width: the number of bytes of a row to move; less than the row
        only if rows are cut. later: the number of indices behind these whose rows may be prefetched.
    """
    make = _mover_of_bytes if of_class == ANY_SIZE else _mover_of_units
    return compile_task(f"gather.{indices_type.name}.{of_class}", make(indices_type, of_class), 7)


@cache
def row_finder(indices_type: DataType) -> Any:
    """Return a function find(indices, i, low, num_valid, first_row): the row of index `i`, and whether it is valid.

    The valid indices are [low, low + num_valid).
    """
    Indices = elements(indices_type)

    @inlined
    def find(indices: int, i: int, low: int, num_valid: int, first_row: int) -> tuple[Any, Any]:
        row = np.int64(Indices.at(indices)[i]) - low
        return row + first_row, np.uint64(row) < np.uint64(num_valid)  # one comparison tests both ends

    return find


@inlined
def _num_fetching(context: GatherContext, count: int, later: int, ahead: int) -> int:
    """Return the number of rows, the first ones, for which the row `ahead` indices behind is prefetched."""
    return min(count + later - ahead, count) if context.params_bytes > _CACHED else 0


def _mover_of_units(indices_type: DataType, of_class: int) -> Callable[..., None]:
    """Return the task that moves rows of up to 128 bytes, each in one or two units."""
    bits, in_two = (of_class + 1) // 2, of_class % 2
    unit = 2 ** (bits - in_two)
    part, find, is_one = min(unit, _VECTOR), row_finder(indices_type), unit <= _VECTOR and not in_two
    copy_unit, copy_unit_or_zero = unit_functions(part)
    # long rows are prefetched into L2: L1 has buffers for only a few lines in flight
    fetch = bounded_fetch(2**bits, L1_CACHE if bits <= 4 else L2_CACHE)
    by_blocks, Stored, Rows = is_one and unit <= _SHORT, vector(indices_type, _BLOCK), vector(DataType.kUInt64, _BLOCK)
    parts = tuple((behind, skip) for behind in range(1 + in_two) for skip in range(0, unit, part))

    @inlined
    def move_one(out: int, i: int, params: int, row: int, valid: bool, width: int) -> None:
        copy_unit_or_zero(out, i, params, row, valid)

    @inlined
    def move_parts(out: int, i: int, params: int, row: int, valid: bool, width: int) -> None:
        dst, src = out + i * width, params + row * width
        if valid:
            for behind, skip in unrolled(parts):  # two units may overlap
                place = width - unit + skip if behind else skip
                copy_unit(dst + place, 0, src + place, 0)
        else:
            for behind, skip in unrolled(parts):
                place = width - unit + skip if behind else skip
                copy_unit_or_zero(dst + place, 0, src + place, 0, False)

    move = move_one if is_one else move_parts

    def move_rows(
        context: GatherContext, params: int, indices: int, out: int, count: int, width: int, later: int
    ) -> None:
        low, num_valid, first_row, i = context.low, context.num_valid, context.first_row, 0
        size = width if in_two else unit
        fetching = _num_fetching(context, count, later, _AHEAD)
        while i < fetching:
            fetched, _ = find(indices, i + _AHEAD, low, num_valid, first_row)
            fetch(params + fetched * size, size)
            row, valid = find(indices, i, low, num_valid, first_row)
            move(out, i, params, row, valid, width)
            i += 1
        if by_blocks:
            last = i + ((count - i) & -_BLOCK)
            while i < last:
                if any_lane(convert(Rows, load(Stored, indices, i)) - low >= num_valid):
                    for k in range(_BLOCK):
                        row, valid = find(indices, i + k, low, num_valid, first_row)
                        move(out, i + k, params, row, valid, width)
                else:
                    for k in range(_BLOCK):
                        row, _ = find(indices, i + k, low, num_valid, first_row)
                        copy_unit(out, i + k, params, row)
                i += _BLOCK
        while i < count:
            row, valid = find(indices, i, low, num_valid, first_row)
            move(out, i, params, row, valid, width)
            i += 1

    return move_rows


def _mover_of_bytes(indices_type: DataType, of_class: int) -> Callable[..., None]:
    """Return the task that moves rows of any size, or parts of them."""
    find = row_finder(indices_type)

    def move_rows(
        context: GatherContext, params: int, indices: int, out: int, count: int, width: int, later: int
    ) -> None:
        low, num_valid, first_row, size = context.low, context.num_valid, context.first_row, context.row_bytes
        ahead = min(_AHEAD, _AHEAD_BYTES // size)
        fetching = _num_fetching(context, count, later, ahead) if size <= _LONGEST_FETCHED else 0
        streamed = size >= LEAST_STREAMED_ROW and context.streamed != 0  # the walk streams shorter rows
        for i in range(count):
            if i < fetching:
                fetched, _ = find(indices, i + ahead, low, num_valid, first_row)
                fetch_second(params + fetched * size, size)
            row, valid = find(indices, i, low, num_valid, first_row)
            dst, src = out + i * size, params + row * size
            if not valid:
                set_bytes(dst, width, 0)
            elif streamed:
                stream_row(dst, src, width)
            else:
                copy_bytes(dst, src, width)

    return move_rows
