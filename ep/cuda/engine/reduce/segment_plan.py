"""How rows find their segments: by a sort of the ids, whose course follows from sizes alone."""

from __future__ import annotations

from enum import Enum, auto
from typing import Final, NamedTuple

from ep.common.fast_integer_math import FastIntegerMath
from ep.common.primitive.movement import fits_32_bit_offsets
from ep.common.primitive.segment_sizes import SegmentSizes
from ep.cuda.compile.launch_config import BLOCK_THREADS, MAX_BLOCKS, Grid
from ep.include.data_type import DataType

DIGIT_BITS: Final = 4
DIGITS: Final = 1 << DIGIT_BITS
"""Different digits of a key, each with a counter for each thread of a block."""

NUM_COUNTERS: Final = DIGITS * BLOCK_THREADS

TILE_KEYS: Final = 8
"""The keys of a thread, where many blocks sort."""

_BLOCK_KEYS: Final = 2**13
"""Up to so many keys one block sorts them all."""

LONG_RUN: Final = 64
"""Segments of more rows are the work of whole blocks."""

_MAX_GRID_YZ: Final = 65535


class Step(Enum):
    """A kernel of a launch; see `kernels.segment_sum` and `kernels.sort`."""

    KEYS = auto()
    SORT_BLOCK = auto()
    COUNT = auto()
    SCAN = auto()
    SCATTER = auto()
    BEGINS = auto()
    SUM = auto()
    SUM_LONG = auto()

    __hash__ = object.__hash__


class StepVariant(NamedTuple):
    """A kernel: number: the type of keys and places; size: the elements of a pack, or the columns of a block."""

    step: Step
    number: DataType
    bits: int = 32
    size: int = 0


class SegmentPlan(NamedTuple):
    """What a launch of certain sizes needs. Ids and segments of all batches are numbered one after the other.

    number: the type of keys and places; bits: of the arithmetic of indices; digits: those of a key; tiles: the parts of
    the keys that blocks sort, where there is more than one.
    """

    number: DataType
    bits: int
    num_keys: int
    num_segments: int
    digits: int
    tiles: int

    @property
    def tile_grid(self) -> Grid:
        """The blocks of a kernel over tiles."""
        return Grid((min(self.tiles, MAX_BLOCKS), 1, 1))

    def bytes(self) -> tuple[int, ...]:
        """Of the keys, their places, both once more, the counts of the tiles' digits, and the segments' begins."""
        sizes = (*[self.num_keys] * 4, DIGITS * self.tiles, self.num_segments + 1)
        return tuple(size * self.number.itemsize for size in sizes)


def segment_plan(sizes: SegmentSizes) -> SegmentPlan:
    """The plan for sizes that are not 0."""
    num_keys, num_segments = sizes.batch * sizes.num_ids, sizes.batch * sizes.num_segments
    rows = sizes.outer * max(num_keys, num_segments)
    bits = 32 if fits_32_bit_offsets(rows * sizes.inner) else 64
    number = DataType.kInt32 if fits_32_bit_offsets(num_keys, num_segments) else DataType.kInt64
    digits = -(-num_segments.bit_length() // DIGIT_BITS)
    tiles = -(-num_keys // (BLOCK_THREADS * TILE_KEYS)) if num_keys > _BLOCK_KEYS else 1
    return SegmentPlan(number, bits, num_keys, num_segments, digits, tiles)


def key_words(sizes: SegmentSizes, plan: SegmentPlan, is_unsigned: bool) -> tuple[int, ...]:
    """The words of the kernel that makes keys of ids, after the two addresses."""
    low = max(sizes.offset, 0) if is_unsigned else sizes.offset
    first = low - sizes.offset
    valid = max(sizes.num_segments - first, 0)
    divisor = FastIntegerMath(sizes.num_ids, plan.bits).words()
    return plan.num_keys, low, valid, first, sizes.num_segments, plan.num_segments, *divisor


def sum_words(sizes: SegmentSizes, bits: int, elements: int) -> tuple[int, ...]:
    """The words of the kernel that adds up short runs, after the addresses."""
    cols = sizes.inner // elements
    packs = sizes.batch * sizes.outer * sizes.num_segments * cols
    divisors = (FastIntegerMath(size, bits).words() for size in (cols, sizes.num_segments, sizes.outer))
    return packs, *(word for words in divisors for word in words), sizes.num_ids


def long_words(sizes: SegmentSizes, plan: SegmentPlan) -> tuple[int, ...]:
    """The words of the kernel that adds up long runs, after the addresses."""
    divisor = FastIntegerMath(sizes.num_segments, plan.bits).words()
    return plan.num_keys, sizes.inner, sizes.num_ids, sizes.outer, plan.num_segments, *divisor


def long_width(inner: int) -> int:
    """The columns of a block that adds up long runs."""
    return min(32 if inner > 4 else 4, BLOCK_THREADS)


def long_grid(sizes: SegmentSizes, plan: SegmentPlan, width: int) -> Grid:
    """Its blocks: for columns, for places where a run may begin, and for outer."""
    columns, places = -(-sizes.inner // width), plan.num_keys // LONG_RUN
    return Grid((columns, min(places, _MAX_GRID_YZ), min(sizes.outer, _MAX_GRID_YZ)))
