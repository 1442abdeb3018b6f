"""The plan of a Scan: the parts that lines are cut into, which follow from the sizes alone."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from functools import lru_cache
from typing import Final, NamedTuple

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

_LEAST_ELEMENTS: Final = 64
"""The least elements of a part of a column."""


class Step(Enum):
    """What a kernel does: write the sums of parts, scan from the sums of the parts before, or scan whole lines."""

    SUMS = 0
    FROM_SUMS = 1
    WHOLE = 2

    __hash__ = object.__hash__


class ScanVariant(NamedTuple):
    """A kernel of `kernels.scan`: of a stored and a carried type, by blocks that have rows, or threads with columns."""

    stored: DataType
    carried: DataType
    is_sum: bool
    by_rows: bool


class Launched(NamedTuple):
    """One launch: what is scanned, from the elements or the sums, and the words after the addresses."""

    variant: ScanVariant
    of_sums: bool
    extent: Grid | int
    words: tuple[int, ...]


class ScanPlan(NamedTuple):
    """The launches of a Scan in order, and the bytes of the sums of parts."""

    launches: tuple[Launched, ...]
    scratch_bytes: int

    def steps(self, src: int, dst: int, sums: int) -> Iterator[tuple[ScanVariant, Grid | int, tuple[int, ...]]]:
        """Yield the kernels of the launches, their extents, and their words. sums: the address of the sums of parts."""
        for variant, of_sums, extent, words in self.launches:
            yield variant, extent, (*((sums, sums, 0) if of_sums else (src, dst, sums)), *words)


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
    parts = max(min(enough // lines, size // least), 1) if is_sum else 1
    part = -(-size // parts)
    parts = -(-size // part)

    def launched(step: Step, of_sums: bool, size: int, part: int, parts: int) -> Launched:
        variant = ScanVariant(carried if of_sums else stored, carried, is_sum, by_rows)
        units = outer * parts * (1 if by_rows else inner)
        extent = Grid((min(units, MAX_BLOCKS), 1, 1)) if by_rows else units
        return Launched(variant, of_sums, extent, (units, size, inner, part, parts, to_end and not of_sums, step.value))

    if parts == 1:
        return ScanPlan((launched(Step.WHOLE, False, size, size, 1),), 0)
    launches = (
        launched(Step.SUMS, False, size, part, parts),
        launched(Step.WHOLE, True, parts, parts, 1),
        launched(Step.FROM_SUMS, False, size, part, parts),
    )
    return ScanPlan(launches, outer * parts * inner * carried.itemsize)
