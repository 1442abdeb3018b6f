"""The number of threads of a launch, and of the elements that each takes at once."""

from __future__ import annotations

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


def pack_elements(*data_types: DataType) -> int:
    """Return the elements that a thread takes at once: 16 bytes of the largest type."""
    return PACK_BYTES // max(data_type.itemsize for data_type in data_types)
