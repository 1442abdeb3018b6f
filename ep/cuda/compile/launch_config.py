"""The number of threads of a launch, and of the elements that each takes at once."""

from __future__ import annotations

import math
from typing import Final, NamedTuple

from ep.include.data_type import DataType

BLOCK_THREADS: Final = 256
"""Threads of a block, of nearly every kernel."""

WARP_THREADS: Final = 32
"""Threads that run together and can shuffle."""

MAX_BLOCKS: Final = 2**31 - 1
"""Blocks of a grid at most."""


Axes = tuple[int, int, int]
"""A count along each of the three axes."""


class Grid(NamedTuple):
    """The blocks and threads of a launch, along three axes each, and the bytes of shared memory that each block has
    besides its arrays of known size."""

    blocks: Axes
    threads: Axes = (BLOCK_THREADS, 1, 1)
    shared_bytes: int = 0


def num_blocks(num_items: int, resident_blocks: int) -> int:
    """Return the blocks of a launch whose threads take `num_items` > 0 items in a grid-stride loop.

    resident_blocks: how many the whole device holds at a time; more would only wait.
    """
    return min(-(-num_items // BLOCK_THREADS), resident_blocks, MAX_BLOCKS)


PACK_BYTES: Final = 16
"""The most bytes that one instruction moves."""

_WORD_BYTES: Final = 4
"""The least bytes that each lane of a warp moves as fast as more."""

_LONG_ROW: Final = 256
"""From this many bytes on, at least half of the warps have no word with bytes of two rows, which takes them longer."""


def units_of_pack(unit: int, row: int, alignment: int) -> int:
    """Return how many units of `unit` bytes a thread writes at once where they lie anywhere in src.

    Adjacent threads take adjacent units, so that a warp reads what lies side by side. Of long rows of bytes they take
    words, few of which have bytes of two rows.
    row: the units that lie side by side; alignment: the widest unit that dst is a multiple of.
    """
    return _WORD_BYTES if unit == 1 and row >= _LONG_ROW and alignment >= _WORD_BYTES else 1


def units_at_once(unit: int, pack_units: int) -> int:
    """Return how many packs a thread loads at a time: 16 bytes, but two packs at least and eight at most."""
    return min(max(PACK_BYTES // (unit * pack_units), 2), 8) if pack_units == 1 else 2


def elements_at_once(*data_types: DataType) -> int:
    """Return how many elements a thread loads at a time where it takes them one by one: 16 bytes, but eight at most."""
    return min(pack_elements(*data_types), 8)


def row_elements(cols: int, most: int) -> int:
    """Return the elements of packs in which rows of `cols` elements are divided, `most` of them or fewer.

    All of a row's packs are whole then, and begin at multiples of their bytes where the first row does.
    """
    return math.gcd(cols, most)


def pack_elements(*data_types: DataType) -> int:
    """Return the elements that a thread takes at once: 16 bytes of the largest type."""
    return PACK_BYTES // max(data_type.itemsize for data_type in data_types)
