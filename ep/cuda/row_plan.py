"""How rows of a matrix are shared among threads: what follows from the number of columns, and from where rows lie."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import Final, NamedTuple

from ep.cuda.launch_config import BLOCK_THREADS, MAX_BLOCKS, WARP_THREADS, Grid, pack_elements
from ep.include.data_type import DataType


class Keep(Enum):
    """Where a row is kept between its maximum, its sum and the results."""

    REGISTERS = "in the registers of a part of a warp"
    SHARED = "in the shared memory of a block"
    NOWHERE = "it is read again"

    __hash__ = object.__hash__


class RowVariant(NamedTuple):
    """One of the kernels of `engine.rows`.

    aligned: whether rows are whole packs, at multiples of their bytes; row_threads: those of a row; packs: how many
    each of them keeps in registers, 0 for another way to keep.
    """

    keep: Keep
    aligned: bool
    row_threads: int
    packs: int = 0


class RowPlan(NamedTuple):
    """A launch over rows of one length."""

    variant: RowVariant
    grid: Grid


_IN_REGISTERS: Final = 16, 64, 256, 1024
"""The classes of rows that are kept in registers, by columns at most: few, as each is a kernel of its own."""

_REGISTER_BYTES: Final = 128
"""Of an operand, in each thread at most."""

_MEETING_BYTES: Final = 1024
"""What threads need of a block's shared memory to merge what they have, and somewhat more."""

_PACKS_PER_THREAD: Final = 8
"""Of a row that a block has; for more of them it has twice as many threads."""


def row_plan(data_type: DataType, rows: int, cols: int, addresses: Sequence[int], shared_bytes: int) -> RowPlan:
    """The plan for `rows` > 0 rows of `cols` > 0 elements of each of the operands at `addresses`.

    shared_bytes: what a block may have. Which elements a thread takes follows from `cols` alone, so that the bits of
    results do not depend on addresses.
    """
    elements = pack_elements(data_type)
    pack_bytes = elements * data_type.itemsize
    aligned = not (cols % elements or any(address % pack_bytes for address in addresses))
    size = max(data_type.itemsize, 4)  # of a number in registers and in shared memory
    num_packs = -(-cols // elements)
    for most in _IN_REGISTERS:
        row_threads = min(max(most // elements, 1), WARP_THREADS)
        packs = max(most // elements, 1) // row_threads
        if cols <= most and packs * elements * size <= _REGISTER_BYTES:
            rows_per_block = BLOCK_THREADS // row_threads
            variant = RowVariant(Keep.REGISTERS, aligned, row_threads, packs)
            return RowPlan(variant, Grid((min(-(-rows // rows_per_block), MAX_BLOCKS), 1, 1)))
    kept = (len(addresses) - 1) * num_packs * elements * size
    keep = Keep.SHARED if kept <= shared_bytes - _MEETING_BYTES else Keep.NOWHERE
    threads = BLOCK_THREADS if num_packs <= _PACKS_PER_THREAD * BLOCK_THREADS else 2 * BLOCK_THREADS
    blocks, shared_bytes = (min(rows, MAX_BLOCKS), 1, 1), kept if keep is Keep.SHARED else 0
    return RowPlan(RowVariant(keep, aligned, threads), Grid(blocks, (threads, 1, 1), shared_bytes))
