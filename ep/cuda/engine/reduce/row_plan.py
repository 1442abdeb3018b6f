"""The division of rows among threads, which depends on the number of columns and the addresses of rows."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import Final, NamedTuple

from ep.cuda.compile.kernel_words import Words
from ep.cuda.compile.launch_config import BLOCK_THREADS, MAX_BLOCKS, WARP_THREADS, Grid, pack_elements, row_elements
from ep.cuda.engine.reduce.plan import power_of_two, threads_of_elements, threads_of_warp
from ep.include.data_type import DataType
from ep.include.primitive.structure import kMaxRow


class RowStorage(Enum):
    """The place of a row between its maximum, its sum and the results."""

    REGISTERS = "in the registers of a part of a warp"
    SHARED = "in the shared memory of a block, in the type of arithmetic"
    LOADED = "in the shared memory of a block, as it was loaded"
    NOWHERE = "it is read again"

    __hash__ = object.__hash__


class SoftmaxVariant(NamedTuple):
    """One of the kernels of `engine.rows`.

    elements: those of the packs of a row; aligned: whether packs are aligned to their bytes.
    row_threads: those of a row; packs: how many each of them keeps in registers, 0 for another storage.
    """

    storage: RowStorage
    elements: int
    aligned: bool
    row_threads: int
    packs: int = 0


class Stage(Enum):
    """One of the kernels of `engine.row_parts`: what it makes of the parts of rows."""

    MAXIMA = "their maxima"
    SUMS = "their sums, below the maximum of the row where that counts"
    MAXIMA_AND_SUMS = "their maxima, and sums below these"
    RESULTS = "the results, from the sum of the row"

    __hash__ = object.__hash__


class PartVariant(NamedTuple):
    """A stage for one layout of rows, with blocks of `row_threads` threads.

    elements, aligned: as SoftmaxVariant has them.
    """

    stage: Stage
    elements: int
    aligned: bool
    row_threads: int


class RowWords(NamedTuple):
    """The words of a kernel. operands: their addresses."""

    operands: Words
    dst: int
    rows: int
    cols: int


class PartWords(NamedTuple):
    """Those of a stage. memory: the address of the values of parts."""

    operands: Words
    dst: int
    rows: int
    cols: int
    memory: int
    part_packs: int


class SoftmaxPlan(NamedTuple):
    """A launch over rows of one length, by one kernel, or by several in sequence for parts of rows.

    part_packs: those of a part; part_bytes: the bytes of memory for the values of parts. 0 if rows are not divided.
    """

    variants: tuple[SoftmaxVariant | PartVariant, ...]
    grid: Grid
    part_packs: int = 0
    part_bytes: int = 0


_BLOCKS: Final = 528
"""The number of blocks of rows in parts: four for each of the 132 multiprocessors of an H100.

