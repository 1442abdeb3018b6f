"""Gather and BatchGather: one task for each index type, and the entry that they share.

Data moves by size, so that one task serves all data types. A row of up to 128 bytes is one or two units of 1 to 64
bytes: the loop has so few instructions that the processor works on many rows at once, waiting for the memory of all.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numba.core import types

from ep.common.primitive.gather_view import MAX_OFFSET
from ep.cpu.kernels.compiler import compile_entry, compile_task
from ep.cpu.kernels.integers import multiply_sizes
from ep.cpu.kernels.jit import jit
from ep.cpu.kernels.memory import copy_bytes, load_word, loader, stack_words, store_word, unit_functions, zero_bytes
from ep.cpu.kernels.ndarray import READABLE, WRITABLE, array_data, index_integer, object_address, word
from ep.cpu.kernels.parallel import run
from ep.cpu.kernels.rows import copy_row, prefetch
from ep.cpu.kernels.vector_math.inlined import inlined
from ep.cpu.launch_state import GRAIN_BYTES, NDARRAY_TYPE, OPERANDS, TASK, TASK_ARGUMENT
from ep.include.data_type import DataType

# words of the task's context
_PARAMS, _INDICES, _OUT = 0, 1, 2
_OUTER, _GATHER, _ROW_BYTES, _NUM_INDICES, _INDEX_SIZE = 3, 4, 5, 6, 7
_LOW, _NUM_VALID = 8, 9  # the valid indices are [low, low + num_valid)
_FIRST_ROW = 10  # the row that index `low` names
_PIECES = 11  # into how many pieces a row is cut; the task's range counts pieces
_AHEAD = 12  # how many rows before it is copied a row is fetched into the cache; 0 for not at all
_NUM_WORDS = 13


_CACHE_LINE = 64
_INDEX_COST = 40  # what an index costs, in bytes that could be moved meanwhile: 0.3 ns
_CACHED = 2**24  # bytes of params that the last cache holds: what is in it comes soon enough

_UNITS = (1, 2, 4, 8, 16, 32, 64)


def _move_unit(unit: int) -> Any:
    """Rows of `unit` bytes."""
    copy_unit_or_zero = unit_functions(unit)[1]

    @inlined
    def move(out, i, params, row, valid, size):  # type: ignore[no-untyped-def]
        copy_unit_or_zero(out, i, params, row, valid)

    return move


def _move_two_units(unit: int) -> Any:
    """Rows of `unit` to `2 * unit` bytes: two units, which may overlap."""
    copy_unit_or_zero = unit_functions(unit)[1]

    @inlined
    def move(out, i, params, row, valid, size):  # type: ignore[no-untyped-def]
        dst, src = out + i * size, params + (row if valid else 0) * size
        copy_unit_or_zero(dst, 0, src, 0, valid)
        copy_unit_or_zero(dst + size - unit, 0, src + size - unit, 0, valid)

    return move


@inlined
def _move_bytes(out, i, params, row, valid, size):  # type: ignore[no-untyped-def]
    if valid:
        copy_row(out + i * size, params + row * size, size)
    else:
        zero_bytes(out + i * size, size)


def task(indices_type: DataType) -> int:
    """The address of the task (context, begin, end) that gathers pieces of rows of `out`, by indices of one type."""
    return _task(indices_type)


@cache
def _task(indices_type: DataType) -> int:
    load = loader(indices_type)

    @jit
    def find(indices, i, low, num_valid, first_row):  # type: ignore[no-untyped-def]
        """The row that index `i` names, and whether there is one; one unsigned comparison tests both ends."""
        row = np.uint64(load(indices, i)) - np.uint64(low)
        return np.int64(row) + first_row, row < np.uint64(num_valid)

    def rows_by(move):  # type: ignore[no-untyped-def]
        @jit
        def move_rows(params, indices, first, out, count, size, low, num_valid, first_row, ahead):  # type: ignore[no-untyped-def]
            for i in range(count):
                if ahead != 0 and i + ahead < count:
                    row, _ = find(indices, first + i + ahead, low, num_valid, first_row)
                    for part in range(0, size, _CACHE_LINE):
                        prefetch(params + row * size + part)
                row, valid = find(indices, first + i, low, num_valid, first_row)
                move(out, i, params, row, valid, size)

        return move_rows

    unit_1, unit_2, unit_4, unit_8, unit_16, unit_32, unit_64 = (rows_by(_move_unit(size)) for size in _UNITS)
    two_2, two_4, two_8, two_16, two_32, two_64 = (rows_by(_move_two_units(size)) for size in _UNITS[1:])
    any_size = rows_by(_move_bytes)

    @jit
    def move_rows(params, indices, first, out, count, size, low, num_valid, first_row, ahead):  # type: ignore[no-untyped-def]
        if size == 4:
            unit_4(params, indices, first, out, count, size, low, num_valid, first_row, ahead)
        elif size == 8:
            unit_8(params, indices, first, out, count, size, low, num_valid, first_row, ahead)
        elif size == 2:
            unit_2(params, indices, first, out, count, size, low, num_valid, first_row, ahead)
        elif size == 1:
            unit_1(params, indices, first, out, count, size, low, num_valid, first_row, ahead)
        elif size == 16:
            unit_16(params, indices, first, out, count, size, low, num_valid, first_row, ahead)
        elif size == 32:
            unit_32(params, indices, first, out, count, size, low, num_valid, first_row, ahead)
        elif size == 64:
            unit_64(params, indices, first, out, count, size, low, num_valid, first_row, ahead)
        elif size > 128:
            any_size(params, indices, first, out, count, size, low, num_valid, first_row, ahead)
        elif size > 64:
            two_64(params, indices, first, out, count, size, low, num_valid, first_row, ahead)
        elif size > 32:
            two_32(params, indices, first, out, count, size, low, num_valid, first_row, ahead)
        elif size > 16:
            two_16(params, indices, first, out, count, size, low, num_valid, first_row, ahead)
        elif size > 8:
            two_8(params, indices, first, out, count, size, low, num_valid, first_row, ahead)
        elif size > 4:
            two_4(params, indices, first, out, count, size, low, num_valid, first_row, ahead)
        else:
            two_2(params, indices, first, out, count, size, low, num_valid, first_row, ahead)

    @jit
    def whole_rows(context, begin, end, size):  # type: ignore[no-untyped-def]
        low, num_valid = load_word(context, _LOW), load_word(context, _NUM_VALID)
        first_row, ahead = load_word(context, _FIRST_ROW), load_word(context, _AHEAD)
        num_indices, outer = load_word(context, _NUM_INDICES), load_word(context, _OUTER)
        params_bytes = load_word(context, _GATHER) * size
        indices_bytes = num_indices * load_word(context, _INDEX_SIZE)
        group, first = begin // num_indices, begin % num_indices
        batch, group_of_batch = group // outer, group % outer
        params = load_word(context, _PARAMS) + group * params_bytes
        indices = load_word(context, _INDICES) + batch * indices_bytes
        out = load_word(context, _OUT) + begin * size
        while begin < end:
            count = min(num_indices - first, end - begin)
            move_rows(params, indices, first, out, count, size, low, num_valid, first_row, ahead)
            begin += count
            first = 0
            out += count * size
            params += params_bytes
            group_of_batch += 1
            if group_of_batch == outer:
                group_of_batch = 0
                indices += indices_bytes

    @jit
    def parts_of_rows(context, begin, end, size):  # type: ignore[no-untyped-def]
        pieces = load_word(context, _PIECES)
        part = (size + pieces - 1) // pieces
        num_indices = load_word(context, _NUM_INDICES)
        while begin < end:
            row_of_out, piece = begin // pieces, begin % pieces
            stop = min(piece + end - begin, pieces)
            group = row_of_out // num_indices
            batch = group // load_word(context, _OUTER)
            index = batch * num_indices + row_of_out % num_indices
            low, num_valid = load_word(context, _LOW), load_word(context, _NUM_VALID)
            row, valid = find(load_word(context, _INDICES), index, low, num_valid, load_word(context, _FIRST_ROW))
            first, count = min(piece * part, size), min(stop * part, size) - min(piece * part, size)
            params = load_word(context, _PARAMS) + (group * load_word(context, _GATHER) + row) * size
            out = load_word(context, _OUT) + row_of_out * size
            if valid:
                copy_bytes(out + first, params + first, count)
            else:
                zero_bytes(out + first, count)
            begin += stop - piece

    def gather(context, begin, end):  # type: ignore[no-untyped-def]
        size = load_word(context, _ROW_BYTES)
        if load_word(context, _PIECES) > 1:
            parts_of_rows(context, begin, end, size)
        else:
            whole_rows(context, begin, end, size)

    return compile_task(f"gather.{indices_type.name}", gather)


@jit
def _rows_ahead(row_bytes, params_bytes):  # type: ignore[no-untyped-def]
    """How many rows before it is copied a row is fetched into the cache; 0 where the processor does as well alone."""
    if params_bytes <= _CACHED or 16 < row_bytes <= 64 or row_bytes > 4096:
        return 0
    return 64 if row_bytes <= 16 else 16


def _entry(state_, batch_, outer_, gather_, inner_, params_, num_indices_, indices_, out_, offset_):  # type: ignore[no-untyped-def]
    state, batch, outer, gather, inner = state_, word(batch_), word(outer_), word(gather_), word(inner_)
    num_indices, offset = word(num_indices_), word(offset_)
    if batch <= 0 or outer <= 0 or gather <= 0 or inner <= 0 or num_indices <= 0:
        return 1
    groups = multiply_sizes(batch, outer)
    rows = multiply_sizes(groups, num_indices)
    data_size, index_size = load_word(state, OPERANDS + 1), load_word(state, OPERANDS + 3)
    row_bytes = multiply_sizes(inner, data_size)
    params_count, out_count = multiply_sizes(multiply_sizes(groups, gather), inner), multiply_sizes(rows, inner)
    indices_count = multiply_sizes(batch, num_indices)
    ndarray_type = load_word(state, NDARRAY_TYPE)
    params = array_data(word(params_), ndarray_type, load_word(state, OPERANDS), params_count, READABLE)
    indices = array_data(word(indices_), ndarray_type, load_word(state, OPERANDS + 2), indices_count, READABLE)
    out = array_data(word(out_), ndarray_type, load_word(state, OPERANDS + 4), out_count, WRITABLE)
    if params == 0 or indices == 0 or out == 0:
        return 1
    # the counts are below the sizes of arrays, so that nothing overflows from here on
    out_end = out + out_count * data_size
    if out < params + params_count * data_size and params < out_end:
        return 1
    if out < indices + indices_count * index_size and indices < out_end:
        return 1
    if not -MAX_OFFSET <= offset <= MAX_OFFSET:
        return 1
    low = max(offset, 0) if load_word(state, TASK_ARGUMENT) != 0 else offset
    context = stack_words(_NUM_WORDS)
    store_word(context, _PARAMS, params)
    store_word(context, _INDICES, indices)
    store_word(context, _OUT, out)
    store_word(context, _OUTER, outer)
    store_word(context, _GATHER, gather)
    store_word(context, _ROW_BYTES, row_bytes)
    store_word(context, _NUM_INDICES, num_indices)
    store_word(context, _INDEX_SIZE, index_size)
    store_word(context, _LOW, low)
    store_word(context, _NUM_VALID, max(gather - (low - offset), 0))
    store_word(context, _FIRST_ROW, low - offset)
    store_word(context, _AHEAD, _rows_ahead(row_bytes, params_count * data_size))
    # rows that are worth a second thread; a row that alone is worth several is cut into pieces
    row_cost = 2 * row_bytes + _INDEX_COST
    pieces = max(row_cost // GRAIN_BYTES, 1)
    store_word(context, _PIECES, pieces)
    run(state, load_word(state, TASK), context, rows * pieces, max(GRAIN_BYTES * pieces // row_cost, 1))
    return 0


@cache
def entry() -> Callable[..., int]:
    """The entry (state, batch, outer, gather, inner, params, num_indices, indices, out, offset).

    The state's task is that of the index type; the task's argument is 1 where that type is unsigned.
    """
    size, buffer = index_integer, object_address
    arguments: tuple[Any, ...] = (types.int64, size, size, size, size, buffer, size, buffer, buffer, size)
    return compile_entry("gather", _entry, arguments)
