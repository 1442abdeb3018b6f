"""The plan of a Scan: the parts that lines are cut into, which follow from the sizes alone."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from functools import lru_cache
from typing import Final, NamedTuple

from ep.common.primitive.movement import fits_32_bit_offsets
from ep.cuda.compile.kernel_words import divisor
from ep.cuda.compile.launch_config import BLOCK_THREADS, MAX_BLOCKS, Grid
from ep.include.data_type import DataType

ITEMS: Final = 4
"""The adjacent elements of a row that a thread has at a time."""

TILE: Final = ITEMS * BLOCK_THREADS
"""The elements of a row that a block has at a time."""

_BLOCKS: Final = 1024
"""From this many rows on there is no need to cut them: their blocks fill every GPU of today."""

_THREADS: Final = 2**16
"""The same for columns, each of which has a thread."""

_LEAST_TILES: Final = 4
"""The least tiles of a part of a row."""

_MOST_PARTS: Final = 1024

_LEAST_ELEMENTS: Final = 64
"""The least elements of a part of a column."""


class Step(Enum):
    """What a kernel does: it writes the sums of parts, scans these sums, scans parts from the sum of those before, or
    scans whole lines."""

    SUMS = 0
    OF_SUMS = 1
    FROM_SUMS = 2
    WHOLE = 3

    __hash__ = object.__hash__


class ScanVariant(NamedTuple):
    """A kernel of `kernels.scan`: of a stored and a carried type, by blocks that have rows, or threads with columns.

    bits: those of the arithmetic of indices.
    """

    stored: DataType
    carried: DataType
    is_sum: bool
    by_rows: bool
    bits: int = 32


Launched = tuple[ScanVariant, Grid, tuple[int, ...]]
"""A kernel, its grid, and the words after the addresses."""


class ScanPlan(NamedTuple):
    """The launches of a Scan, and the bytes of the sums of parts: of whole lines, or of their parts, sums and parts."""

    launches: tuple[Launched, ...]
    scratch_bytes: int

    def steps(self, src: int, dst: int, sums: int) -> Iterator[Launched]:
        """Yield the launches with all words. sums: the address of the sums of parts."""
        for number, (variant, grid, words) in enumerate(self.launches):
            yield variant, grid, (*((sums, sums, 0) if number == 1 else (src, dst, sums)), *words)


@lru_cache(256)
def scan_plan(
    stored: DataType, carried: DataType, is_sum: bool, to_end: bool, outer: int, size: int, inner: int
) -> ScanPlan:
    """Return the plan for sizes > 0, which follow from the axes before the scanned one, from it, and from those after.

    Products are not cut: a part may overflow where the elements before it are 0.
    """
    by_rows = is_sum and inner == 1
    lines, enough, least = outer * inner, _THREADS, _LEAST_ELEMENTS
    if by_rows:
        enough, least = _BLOCKS, _LEAST_TILES * TILE
    parts = max(min(enough // lines, size // least, _MOST_PARTS), 1) if is_sum else 1
    part = -(-size // parts)
    parts = -(-size // part)
    bits = 32 if fits_32_bit_offsets(outer * size * inner) else 64

    def launched(step: Step, sizes: tuple[int, int, int], part: int, parts: int) -> Launched:
        outer, size, inner = sizes
        variant = ScanVariant(carried if step is Step.OF_SUMS else stored, carried, is_sum, by_rows, bits)
        blocks = min(outer if by_rows else -(-outer * inner // BLOCK_THREADS), MAX_BLOCKS)
        words = outer * inner, size, part, to_end and step is not Step.OF_SUMS, step.value
        return variant, Grid((blocks, parts, 1)), (*words, *divisor(inner, bits))

    if parts == 1:
        return ScanPlan((launched(Step.WHOLE, (outer, size, inner), size, 1),), 0)
    of_sums = (outer, parts, 1) if by_rows else (1, parts, lines)
    launches = (
        launched(Step.SUMS, (outer, size, inner), part, parts),
        launched(Step.OF_SUMS, of_sums, parts, 1),
        launched(Step.FROM_SUMS, (outer, size, inner), part, parts),
    )
    return ScanPlan(launches, lines * parts * carried.itemsize)