Half as many rows, and fewer, are divided.
"""

_PART_BYTES: Final = 2**15
"""A part is at least this many bytes for a block to read."""

_LONG_BYTES: Final = 2**18
"""A row that a block reads in less is not divided: more kernels would take longer. Such a row of one operand does not
fit the shared memory of a block."""

_PART_NUMBERS: Final = 3
"""The largest number of values kept for a part: a maximum, a sum and its error, in float64."""


_REGISTER_BYTES: Final = 128
"""The largest number of bytes of registers of an operand in each thread of a warp that keeps a row there."""

_MOST_LOADS: Final = 48
"""The packs of float32 that a thread loads at once into registers: with more, a multiprocessor has registers for one
block. For more packs of 16 bits it has those of two."""

MERGE_BYTES: Final = 512
"""The static shared memory of a kernel whose warps merge states: those of 16 warps, of four numbers of 8 bytes each."""

_PACKS_PER_THREAD: Final = 8
"""The packs of a row for each thread of a block; for more packs the block has twice as many threads."""


def row_plan(data_type: DataType, rows: int, cols: int, addresses: Sequence[int], shared_bytes: int) -> SoftmaxPlan:
    """Return the plan for `rows` > 0 rows of `cols` > 0 elements of each of the operands at `addresses`.

    shared_bytes: the largest shared memory of a block. The elements of a thread depend only on `cols`, so the bits of
    results do not depend on addresses; the division of rows depends on `rows` and `cols`. The sums of rows of more than
    kMaxRow elements depend on `shared_bytes`, too.
    """
    elements = row_elements(cols, pack_elements(data_type))
    pack_bytes = elements * data_type.itemsize
    aligned = not any(address % pack_bytes for address in addresses)
    threads, packs = threads_of_row(data_type, cols)
    num_operands = len(addresses) - 1
    if packs and (num_operands * packs <= _MOST_LOADS or data_type.itemsize != 4):
        variant = SoftmaxVariant(RowStorage.REGISTERS, elements, aligned, threads, packs)
        return SoftmaxPlan((variant,), Grid((min(-(-rows // (BLOCK_THREADS // threads)), MAX_BLOCKS), 1, 1)))
    if divided := _in_parts(data_type, rows, cols, num_operands, aligned):
        return divided
    size = max(data_type.itemsize, 4)
    # for one block at a time, two passes take less time than three; exponentials are computed twice then. Sums of rows
    # that an Expression has, too, have its bits: below the maximum of the row from the beginning
    is_alone = 2 * (cols * size + MERGE_BYTES) > shared_bytes
    as_loaded = num_operands == 2 or (is_alone and cols > kMaxRow and sums_are_scaled(data_type))
    size = data_type.itemsize if as_loaded else size
    kept = num_operands * cols * size
    storage = RowStorage.LOADED if as_loaded else RowStorage.SHARED
    if kept > shared_bytes - MERGE_BYTES:
        storage, kept = RowStorage.NOWHERE, 0
    blocks, shared_bytes = (min(rows, MAX_BLOCKS), 1, 1), kept
    return SoftmaxPlan(
        (SoftmaxVariant(storage, elements, aligned, threads),), Grid(blocks, (threads, 1, 1), shared_bytes)
    )


def threads_of_row(data_type: DataType, cols: int) -> tuple[int, int]:
    """Return the threads that share a row, and the packs that each of them keeps in registers.

    0 for another storage.

    Rows of an Expression are those of one block of usual size: its kernels add them up in this way.
    """
    usual, size = pack_elements(data_type), max(data_type.itemsize, 4)
    packs = cols // row_elements(cols, usual)
    if cols * size > WARP_THREADS * _REGISTER_BYTES:
        is_short = cols <= max(_PACKS_PER_THREAD * BLOCK_THREADS * usual, kMaxRow)
        return threads_of_elements(cols, usual) if is_short else 2 * BLOCK_THREADS, 0
    # a thread with few adjacent packs would write parts of sectors
    threads = power_of_two(packs) if packs <= 4 else threads_of_warp(packs, cols // packs)
    return threads, _packs_in_registers(-(-packs // threads))


def _packs_in_registers(packs: int) -> int:
    """Return `packs`, rounded up to a power of two or three quarters of it: each number of packs needs a kernel."""
    most = power_of_two(packs)
    return most * 3 // 4 if most > 2 and packs <= most * 3 // 4 else most


def sums_are_scaled(data_type: DataType) -> bool:
    """Whether sums below a maximum may be scaled to a larger one: not those of float64, which carry their errors."""
    return data_type is not DataType.kDouble


def _in_parts(data_type: DataType, rows: int, cols: int, num_operands: int, aligned: bool) -> SoftmaxPlan | None:
    """Return the plan of a launch in which several blocks share a row, if one would take much longer."""
    row_bytes = num_operands * cols * data_type.itemsize
    if row_bytes < _LONG_BYTES or 2 * rows > _BLOCKS:
        return None
    elements = row_elements(cols, pack_elements(data_type))
    num_packs = cols // elements
    part_packs = -(-num_packs // min(_BLOCKS // rows, row_bytes // _PART_BYTES))
    parts = -(-num_packs // part_packs)
    variants = tuple(
        PartVariant(stage, elements, aligned, 2 * BLOCK_THREADS) for stage in _stages(data_type, num_operands)
    )
    grid = Grid((parts, rows, 1), (2 * BLOCK_THREADS, 1, 1))
    return SoftmaxPlan(variants, grid, part_packs, rows * parts * _PART_NUMBERS * DataType.kDouble.itemsize)


def _stages(data_type: DataType, num_operands: int) -> tuple[Stage, ...]:
    """Return the kernels, in their order. Two operands are those of a gradient, whose sums need no maximum."""
    if num_operands == 2:
        return Stage.SUMS, Stage.RESULTS
    if sums_are_scaled(data_type):
        return Stage.MAXIMA_AND_SUMS, Stage.RESULTS
    return Stage.MAXIMA, Stage.SUMS, Stage.RESULTS
