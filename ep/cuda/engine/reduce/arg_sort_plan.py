"""The kernels of a launch of ArgSort, in sequence.

One place is found by blocks that compare keys. For several, all keys are sorted by their digits, then by their lines.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum, auto
from functools import lru_cache
from itertools import accumulate
from typing import Final, NamedTuple

from ep.common.primitive.movement import fits_32_bit_offsets
from ep.common.primitive.sort_keys import KeyWords, SortSizes
from ep.cuda.compile.launch_config import MAX_BLOCKS, WARP_THREADS, Grid
from ep.cuda.engine.reduce.plan import power_of_two
from ep.cuda.engine.reduce.segment_plan import DIGIT_BITS, DIGITS, StepVariant, tiles_of
from ep.cuda.engine.reduce.segment_steps import sort_steps
from ep.include.data_type import DataType

_BLOCKS: Final = 1024
"""From this many blocks on there is no need to cut lines: they fill every GPU of today."""

_LEAST_PART: Final = 2**13
"""The least elements of a part of a line."""


class Task(Enum):
    """What a kernel of `kernels.arg_sort` does."""

    FIND = auto()
    MERGE = auto()
    KEYS = auto()
    LINES = auto()
    RESULTS = auto()

    __hash__ = object.__hash__


class ArgSortVariant(NamedTuple):
    """A kernel: number: the type of keys and places while they are sorted. lanes: adjacent columns of a block."""

    task: Task
    number: DataType = DataType.kInt64
    lanes: int = 1


class ArgSortPlan(NamedTuple):
    """The plan of a launch with sizes > 0. number, lanes: as in ArgSortVariant. parts: of each line."""

    itemsize: int
    sizes: SortSizes
    number: DataType
    lanes: int
    parts: int
    arrays: tuple[int, ...]
    """Where the arrays between kernels begin in their memory, and its bytes."""


@lru_cache(256)
def arg_sort_plan(itemsize: int, sizes: SortSizes) -> ArgSortPlan:
    """Return the plan for elements of `itemsize` bytes."""
    outer, size, inner, num_places = sizes
    count, lanes, parts = outer * size * inner, min(power_of_two(inner), WARP_THREADS), 1
    arrays: tuple[int, ...]
    if num_places == 1:
        number, blocks = DataType.kInt64, outer * -(-inner // lanes)
        parts = max(min(_BLOCKS // blocks, size * lanes // _LEAST_PART), 1)
        found = outer * parts * inner * (parts > 1)
        arrays = found, found
    else:
        number = DataType.kInt32 if itemsize <= 4 and fits_32_bit_offsets(count) else DataType.kInt64
        arrays = *[count] * 4, DIGITS * tiles_of(count)
    ends = accumulate(-(-length * number.itemsize // 16) * 16 for length in arrays)
    return ArgSortPlan(itemsize, sizes, number, lanes, parts, (0, *ends))


Launched = tuple[ArgSortVariant | StepVariant, Grid | int, tuple[int, ...]]
"""A kernel, its grid or the number of items that it has threads for, and its words."""


def arg_sort_steps(plan: ArgSortPlan, keys: KeyWords, x: int, out: int, memory: int) -> Iterator[Launched]:
    """Yield the launches. memory: the address of the arrays between kernels."""
    arrays = [memory + place for place in plan.arrays]
    yield from (_find if plan.sizes.num_places == 1 else _sort)(plan, keys, x, out, arrays)


def _find(plan: ArgSortPlan, keys: KeyWords, x: int, out: int, arrays: list[int]) -> Iterator[Launched]:
    (outer, size, inner, _), lanes, parts = plan.sizes, plan.lanes, plan.parts
    blocks = -(-inner // lanes)
    units, part, (found, places, _) = outer * parts * blocks, -(-size // parts), arrays
    to = (0, out) if parts == 1 else (found, places)
    grid = Grid((min(units, MAX_BLOCKS), 1, 1))
    yield ArgSortVariant(Task.FIND, lanes=lanes), grid, (x, *to, *keys, units, size, inner, blocks, part, parts)
    if parts > 1:
        yield ArgSortVariant(Task.MERGE), outer * inner, (found, places, out, outer * inner, inner, parts)


def _sort(plan: ArgSortPlan, keys: KeyWords, x: int, out: int, arrays: list[int]) -> Iterator[Launched]:
    (outer, size, inner, num_places), number = plan.sizes, plan.number
    source, target, counts, count = (arrays[0], arrays[1]), (arrays[2], arrays[3]), arrays[4], outer * size * inner
    tiles, lines = tiles_of(count), outer * inner
    yield ArgSortVariant(Task.KEYS, number), count, (x, source[0], *keys, count, size, inner)
    found = yield from sort_steps(number, count, 8 * plan.itemsize // DIGIT_BITS, tiles, source, target, counts)
    if lines > 1:
        source, target = found, target if found == source else source
        yield ArgSortVariant(Task.LINES, number), count, (source[1], source[0], count, size)
        digits = -(-(lines - 1).bit_length() // DIGIT_BITS)
        found = yield from sort_steps(number, count, digits, tiles, source, target, counts, has_places=True)
    count = lines * num_places
    yield ArgSortVariant(Task.RESULTS, number), count, (found[1], out, count, size, inner, num_places)
