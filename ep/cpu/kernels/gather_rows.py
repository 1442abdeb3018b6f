"""The movers of Gather: each finds the rows that indices of one type name, and moves rows of one class of sizes.

Data moves by size, so that a mover serves all data types. A row of up to 128 bytes is one or two units of 1 to 64
bytes: the loop has so few instructions that the processor works on many rows at once, waiting for the memory of all.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from ep.cpu.kernels.compiler import compile_task
from ep.cpu.kernels.gather_walk import FIRST_ROW, LOW, NUM_VALID, PARAMS_BYTES, ROW_BYTES
from ep.cpu.kernels.jit import jit
from ep.cpu.kernels.memory import load_word, loader, unit_functions, zero_bytes
from ep.cpu.kernels.rows import copy_row, prefetch
from ep.cpu.kernels.vector_math.inlined import inlined
from ep.cpu.row_class import ANY_SIZE
from ep.include.data_type import DataType

_CACHE_LINE = 64
_AHEAD, _AHEAD_LONG = 64, 16  # how many rows before it is moved a row is fetched: of up to 16 bytes, of more than 64
_CACHED = 2**24  # bytes of params that the last cache holds: what is in it comes soon enough
_LONGEST_FETCHED = 4096  # bytes of a row: the processor itself fetches what is left of a longer one


@cache
def mover(indices_type: DataType, of_class: int) -> int:
    """The address of a task (context, params, indices, out, count, width): `count` rows of a class to `out`.

    context: that of the walk. width: how many bytes of a row to move, all of them but where rows are cut.
    """
    find = _row_finder(indices_type)
    move_rows = _move_bytes(find) if of_class == ANY_SIZE else _move_units(find, of_class)
    return compile_task(f"gather.{indices_type.name}.{of_class}", move_rows, 6)


@cache
def _row_finder(indices_type: DataType) -> Any:
    """A function find(indices, i, low, num_valid, first_row): the row of index `i`, and whether there is one."""
    load = loader(indices_type)

    @jit
    def find(indices, i, low, num_valid, first_row):  # type: ignore[no-untyped-def]
        # one unsigned comparison tests both ends
        row = np.uint64(load(indices, i)) - np.uint64(low)
        return np.int64(row) + first_row, row < np.uint64(num_valid)

    return find


def _move_units(find: Any, of_class: int) -> Callable[..., None]:
    """Rows of up to 128 bytes, each in one or two units."""
    bits, in_two = (of_class + 1) // 2, of_class % 2
    unit = 2 ** (bits - in_two)
    move = _two_units(unit) if in_two else _one_unit(unit)
    ahead = _AHEAD if bits <= 4 else _AHEAD_LONG if bits == 7 else 0

    def move_rows(context, params, indices, out, count, width):  # type: ignore[no-untyped-def]
        low, num_valid = load_word(context, LOW), load_word(context, NUM_VALID)
        first_row, fetched = load_word(context, FIRST_ROW), 0
        if ahead and count > ahead and load_word(context, PARAMS_BYTES) > _CACHED:
            fetched = count - ahead
        for i in range(fetched):
            row, _ = find(indices, i + ahead, low, num_valid, first_row)
            for part in range(0, 2 * unit, _CACHE_LINE):
                prefetch(params + row * width + part)
            row, valid = find(indices, i, low, num_valid, first_row)
            move(out, i, params, row, valid, width)
        for i in range(fetched, count):
            row, valid = find(indices, i, low, num_valid, first_row)
            move(out, i, params, row, valid, width)

    return move_rows


def _one_unit(unit: int) -> Any:
    """Rows of `unit` bytes."""
    copy_unit_or_zero = unit_functions(unit)[1]

    @inlined
    def move(out, i, params, row, valid, size):  # type: ignore[no-untyped-def]
        copy_unit_or_zero(out, i, params, row, valid)

    return move


def _two_units(unit: int) -> Any:
    """Rows of `unit` to `2 * unit` bytes: two units, which may overlap."""
    copy_unit_or_zero = unit_functions(unit)[1]

    @inlined
    def move(out, i, params, row, valid, size):  # type: ignore[no-untyped-def]
        dst, src = out + i * size, params + (row if valid else 0) * size
        copy_unit_or_zero(dst, 0, src, 0, valid)
        copy_unit_or_zero(dst + size - unit, 0, src + size - unit, 0, valid)

    return move


def _move_bytes(find: Any) -> Callable[..., None]:
    """Rows of any size, or parts of them."""

    def move_rows(context, params, indices, out, count, width):  # type: ignore[no-untyped-def]
        low, num_valid = load_word(context, LOW), load_word(context, NUM_VALID)
        first_row, size, fetched = load_word(context, FIRST_ROW), load_word(context, ROW_BYTES), 0
        if load_word(context, PARAMS_BYTES) > _CACHED and size <= _LONGEST_FETCHED:
            fetched = count - _AHEAD_LONG
        for i in range(count):
            if i < fetched:
                row, _ = find(indices, i + _AHEAD_LONG, low, num_valid, first_row)
                for part in range(0, size, _CACHE_LINE):
                    prefetch(params + row * size + part)
            row, valid = find(indices, i, low, num_valid, first_row)
            if valid:
                copy_row(out + i * size, params + row * size, width)
            else:
                zero_bytes(out + i * size, width)

    return move_rows
