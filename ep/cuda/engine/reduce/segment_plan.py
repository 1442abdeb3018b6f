"""The plan of a segment sum or a scatter, by a sort of the ids; it depends only on sizes."""

from __future__ import annotations

from enum import Enum, auto
from typing import Final, NamedTuple

from ep.common.primitive.movement import fits_32_bit_offsets
from ep.common.primitive.segment_sizes import SegmentSizes
from ep.cuda.compile.arithmetic import storage_arithmetic
from ep.cuda.compile.kernel_words import Divisor, Words, divisor
from ep.cuda.compile.launch_config import BLOCK_THREADS, MAX_BLOCKS, Grid
from ep.include.data_type import DataType, as_data_type
from ep.include.primitive.binary_op import BinaryOp

DIGIT_BITS: Final = 4
DIGITS: Final = 1 << DIGIT_BITS
"""Different digits of a key, each with a counter for each thread of a block."""

NUM_COUNTERS: Final = DIGITS * BLOCK_THREADS

TILE_KEYS: Final = 8
"""The keys of a thread if many blocks sort."""

_BLOCK_KEYS: Final = 2**13
"""Up to this many keys one block sorts them all."""

LONG_RUN: Final = 64
"""Segments of more rows are added in parts, of this many rows at least."""


class Step(Enum):
    """A kernel of a launch; see `segment_sum`, `sort` and `long_runs`."""

    KEYS = auto()
    SORT_BLOCK = auto()
    COUNT = auto()
    SCAN = auto()
    SCATTER = auto()
    BEGINS = auto()
    SUM = auto()
    COUNT_PARTS = auto()
    LIST_PARTS = auto()
    SUM_PARTS = auto()
    SUM_LONG = auto()

    __hash__ = object.__hash__


class Folding(NamedTuple):
    """The way to combine the rows of a segment.

    op: it combines two rows; None if the last row stays. onto: whether it begins with the row of out, which is not
    written if the segment has no rows; else with zeros.
    """

    op: BinaryOp | None = BinaryOp.kAdd
    onto: bool = False

    @property
    def suffix(self) -> str:
        """The end of the names of kernels."""
        return f".onto.{self.op.name if self.op else 'none'}" if self.onto else ""


SUMS: Final = Folding()


class StepVariant(NamedTuple):
    """A kernel: number: the type of keys and places; size: the elements of a pack."""

    step: Step
    number: DataType
    bits: int = 32
    size: int = 0


class SegmentPlan(NamedTuple):
    """The plan for sizes of a launch. Ids and segments of all batches are numbered one after the other.

    number: the type of keys and places; bits: of the arithmetic of indices; digits: those of a key; tiles: the shares
    of the keys that blocks sort. most_parts: those of long runs at most, 0 where no run can be long; part_tiles: the
    shares of the keys in which blocks look for them; part_elements: the sums of each.
    """

    number: DataType
    bits: int
    num_keys: int
    num_segments: int
    digits: int
    tiles: int
    most_parts: int
    part_tiles: int
    part_elements: int

    def bytes(self, sum_type: DataType) -> tuple[int, ...]:
        """The bytes of the memory that a launch needs; sums are of `sum_type`.

        These are the keys and their places, second copies of both, the counts of tiles, the starts of segments, the
        number and the starts of parts, and their sums.
        """
        counts = max(DIGITS * self.tiles, self.part_tiles)
        sizes = (*[self.num_keys] * 4, counts, self.num_segments + 1, 1 + self.most_parts)
        sums = self.most_parts * self.part_elements * sum_type.itemsize
        return *(size * self.number.itemsize for size in sizes), sums


def segment_plan(sizes: SegmentSizes, folding: Folding = SUMS) -> SegmentPlan:
    """Return the plan for sizes that are not 0. Where the last row stays, no run is long."""
    num_keys, num_segments = sizes.batch * sizes.num_ids, sizes.batch * sizes.num_segments
    rows = sizes.outer * max(num_keys, num_segments)
    bits = 32 if fits_32_bit_offsets(rows * sizes.inner) else 64
    number = DataType.kInt32 if fits_32_bit_offsets(num_keys, num_segments) else DataType.kInt64
    digits = -(-num_segments.bit_length() // DIGIT_BITS)
    tiles = tiles_of(num_keys) if num_keys > _BLOCK_KEYS else 1
    # two for each run if all runs have LONG_RUN + 1 rows; runs of other lengths have fewer parts per row
    most_parts = 2 * num_keys // (LONG_RUN + 1) if num_keys > LONG_RUN and folding.op is not None else 0
    part_tiles = -(-num_keys // (LONG_RUN * BLOCK_THREADS))
    elements = sizes.outer * sizes.inner
    return SegmentPlan(number, bits, num_keys, num_segments, digits, tiles, most_parts, part_tiles, elements)


def tiles_of(num_keys: int) -> int:
    """Return the number of shares in which blocks sort keys."""
    return -(-num_keys // (BLOCK_THREADS * TILE_KEYS))


def sum_type(data_type: DataType) -> DataType:
    """Return the type of sums of rows of `data_type`, before they are rounded to it."""
    return as_data_type(storage_arithmetic(data_type))


def tile_grid(tiles: int) -> Grid:
    """Return the blocks of a kernel over tiles."""
    return Grid((min(tiles, MAX_BLOCKS), 1, 1))


def part_bits(rows: int) -> int:
    """Return the binary logarithm of the rows of a part of a long run: 64 rows, or up to 512 if there would be more
    parts than rows in each."""
    return 6 + (rows > 2**12) + (rows > 2**14) + (rows > 2**16)


class SumWords(NamedTuple):
    """The words of the kernel that adds up short runs.

    data, walk: of the rows; packs: of out; cols: the packs of a row; segments, num_ids: of a batch.
    """

    data: Words
    places: int
    begins: int
    out: int
    packs: int
    cols: Divisor
    segments: Divisor
    outer: Divisor
    num_ids: int
    walk: Words


class PartWords(NamedTuple):
    """Those of the kernel that adds up parts of long runs. sums: [parts, outer, columns]."""

    data: Words
    places: int
    keys: int
    begins: int
    parts: int
    sums: int
    cols: Divisor
    outer: Divisor
    segments: Divisor
    num_ids: int
    walk: Words


class LongRunWords(NamedTuple):
    """Those of the kernel that adds up the sums of the parts of each long run."""

    sums: int
    keys: int
    begins: int
    parts: int
    out: int
    cols: Divisor
    outer: Divisor
    segments: Divisor


def key_words(sizes: SegmentSizes, plan: SegmentPlan, is_unsigned: bool) -> tuple[int, ...]:
    """Return the words of the kernel that makes keys of ids, after the two addresses."""
    low = max(sizes.offset, 0) if is_unsigned else sizes.offset
    first = low - sizes.offset
    valid = max(sizes.num_segments - first, 0)
    num_ids = divisor(sizes.num_ids, plan.bits)
    return plan.num_keys, low, valid, first, sizes.num_segments, plan.num_segments, *num_ids
