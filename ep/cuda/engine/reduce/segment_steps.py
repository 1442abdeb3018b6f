"""The kernels of a launch of UnsortedSegmentSum, in sequence: keys of ids, their sort, and the sums of runs."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from itertools import accumulate
from typing import NamedTuple

from ep.common.primitive.movement import widest_unit
from ep.common.primitive.segment_sizes import SegmentSizes
from ep.cuda.compile.kernel_words import divisor, flat
from ep.cuda.compile.launch_config import Grid, pack_elements
from ep.cuda.engine.reduce.segment_plan import (
    DIGIT_BITS,
    DIGITS,
    LongRunWords,
    PartWords,
    SegmentPlan,
    Step,
    StepVariant,
    SumWords,
    key_words,
    sum_type,
    tile_grid,
)
from ep.include.data_type import DataType


class Buffers(NamedTuple):
    """The addresses of the operands, and of memory for each part that `SegmentPlan.bytes` has.

    data: the address of the rows; if rows are computed, the words of their sources, and walk: those of the walk.
    keys, places: of the rows; more_keys, more_places: the same, for what a sort moves; counts: of the digits or parts
    in tiles; parts: how many there are of long runs, and where they begin; sums: those of parts.
    """

    data: Sequence[int]
    walk: Sequence[int]
    ids: int
    out: int
    keys: int
    places: int
    more_keys: int
    more_places: int
    counts: int
    begins: int
    parts: int
    sums: int


class StepLaunch(NamedTuple):
    """The launch of a kernel; extent: its grid, or the number of items that it has threads for."""

    variant: StepVariant
    extent: Grid | int
    words: tuple[int, ...]


def buffer_places(plan: SegmentPlan, data_type: DataType) -> list[int]:
    """Return the offset of each part of the memory of a launch, and last of all its bytes."""
    return [0, *accumulate(-(-size // 16) * 16 for size in plan.bytes(sum_type(data_type)))]


def added_elements(sizes: SegmentSizes, data_type: DataType, *addresses: int) -> int:
    """Return the elements that threads add at once; addresses: those of arrays that are read and written by packs."""
    elements = pack_elements(data_type)
    return 1 if sizes.inner % elements or widest_unit(*addresses) < elements * data_type.itemsize else elements


def segment_steps(
    sizes: SegmentSizes, plan: SegmentPlan, buffers: Buffers, ids_type: DataType, elements: int
) -> Iterator[StepLaunch]:
    """Yield the launches for sizes that are not 0; elements: those that threads add at once."""
    data, out, begins, number, bits = buffers.data, buffers.out, buffers.begins, plan.number, plan.bits
    words = key_words(sizes, plan, ids_type.dtype.kind == "u")
    yield StepLaunch(StepVariant(Step.KEYS, number, bits), plan.num_keys, (buffers.ids, buffers.keys, *words))
    keys, places = yield from sort_steps(
        *(number, plan.num_keys, plan.digits, plan.tiles),
        *((buffers.keys, buffers.places), (buffers.more_keys, buffers.more_places), buffers.counts),
    )
    words = keys, begins, plan.num_keys, plan.num_segments
    yield StepLaunch(StepVariant(Step.BEGINS, number), plan.num_segments + 1, words)
    cols = sizes.inner // elements
    packs = sizes.batch * sizes.outer * sizes.num_segments * cols
    sums = SumWords(
        data=tuple(data),
        places=places,
        begins=begins,
        out=out,
        packs=packs,
        cols=divisor(cols, bits),
        segments=divisor(sizes.num_segments, bits),
        outer=divisor(sizes.outer, bits),
        num_ids=sizes.num_ids,
        walk=tuple(buffers.walk),
    )
    yield StepLaunch(StepVariant(Step.SUM, number, bits, elements), packs, tuple(flat(sums)))
    if plan.most_parts:
        yield from _long_runs(sizes, plan, buffers, keys, places, elements)


def _long_runs(
    sizes: SegmentSizes, plan: SegmentPlan, buffers: Buffers, keys: int, places: int, elements: int
) -> Iterator[StepLaunch]:
    """Yield the launches that list the parts of long runs, add each up, and add up their sums."""
    number, bits, counts, tiles = plan.number, plan.bits, buffers.counts, plan.part_tiles
    begins, parts, sums = buffers.begins, buffers.parts, buffers.sums
    found = plan.num_keys, plan.num_segments, tiles
    if tiles > 1:
        yield StepLaunch(StepVariant(Step.COUNT_PARTS, number), tile_grid(tiles), (keys, begins, counts, *found))
        yield StepLaunch(StepVariant(Step.SCAN, number), tile_grid(1), (counts, tiles))
    yield StepLaunch(StepVariant(Step.LIST_PARTS, number), tile_grid(tiles), (keys, begins, counts, parts, *found))
    most, outer, segments = plan.most_parts * plan.part_elements, divisor(sizes.outer, bits), sizes.num_segments
    part_words = PartWords(
        data=tuple(buffers.data),
        places=places,
        keys=keys,
        begins=begins,
        parts=parts,
        sums=sums,
        cols=divisor(sizes.inner // elements, bits),
        outer=outer,
        segments=divisor(segments, bits),
        num_ids=sizes.num_ids,
        walk=tuple(buffers.walk),
    )
    yield StepLaunch(StepVariant(Step.SUM_PARTS, number, bits, elements), most // elements, tuple(flat(part_words)))
    divisors = divisor(sizes.inner, bits), outer, divisor(segments, bits)
    words = LongRunWords(sums, keys, begins, parts, buffers.out, *divisors)
    yield StepLaunch(StepVariant(Step.SUM_LONG, number, bits), most, tuple(flat(words)))


def sort_steps(
    number: DataType,
    count: int,
    digits: int,
    tiles: int,
    source: tuple[int, int],
    target: tuple[int, int],
    counts: int,
    has_places: bool = False,
) -> Generator[StepLaunch, None, tuple[int, int]]:
    """Yield the launches that sort keys; returns the addresses of the sorted keys and places.

    source, target: the addresses of keys and places, before and after a digit. counts: that of the counts of tiles.
    has_places: whether each key has a place; otherwise its place is its number.
    """
    one_block, grid = tile_grid(1), tile_grid(tiles)
    if tiles == 1 and not has_places:
        yield StepLaunch(StepVariant(Step.SORT_BLOCK, number), one_block, (*source, *target, count, digits))
        return target if digits % 2 else source
    for digit in range(digits):
        shift = digit * DIGIT_BITS
        yield StepLaunch(StepVariant(Step.COUNT, number), grid, (source[0], counts, count, tiles, shift))
        yield StepLaunch(StepVariant(Step.SCAN, number), one_block, (counts, DIGITS * tiles))
        words = source[0], source[1] if digit or has_places else 0, *target, counts, count, tiles, shift
        yield StepLaunch(StepVariant(Step.SCATTER, number), grid, words)
        source, target = target, source
    return source
