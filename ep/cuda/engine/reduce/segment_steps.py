"""The kernels of a launch of UnsortedSegmentSum, one after the other: keys of ids, their sort, and the sums of runs."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from typing import NamedTuple

from ep.common.primitive.movement import widest_unit
from ep.common.primitive.segment_sizes import SegmentSizes
from ep.cuda.compile.launch_config import Grid, pack_elements
from ep.cuda.engine.reduce.segment_plan import (
    DIGIT_BITS,
    DIGITS,
    LONG_RUN,
    SegmentPlan,
    Step,
    StepVariant,
    key_words,
    long_grid,
    long_width,
    long_words,
    sum_words,
)
from ep.include.data_type import DataType


class Buffers(NamedTuple):
    """The addresses of the operands, and of memory for each part that `SegmentPlan.bytes` has.

    keys, places: of the rows; more_keys, more_places: the same, for what a sort moves; counts: of the tiles' digits.
    """

    data: int
    ids: int
    out: int
    keys: int
    places: int
    more_keys: int
    more_places: int
    counts: int
    begins: int


class StepLaunch(NamedTuple):
    """The launch of a kernel; extent: its grid, or the number of items that it has threads for."""

    variant: StepVariant
    extent: Grid | int
    words: tuple[int, ...]


def segment_steps(
    sizes: SegmentSizes, plan: SegmentPlan, buffers: Buffers, data_type: DataType, ids_type: DataType
) -> Iterator[StepLaunch]:
    """The launches for sizes that are not 0; data_type: the one that kernels add."""
    data, out, begins, number, bits = buffers.data, buffers.out, buffers.begins, plan.number, plan.bits
    words = key_words(sizes, plan, ids_type.dtype.kind == "u")
    yield StepLaunch(StepVariant(Step.KEYS, number, bits), plan.num_keys, (buffers.ids, buffers.keys, *words))
    keys, places = yield from _sort(plan, buffers)
    words = keys, begins, plan.num_keys, plan.num_segments
    yield StepLaunch(StepVariant(Step.BEGINS, number), plan.num_segments + 1, words)
    elements = pack_elements(data_type)
    if sizes.inner % elements or widest_unit(data, out) < elements * data_type.itemsize:
        elements = 1
    words = sum_words(sizes, bits, elements)
    yield StepLaunch(StepVariant(Step.SUM, number, bits, elements), words[0], (data, places, begins, out, *words))
    if plan.num_keys > LONG_RUN:
        width, words = long_width(sizes.inner), long_words(sizes, plan)
        variant, grid = StepVariant(Step.SUM_LONG, number, bits, width), long_grid(sizes, plan, width)
        yield StepLaunch(variant, grid, (data, places, keys, begins, out, *words))


def _sort(plan: SegmentPlan, buffers: Buffers) -> Generator[StepLaunch, None, tuple[int, int]]:
    """The launches that sort the keys; returns where they and their places are then."""
    number, count, counts, tiles = plan.number, plan.num_keys, buffers.counts, plan.tiles
    source, target = (buffers.keys, buffers.places), (buffers.more_keys, buffers.more_places)
    one_block, grid = Grid((1, 1, 1)), plan.tile_grid
    if tiles == 1:
        yield StepLaunch(StepVariant(Step.SORT_BLOCK, number), one_block, (*source, *target, count, plan.digits))
        return target if plan.digits % 2 else source
    for digit in range(plan.digits):
        shift = digit * DIGIT_BITS
        yield StepLaunch(StepVariant(Step.COUNT, number), grid, (source[0], counts, count, tiles, shift))
        yield StepLaunch(StepVariant(Step.SCAN, number), one_block, (counts, DIGITS * tiles))
        words = source[0], source[1] if digit else 0, *target, counts, count, tiles, shift
        yield StepLaunch(StepVariant(Step.SCATTER, number), grid, words)
        source, target = target, source
    return source
