"""The number of threads of a launch, and the number of elements that each thread processes at a time."""

from __future__ import annotations

import math
from typing import Final, NamedTuple

from ep.include.data_type import DataType

BLOCK_THREADS: Final = 256
"""The threads of a block in nearly every kernel."""

WARP_THREADS: Final = 32
"""The threads of a warp."""

MAX_BLOCKS: Final = 2**31 - 1
"""The largest number of blocks of a grid."""


Dim3 = tuple[int, int, int]
"""A count along each of the three axes."""


class Grid(NamedTuple):
    """The blocks and threads of a launch, along three axes each, and the bytes of dynamic shared memory of each
    block."""

    blocks: Dim3
    threads: Dim3 = (BLOCK_THREADS, 1, 1)
    shared_bytes: int = 0


PASS_ITEMS: Final = 4
"""The most items of a thread of a kernel that processes all items in one pass."""


def num_blocks(num_items: int, most: int, of_block: int = BLOCK_THREADS) -> int:
    """Return the blocks of a launch over `num_items` > 0 items.

    most: of a grid-stride loop the number that the whole device runs at a time, as further blocks would wait. of_block:
    the items from which a block is worth its start, or all that it processes.
    """
    return min(-(-num_items // of_block), most, MAX_BLOCKS)


PACK_BYTES: Final = 16
"""The most bytes that one instruction moves."""

WORD_BYTES: Final = 4
"""The fewest bytes per lane of a warp that reach the full speed."""

LONG_ROW: Final = 64
"""From this many bytes on, most words are far from the ends of a row, and worth a branch that loads whole words."""

_SHORTEST_ROW: Final = WORD_BYTES - 1
"""From this many bytes on, no word has bytes of more than two rows."""


def units_of_pack(unit: int, row: int, alignment: int) -> int:
    """Return how many units of `unit` bytes a thread writes at once if they come from anywhere in src.

    Adjacent threads process adjacent units, so that a warp reads contiguous memory. Bytes are processed by words, each
    of one row or of two adjacent ones. row: the number of contiguous units; alignment: the widest unit that dst is a
    multiple of.
    """
    return WORD_BYTES if unit == 1 and row >= _SHORTEST_ROW and alignment >= WORD_BYTES else 1


def units_at_once(unit: int, pack_units: int) -> int:
    """Return how many packs a thread loads at a time: 16 bytes, but two packs at least and eight at most."""
    return min(max(PACK_BYTES // (unit * pack_units), 2), 8) if pack_units == 1 else 2


def elements_at_once(*data_types: DataType) -> int:
    """Return how many single elements a thread loads at a time: 16 bytes, but at most eight elements."""
    return min(pack_elements(*data_types), 8)


def row_elements(cols: int, most: int) -> int:
    """Return the number of elements, at most `most`, of the packs into which rows of `cols` elements are divided.

    All packs of a row are whole, and are aligned if the first row is.
    """
    return math.gcd(cols, most)


def pack_elements(*data_types: DataType) -> int:
    """Return the number of elements that a thread processes at once: 16 bytes of the largest type."""
    return PACK_BYTES // max(data_type.itemsize for data_type in data_types)
