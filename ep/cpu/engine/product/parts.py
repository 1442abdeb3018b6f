"""The parts of the code of a product. Each is compiled when a launch first needs it; this decides what that is."""

from __future__ import annotations

from typing import Final

from ep.cpu.engine.product.cut import FEW_ROWS, NARROW

TILES, VECTOR, FEW, ONE, TWO, THREE, LOW = range(7)
"""The ways to multiply a block: in tiles, a matrix by a vector, and few columns with few rows or long ones. Then what
tiles need: strips of one to three vectors of columns, and strips of two rows, of three, and so on.
"""
LOWEST: Final = 2
"""The rows of the lowest strip, LOW. One row is a vector."""
NUM_LOW: Final = 6
"""The number of strips of few rows: all fill fewer than the 8 rows of the highest tile."""
WAYS: Final = {TILES: "tiles", VECTOR: "vector", FEW: "few"}
STRIPS: Final = {ONE: 1, TWO: 2, THREE: 3}
"""The vectors of strips of any rows."""
ALL_STRIPS: Final = 1 << ONE | 1 << TWO | 1 << THREE
ALL_PARTS: Final = (1 << LOW + NUM_LOW) - 1

_LEAST_DEPTH: Final = 128  # the least k of products with few columns: below it, tiles are as fast
_LANES: Final = 2  # if c has many rows, the least lanes of a vector for each of few columns: tiles fill the other ones


def way_of(m: int, n: int, k: int, transpose_a: int, transpose_b: int, lanes: int, narrows: int) -> int:
    """Return the way in which a product of this size is computed. This function is compiled, too.

    lanes: those of a tile's vector. If a row of c fills it, the product is computed in tiles. narrows: whether c has
        fewer bits than the sums; the types of a and b make no difference, so converted matrices have the same product.
    """
    if k >= _LEAST_DEPTH:
        if transpose_b != 0 and transpose_a == 0 and narrows == 0 and 1 < m <= FEW_ROWS and n > NARROW:
            return FEW
        if m > NARROW and transpose_a == 0 and narrows == 0:
            if n > 1 and n * _LANES <= lanes:
                return FEW
        elif max(m, n) <= NARROW:
            if m > 1 and n > 1:
                return FEW if n < lanes else TILES
            below = transpose_b == 0 if m == 1 else transpose_a != 0  # a matrix by a vector
            if below and max(m, n) > 1:
                return FEW
    return VECTOR if m == 1 or n == 1 else TILES


def low_columns(rows: int, lanes: int, tile_columns: int, low_rows: int) -> int:
    """Return the columns of a low strip; 0 if a matrix of so many rows has none. This function is compiled, too.

    The sums fill the registers, but there are at most two tiles' columns. low_rows: the most rows; a tile has one more.
    """
    if rows < LOWEST or rows > low_rows:
        return 0
    return min(tile_columns * (low_rows + 1) // rows // lanes * lanes, 2 * tile_columns)


def strips_of(m: int, n: int, column_parts: int, lanes: int, tile_columns: int, low_width: int) -> int:
    """Return the bits of the strips that tiles of c may need. This function is compiled, too.

    All columns of a block are in whole tiles, but for the last ones of the last block. They are fewer than a tile's
    only if this block has no other columns, since two strips of two vectors follow if one vector would remain.

    low_width: the columns of low strips; 0 if there are none.
    """
    if 0 < low_width <= n:
        return ALL_STRIPS | 1 << LOW + m - LOWEST
    strips = 0
    if n <= lanes or (column_parts > 1 and n <= column_parts * tile_columns):
        strips |= 1 << ONE
    if n > lanes and (column_parts > 1 or n <= 2 * lanes or n > tile_columns):
        strips |= 1 << TWO
    if n > 2 * lanes:
        strips |= 1 << THREE
    return strips
