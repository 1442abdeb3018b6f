"""How Gather finds the rows that indices name, and moves them.

Data moves by size, so that one task serves all data types. A row of up to 128 bytes is one or two units of 1 to 64
bytes: the loop has so few instructions that the processor works on many rows at once, waiting for the memory of all.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from ep.cpu.kernels.jit import jit
from ep.cpu.kernels.memory import loader, unit_functions, zero_bytes
from ep.cpu.kernels.rows import copy_row, prefetch
from ep.cpu.kernels.vector_math.inlined import inlined
from ep.include.data_type import DataType

_CACHE_LINE = 64
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


@cache
def row_finder(indices_type: DataType) -> Any:
    """A function find(indices, i, low, num_valid, first_row): the row of index `i`, and whether there is one."""
    load = loader(indices_type)

    @jit
    def find(indices, i, low, num_valid, first_row):  # type: ignore[no-untyped-def]
        # one unsigned comparison tests both ends
        row = np.uint64(load(indices, i)) - np.uint64(low)
        return np.int64(row) + first_row, row < np.uint64(num_valid)

    return find


@cache
def row_mover(indices_type: DataType) -> Any:
    """A function that writes the rows of `size` bytes that indices [first, first + count) name to `out`.

    ahead: how many rows before it is copied a row is fetched into the cache; 0 for not at all.
    """
    find = row_finder(indices_type)

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

    return move_rows
