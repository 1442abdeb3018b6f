"""Strips of columns: all rows of a block by the columns of one tile."""

from __future__ import annotations

from typing import Any, Final

from ep.cpu.compile.jit import jit, separate
from ep.cpu.engine.product.shape import VECTORS, rows_of, tile_shape
from ep.cpu.engine.product.tile import SLOW, tile_multiplier
from ep.include.data_type import DataType

SUMMED: Final = 128
"""The most products that are added up one after the other: sums lose fewer digits."""
_LINE: Final = 64  # bytes


def strip_multiplier(arithmetic: DataType, lanes: int, *, paired: bool = False) -> Any:
    """Return a function that multiplies a strip of columns, for all rows; see `tile_multiplier` for its arguments.

    It has no argument slow. a_step is 0 if a is packed, in tiles of `tile_shape().rows` rows; then b is packed too if
    there are fewer than `VECTORS` vectors of columns. later: the rows of b that the tiles together prefetch; 0 if each
    tile is to prefetch the rows of a of the next one, which are contiguous.
    """
    one, two, three = (_tiles(arithmetic, vectors, lanes, paired) for vectors in (1, 2, 3))

    @separate
    def multiply(k, a, a_row, a_step, b, b_step, c, c_step, num_rows, num_columns, alpha, adds, later, later_step):
        if num_columns > 2 * lanes:
            three(k, a, a_row, a_step, b, b_step, c, c_step, num_rows, num_columns, alpha, adds, later, later_step)
        elif num_columns > lanes:
            two(k, a, a_row, a_step, b, b_step, c, c_step, num_rows, num_columns, alpha, adds, later, later_step)
        else:
            one(k, a, a_row, a_step, b, b_step, c, c_step, num_rows, num_columns, alpha, adds, later, later_step)

    return multiply


def low_strip_multiplier(arithmetic: DataType, lanes: int) -> Any:
    """Return the same for at most half of the rows of a tile, twice its columns, and operands in place.

    Strips of few rows are bound by reading b, and every row of b is read in longer runs.
    """
    size = arithmetic.itemsize
    multiply_tile = tile_multiplier(arithmetic, tile_shape().rows // 2, 2 * VECTORS, lanes)

    @jit
    def multiply(k, a, a_row, a_step, b, b_step, c, c_step, num_rows, num_columns, alpha, adds, later, later_step):
        for first in range(0, k, SUMMED):
            length, adds_now = min(SUMMED, k - first), adds | (first > 0)
            from_a, from_b, fetched = a + first * a_step * size, b + first * b_step * size, later + first * later_step
            multiply_tile(
                *(length, from_a, a_row, a_step, from_b, b_step, c, c_step),
                *(num_rows, num_columns, alpha, adds_now, fetched, later_step, 0),
            )

    return multiply


def _tiles(arithmetic: DataType, vectors: int, lanes: int, paired: bool) -> Any:
    """Return the function of `strip_multiplier` for strips of `vectors` vectors."""
    size, packed_rows, rows, width = arithmetic.itemsize, tile_shape().rows, rows_of(vectors), VECTORS * lanes
    few, summed = rows // 2, SUMMED // 2 if paired else SUMMED
    tile, low_tile = (tile_multiplier(arithmetic, count, vectors, lanes, paired=paired) for count in (rows, few))
    packed_tile = tile_multiplier(arithmetic, packed_rows, vectors, lanes, packed=width, paired=paired)

    @separate
    def multiply(k, a, a_row, a_step, b, b_step, c, c_step, num_rows, num_columns, alpha, adds, later, later_step):
        apart, step = (a_row, a_step) if a_step else (k, packed_rows)
        packed, slow, later_tile = a_step == 0 and b_step == width, 0, _LINE
        while num_rows >> slow > rows:
            slow += 1
        if later == 0:
            later_tile = rows * apart * size
            later, later_step = a + later_tile, later_tile // min(k, summed)
        for first in range(0, k, summed):  # a piece of b stays in L1 for all tiles
            length, adds_now = min(summed, k - first), adds | (first > 0)
            from_b, fetched = b + first * b_step * size, later + first * later_step
            row, from_a, to_c = 0, a + first * step * size, c
            while packed and num_rows - row >= packed_rows:
                packed_tile(
                    *(length, from_a, 1, packed_rows, from_b, width, to_c, c_step),
                    *(packed_rows, num_columns, alpha, adds_now, 0, 0, 0),
                )
                row += packed_rows
                from_a, to_c = from_a + packed_rows * k * size, to_c + packed_rows * c_step * size
            while num_rows - row > few:
                tile(
                    *(length, from_a, a_row, step, from_b, b_step, to_c, c_step),
                    *(num_rows - row, num_columns, alpha, adds_now, fetched, later_step, slow),
                )
                row += rows
                from_a, to_c = from_a + rows * apart * size, to_c + rows * c_step * size
                fetched += (length >> slow) * later_step if slow < SLOW else later_tile
            if row < num_rows:
                low_tile(
                    *(length, from_a, a_row, step, from_b, b_step, to_c, c_step),
                    *(num_rows - row, num_columns, alpha, adds_now, fetched, later_step, slow),
                )

    return multiply
