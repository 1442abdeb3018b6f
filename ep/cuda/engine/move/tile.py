"""Transposition in tiles that go through shared memory, so that both sides are accessed in long rows."""

from __future__ import annotations

import math
from itertools import product
from typing import Final, NamedTuple

from ep.common.primitive.broadcast import StridedWalk, simplify_walk
from ep.common.primitive.movement import fits_32_bit_offsets
from ep.cuda.compile.kernel_words import walk_words
from ep.cuda.compile.launch_config import BLOCK_THREADS

_LEAST, _NARROW, _WIDE = 4, 32, 64
"""The cells along the axes of a tile: the minimum, the maximum of the narrower axis, the maximum of the wider one."""
_WORD_BYTES: Final = 4  # the narrowest access with full speed
_BANK_BYTES: Final = 4  # of shared memory
_SERVED_BYTES: Final = 128  # the numbers that shared memory delivers at once to the threads of one warp


class Tile(NamedTuple):
    """A tile of `rows` times `columns` cells of a matrix, which dst has row by row, and src column by column.

    unit: the bytes of an element. side: a cell is `side` times `side` elements, which one thread transposes in
    registers, so that it loads and stores `side` of them at once: words of 4 bytes if elements are smaller and dims
    permit it.
    """

    unit: int
    side: int
    columns: int
    rows: int

    @property
    def word(self) -> int:
        """The bytes that are loaded and stored at once."""
        return self.unit * self.side

    @property
    def planes(self) -> int:
        """The numbers of a cell, each with a plane of shared memory: its words, or the halves of 16 bytes."""
        return max(self.side, self.unit // 8)

    @property
    def cells_per_thread(self) -> int:
        """Return the number of cells that each thread has in flight.

        At most 64 bytes and 8 cells, or 16 of a byte each, and at least as many threads as a row or column has cells.
        """
        return min(16 if self.word == 1 else 8 if self.planes == 1 else 4, self.columns, self.rows)

    @property
    def threads(self) -> int:
        """The threads of a tile; a block processes as many tiles as it has threads for."""
        return self.columns * self.rows // self.cells_per_thread

    @property
    def tiles_per_block(self) -> int:
        """The tiles that a block processes at once."""
        return BLOCK_THREADS // self.threads

    @property
    def number(self) -> int:
        """The bytes of a number in shared memory."""
        return self.word // 2 if self.unit == 16 else self.word

    @property
    def pitch(self) -> int:
        """The numbers from one line of a tile in shared memory to the next. Lines run along the longer axis.

        It is an odd multiple of the numbers that threads with one access read from a line when they cross the lines. So
        there are no bank conflicts in either direction (in small squares, of which they access two lines at once, a
        few).
        """
        lines, line = min(self.columns, self.rows), max(self.columns, self.rows)
        served = min(_SERVED_BYTES // max(self.number, _BANK_BYTES), self.threads)
        of_line = max(self.number * served // lines, _BANK_BYTES, self.number)
        return (-(-line * self.number // of_line) | 1) * of_line // self.number

    @property
    def plane(self) -> int:
        """The numbers of a plane of one tile."""
        return min(self.columns, self.rows) * self.pitch

    def place(self, column: int, row: int) -> int:
        """Return the position of the cell in a plane: a linear function of both."""
        return row * self.pitch + column if self.columns >= self.rows else column * self.pitch + row


class TileVariant(NamedTuple):
    """One of the kernels of `kernels.transpose`; num_axes, bits: of the walk over tiles."""

    tile: Tile
    num_axes: int
    bits: int


class TilePlan(NamedTuple):
    """A launch of one shape; words: all but the addresses."""

    variant: TileVariant
    num_items: int
    words: tuple[int, ...]


def tile_plan(walk: StridedWalk, unit: int, alignment: int) -> TilePlan:
    """Return the plan for a walk over contiguous data whose innermost axes in src and dst differ.

    unit: the bytes of an element; alignment: those that both addresses are multiples of.
    """
    along = walk.src_strides.index(1)  # the axis that columns run along; rows run along the last
    height, width = walk.dims[along], walk.dims[-1]
    side = max(_WORD_BYTES // unit, 1)
    while height % side or width % side or alignment % (unit * side):
        side //= 2
    height, width = height // side, width // side  # in cells
    tile = _tile(unit, side, width, height)
    columns, rows = tile.columns, tile.rows
    # from here on in words: strides other than 1 are multiples of a cell's side, since src and dst have no gaps
    src_step, dst_step = walk.src_strides[-1] // side, walk.dst_strides[along] // side
    batch = [axis for axis in range(len(walk.dims) - 1) if axis != along]
    down, across = -(-height // rows), -(-width // columns)
    dims = *(walk.dims[axis] for axis in batch), down, across
    steps = (
        (*(walk.src_strides[axis] // side for axis in batch), rows, columns * side * src_step),
        (*(walk.dst_strides[axis] // side for axis in batch), rows * side * dst_step, columns),
        (0,) * len(batch) + (rows, 0),
        (0,) * len(batch) + (0, columns),
    )
    num_tiles = math.prod(dims)
    simple, *strides = simplify_walk(dims, *steps)
    bits = 32 if fits_32_bit_offsets(math.prod(walk.dims) // side) else 64
    words = (num_tiles, height, width, src_step, dst_step, *walk_words(simple, strides, bits))
    return TilePlan(TileVariant(tile, len(simple), bits), num_tiles * tile.threads, words)


def _tile(unit: int, side: int, width: int, height: int) -> Tile:
    """Return the tile for a matrix of `height` times `width` cells; its sizes are powers of two."""
    widest = _WIDE if max(side, unit // 8) == 1 else _NARROW
    narrow = min(max(_power_of_two(min(width, height)), _LEAST), _NARROW)
    wide = min(max(_power_of_two(max(width, height)), narrow), widest)
    if wide < _NARROW:  # adjacent small tiles are as fast, without bank conflicts
        wide = narrow
    # if possible, dst has the longer rows: writing a line in parts costs more than reading it in parts
    columns, rows = (wide, narrow) if width >= height or width > narrow else (narrow, wide)
    return Tile(unit, side, columns, rows)


def _power_of_two(number: int) -> int:
    """Return the least power of two that is not below `number`."""
    return 1 << (number - 1).bit_length()


def usual_tile() -> Tile:
    """Return the tile for large matrices of 4-byte elements."""
    return _tile(_WORD_BYTES, 1, _WIDE, _WIDE)


def every_tile() -> list[Tile]:
    """Return all tiles that plans can have."""
    cells = ((1, 1), (1, 2), (1, 4), (2, 1), (2, 2), (4, 1), (8, 1), (16, 1))
    sizes = [1 << power for power in range(1, 8)]
    return sorted({_tile(*cell, *shape) for cell in cells for shape in product(sizes, sizes)})
