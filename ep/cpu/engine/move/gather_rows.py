"""The movers of Gather: each looks up the rows for indices of one type, and moves rows of one size class.

Data is moved by size, so a mover serves all data types. A row of up to 128 bytes is one or two units of 1 to 64 bytes:
the loop has so few instructions that the processor overlaps the memory accesses of many rows.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import types

from ep.common.native.emitted import emitted
from ep.common.native.words import load_word
from ep.cpu.compile.compiler import compile_task
from ep.cpu.compile.jit import jit
from ep.cpu.compile.memory import loader, set_bytes, unit_functions
from ep.cpu.compile.vectors import WORD, load, splat, stored_bits
from ep.cpu.engine.move.gather_walk import GATHER
from ep.cpu.engine.move.size_class import ANY_SIZE, size_class
from ep.cpu.lines.inline_copy import copy_bytes, prefetch, prefetch_second
from ep.cpu.lines.streaming import stream_line_or_zero, stream_row
from ep.cpu.vector_math.inlined import inlined
from ep.include.data_type import DataType

_CACHE_LINE = 64
_AHEAD = 64  # prefetch distance, in rows
_AHEAD_BYTES = 2**15  # the most bytes that are prefetched ahead: a part of L2
_SHORT = 16  # the most bytes of a row for which indices are checked in blocks
_BLOCK = 16  # rows
_CACHED = 2**24  # the most bytes of params that stay in the last-level cache, and need no prefetch
_LONGEST_FETCHED = 4096  # the most bytes of a row that are prefetched: the processor fetches the rest itself


@cache
def mover(indices_type: DataType, of_class: int) -> int:
    """Return the address of a task (context, params, indices, out, count, width) that moves `count` rows to `out`.

    context: that of the walk. width: the number of bytes of a row to move; less than the row only if rows are cut.
    """
    find = row_finder(indices_type)
    if of_class == ANY_SIZE:
        move_rows = _move_bytes(find)
    elif of_class == size_class(_CACHE_LINE):
        move_rows = _move_lines(indices_type, find)
    else:
        move_rows = _move_units(indices_type, find, of_class)
    return compile_task(f"gather.{indices_type.name}.{of_class}", move_rows, 6)


@cache
def row_finder(indices_type: DataType) -> Any:
    """Return a function find(indices, i, low, num_valid, first_row): the row of index `i`, and whether it is valid."""
    load = loader(indices_type)

    @jit
    def find(indices, i, low, num_valid, first_row):
        # one unsigned comparison tests both ends
        row = np.uint64(load(indices, i)) - np.uint64(low)
        return np.int64(row) + first_row, row < np.uint64(num_valid)

    return find


@cache
def _checker(indices_type: DataType) -> Any:
    """Return a function all_valid(indices, begin, low, num_valid): whether the block of indices at `begin` is valid."""

    @emitted(types.boolean)
    def all_valid(builder: Any, indices: Any, begin: Any, low: Any, num_valid: Any) -> Any:
        values = load(builder, indices, stored_bits(indices_type, _BLOCK), begin)
        if indices_type.itemsize < 8:
            extend = builder.zext if indices_type.dtype.kind == "u" else builder.sext
            values = extend(values, ir.VectorType(WORD, _BLOCK))
        rows = builder.sub(values, splat(builder, low, _BLOCK))
        valid = builder.icmp_unsigned("<", rows, splat(builder, num_valid, _BLOCK))
        return builder.icmp_signed("==", builder.bitcast(valid, ir.IntType(_BLOCK)), ir.IntType(_BLOCK)(-1))

    return all_valid


def _move_units(indices_type: DataType, find: Any, of_class: int) -> Callable[..., None]:
    """Return the mover of rows of up to 128 bytes, each in one or two units."""
    bits, in_two = (of_class + 1) // 2, of_class % 2
    unit = 2 ** (bits - in_two)
    if unit <= _SHORT and not in_two:
        return _move_blocks(find, _checker(indices_type), unit)
    move = _two_units(unit) if in_two else _one_unit(unit)
    # long rows are prefetched into L2: L1 has buffers for only a few lines in flight
    fetch = prefetch if bits <= 4 else prefetch_second
    ahead = 0 if bits == 5 else _AHEAD

    def move_rows(context, params, indices, out, count, width):
        low, num_valid = load_word(context, GATHER.low), load_word(context, GATHER.num_valid)
        first_row, fetched = load_word(context, GATHER.first_row), 0
        if ahead and count > ahead and load_word(context, GATHER.params_bytes) > _CACHED:
            fetched = count - ahead
        for i in range(fetched):
            row, _ = find(indices, i + ahead, low, num_valid, first_row)
            for part in range(0, 2**bits, _CACHE_LINE):
                fetch(params + row * width + part)
            row, valid = find(indices, i, low, num_valid, first_row)
            move(out, i, params, row, valid, width)
        for i in range(fetched, count):
            row, valid = find(indices, i, low, num_valid, first_row)
            move(out, i, params, row, valid, width)

    return move_rows


def _move_blocks(find: Any, all_valid: Any, unit: int) -> Callable[..., None]:
    """Return the mover of rows of one short unit, in blocks whose indices are checked first, several at a time."""
    copy_unit, copy_unit_or_zero = unit_functions(unit)

    def move_rows(context, params, indices, out, count, width):
        low, num_valid = load_word(context, GATHER.low), load_word(context, GATHER.num_valid)
        first_row, fetched = load_word(context, GATHER.first_row), 0
        if count > _AHEAD and load_word(context, GATHER.params_bytes) > _CACHED:
            fetched = count - _AHEAD
        for i in range(fetched):  # not in blocks: prefetches are spread evenly
            row, _ = find(indices, i + _AHEAD, low, num_valid, first_row)
            prefetch(params + row * unit)
            row, valid = find(indices, i, low, num_valid, first_row)
            copy_unit_or_zero(out, i, params, row, valid)
        begin, end = fetched, fetched + ((count - fetched) & -_BLOCK)
        while begin < end:
            stop = begin + _BLOCK
            if all_valid(indices, begin, low, num_valid):
                for i in range(begin, stop):
                    row, _ = find(indices, i, low, num_valid, first_row)
                    copy_unit(out, i, params, row)
            else:
                for i in range(begin, stop):
                    row, valid = find(indices, i, low, num_valid, first_row)
                    copy_unit_or_zero(out, i, params, row, valid)
            begin = stop
        for i in range(end, count):
            row, valid = find(indices, i, low, num_valid, first_row)
            copy_unit_or_zero(out, i, params, row, valid)

    return move_rows


def _move_lines(indices_type: DataType, find: Any) -> Callable[..., None]:
    """Return the mover of rows of the size of a cache line."""
    copy_lines = jit(_move_units(indices_type, find, size_class(_CACHE_LINE)))

    def move_rows(context, params, indices, out, count, width):
        if load_word(context, GATHER.streamed) == 0 or out & (_CACHE_LINE - 1) != 0:
            copy_lines(context, params, indices, out, count, width)
            return
        low, num_valid = load_word(context, GATHER.low), load_word(context, GATHER.num_valid)
        first_row = load_word(context, GATHER.first_row)
        for i in range(count):
            row, _ = find(indices, min(i + _AHEAD, count - 1), low, num_valid, first_row)
            prefetch_second(params + row * _CACHE_LINE)
            row, valid = find(indices, i, low, num_valid, first_row)
            stream_line_or_zero(out, i, params, row, valid)

    return move_rows


def _one_unit(unit: int) -> Any:
    """Return a function that moves a row of `unit` bytes."""
    copy_unit_or_zero = unit_functions(unit)[1]

    @inlined
    def move(out, i, params, row, valid, size):
        copy_unit_or_zero(out, i, params, row, valid)

    return move


def _two_units(unit: int) -> Any:
    """Return a function that moves a row of `unit` to `2 * unit` bytes as two units, which may overlap."""
    copy_unit_or_zero = unit_functions(unit)[1]

    @inlined
    def move(out, i, params, row, valid, size):
        dst, src = out + i * size, params + (row if valid else 0) * size
        copy_unit_or_zero(dst, 0, src, 0, valid)
        copy_unit_or_zero(dst + size - unit, 0, src + size - unit, 0, valid)

    return move


def _move_bytes(find: Any) -> Callable[..., None]:
    """Return the mover of rows of any size, or of parts of them."""

    def move_rows(context, params, indices, out, count, width):
        low, num_valid = load_word(context, GATHER.low), load_word(context, GATHER.num_valid)
        first_row, size, fetched = load_word(context, GATHER.first_row), load_word(context, GATHER.row_bytes), 0
        ahead = min(_AHEAD, _AHEAD_BYTES // size)
        streamed = load_word(context, GATHER.streamed) != 0
        if load_word(context, GATHER.params_bytes) > _CACHED and size <= _LONGEST_FETCHED:
            fetched = count - ahead
        for i in range(count):
            if i < fetched:
                row, _ = find(indices, i + ahead, low, num_valid, first_row)
                for part in range(0, size, _CACHE_LINE):
                    prefetch_second(params + row * size + part)
            row, valid = find(indices, i, low, num_valid, first_row)
            if not valid:
                set_bytes(out + i * size, width, 0)
            elif streamed:
                stream_row(out + i * size, params + row * size, width)
            else:
                copy_bytes(out + i * size, params + row * size, width)

    return move_rows
