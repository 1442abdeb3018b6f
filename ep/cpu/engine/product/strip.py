"""Strips of columns: all rows of a block by the columns of one tile."""

from __future__ import annotations

from functools import cache
from typing import Final

from ep.common.native.fields import Int64
from ep.cpu.compile.compiler import compile_task
from ep.cpu.compile.jit import jit
from ep.cpu.compile.memory import loader
from ep.cpu.engine.product.parts import low_columns
from ep.cpu.engine.product.shape import VECTORS, lanes_of, rows_of, tile_shape
from ep.cpu.engine.product.tile import SLOW, tile_multiplier
from ep.include.data_type import DataType

SUMMED: Final = 128
"""The most products that are added up one after the other: sums lose fewer digits."""
_LINE: Final = 64  # bytes
_NUM_WORDS: Final = 14


@jit
def strip_for(strips: Int64, columns: int, lanes: int) -> int:
    """Return the address of the task for a strip of so many columns. strips: that of the addresses, by vectors."""
    return strips[2 if columns > 2 * lanes else 1 if columns > lanes else 0]


@cache
def strip_task(arithmetic: DataType, vectors: int, *, paired: bool = False) -> int:
    """Return the address of the task that multiplies a strip of `vectors` vectors of columns, for all rows.

    Its arguments are (k, a, a_row, a_step, b, b_step, c, c_step, num_rows, num_columns, alpha, adds, later,
    later_step): those of `tile_multiplier`, but alpha is the address of the number. a_step is 0 if a is packed, in
    tiles of `tile_shape().rows` rows; then b is packed too if there are fewer than `VECTORS` vectors. later: the rows
    of b that the tiles together prefetch; 0 if each tile is to prefetch the rows of a of the next one, which are
    contiguous.
    """
    lanes, load = lanes_of(arithmetic), loader(arithmetic)
    size, packed_rows, rows, width = arithmetic.itemsize, tile_shape().rows, rows_of(vectors), VECTORS * lanes
    few, summed = rows // 2, SUMMED // 2 if paired else SUMMED
    tile, low_tile = (tile_multiplier(arithmetic, count, vectors, lanes, paired=paired) for count in (rows, few))
    packed_tile = tile_multiplier(arithmetic, packed_rows, vectors, lanes, packed=width, paired=paired)

    def multiply(
        k: int, a: int, a_row: int, a_step: int, b: int, b_step: int, c: int, c_step: int, num_rows: int,
        num_columns: int, alpha: int, adds: int, later: int, later_step: int,
    ) -> None:  # fmt: skip
        factor = load(alpha, 0)
        apart, step = (a_row, a_step) if a_step else (k, packed_rows)
        packed, slow, later_tile = a_step == 0 and b_step == width, 0, _LINE
        while num_rows >> slow > rows:
            slow += 1
        if later == 0:
            later_tile = rows * apart * size
            later, later_step = a + later_tile, later_tile // min(k, summed)
        elif slow >= SLOW and num_rows <= width * size // _LINE * rows:
            later += _LINE - 1  # too few tiles for all lines of a row: the first line is the last of the strip before
        for first in range(0, k, summed):  # a piece of b stays in L1 for all tiles
            length, adds_now = min(summed, k - first), adds | (first > 0)
            from_b, fetched = b + first * b_step * size, later + first * later_step
            row, from_a, to_c = 0, a + first * step * size, c
            while packed and num_rows - row >= packed_rows:
                packed_tile(
                    *(length, from_a, 1, packed_rows, from_b, width, to_c, c_step),
                    *(packed_rows, num_columns, factor, adds_now, 0, 0, 0),
                )
                row += packed_rows
                from_a, to_c = from_a + packed_rows * k * size, to_c + packed_rows * c_step * size
            while num_rows - row > few:
                tile(
                    *(length, from_a, a_row, step, from_b, b_step, to_c, c_step),
                    *(num_rows - row, num_columns, factor, adds_now, fetched, later_step, slow),
                )
                row += rows
                from_a, to_c = from_a + rows * apart * size, to_c + rows * c_step * size
                fetched += (length >> slow) * later_step if slow < SLOW else later_tile
            if row < num_rows:
                low_tile(
                    *(length, from_a, a_row, step, from_b, b_step, to_c, c_step),
                    *(num_rows - row, num_columns, factor, adds_now, fetched, later_step, slow),
                )

    name = f"product.strip.{arithmetic.name}.{vectors}{'.paired' * paired}"
    return compile_task(name, multiply, _NUM_WORDS)


@cache
def low_strip_task(arithmetic: DataType, rows: int) -> int:
    """Return the task of `strip_task` for `rows` rows, which fill no tile, by `low_columns` columns in place.

    Strips of few rows are bound by reading b, and every row of b is read in longer runs than with a tile's columns.
    """
    size, load, lanes = arithmetic.itemsize, loader(arithmetic), lanes_of(arithmetic)
    columns = low_columns(rows, lanes, VECTORS * lanes, tile_shape().rows - 1)
    multiply_tile = tile_multiplier(arithmetic, rows, columns // lanes, lanes)

    def multiply(
        k: int, a: int, a_row: int, a_step: int, b: int, b_step: int, c: int, c_step: int, num_rows: int,
        num_columns: int, alpha: int, adds: int, later: int, later_step: int,
    ) -> None:  # fmt: skip
        factor = load(alpha, 0)
        for first in range(0, k, SUMMED):
            length, adds_now = min(SUMMED, k - first), adds | (first > 0)
            from_a, from_b, fetched = a + first * a_step * size, b + first * b_step * size, later + first * later_step
            multiply_tile(
                *(length, from_a, a_row, a_step, from_b, b_step, c, c_step),
                *(num_rows, num_columns, factor, adds_now, fetched, later_step, 0),
            )

    return compile_task(f"product.low_strip.{arithmetic.name}.{rows}", multiply, _NUM_WORDS)
