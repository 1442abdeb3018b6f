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
from ep.cuda.compile.kernel_words import divisor
from ep.cuda.compile.launch_config import BLOCK_THREADS, MAX_BLOCKS, WARP_THREADS, Grid
from ep.cuda.engine.reduce.plan import power_of_two
from ep.cuda.engine.reduce.segment_plan import DIGIT_BITS, DIGITS, StepVariant, tiles_of
from ep.cuda.engine.reduce.segment_steps import sort_steps
from ep.include.data_type import DataType

_BLOCKS: Final = 1024
"""From this many blocks on there is no need to cut lines: they fill every GPU of today."""

_LEAST_PART: Final = 2**13
"""The least elements of a part of the lines of a block."""

_THREAD_ELEMENTS: Final = 16
"""The elements of a line that a thread compares at most or about, while there are further threads."""


class Task(Enum):
    """What a kernel of `kernels.arg_sort` does."""

    FIND = auto()
    MERGE = auto()
    KEYS = auto()
    LINES = auto()
    RESULTS = auto()

    __hash__ = object.__hash__


class ArgSortVariant(NamedTuple):
    """A kernel: number: the type of keys and places while they are sorted. bits: of the arithmetic of indices.

    width: the lines of a block; other threads share them.
    """

    task: Task
    number: DataType = DataType.kInt64
    bits: int = 32
    width: int = 1


class ArgSortPlan(NamedTuple):
    """The plan of a launch with sizes > 0. number, bits, width: as in ArgSortVariant. parts: of each line."""

    itemsize: int
    sizes: SortSizes
    number: DataType
    bits: int
    width: int
    parts: int
    arrays: tuple[int, ...]
    """Where the arrays between kernels begin in their memory, and its bytes."""


@lru_cache(256)
def arg_sort_plan(itemsize: int, sizes: SortSizes) -> ArgSortPlan:
    """Return the plan for elements of `itemsize` bytes."""
    _, size, inner, num_places = sizes
    count, lines, parts = sizes.lines * size, sizes.lines, 1
    bits = 32 if fits_32_bit_offsets(count) else 64
    arrays: tuple[int, ...]
    number = DataType.kInt32 if itemsize <= 4 and bits == 32 and num_places > 1 else DataType.kInt64
    sharers = min(power_of_two(-(-size // _THREAD_ELEMENTS)), BLOCK_THREADS)
    width = max(BLOCK_THREADS // sharers, min(power_of_two(inner), WARP_THREADS))
    if num_places > 1:
        arrays = *[count] * 4, DIGITS * tiles_of(count)
    else:
        parts = max(min(_BLOCKS // -(-lines // width), size * width // _LEAST_PART), 1)
        arrays = (lines * parts,) * 2 if parts > 1 else (0, 0)
    ends = accumulate(-(-length * number.itemsize // 16) * 16 for length in arrays)
    return ArgSortPlan(itemsize, sizes, number, bits, width, parts, (0, *ends))


Launched = tuple[ArgSortVariant | StepVariant, Grid | int, tuple[int, ...]]
"""A kernel, its grid or the number of items that it has threads for, and its words."""


def arg_sort_steps(plan: ArgSortPlan, keys: KeyWords, x: int, out: int, memory: int) -> Iterator[Launched]:
    """Yield the launches. memory: the address of the arrays between kernels."""
    arrays = [memory + place for place in plan.arrays]
    yield from (_find if plan.sizes.num_places == 1 else _sort)(plan, keys, x, out, arrays)


def _find(plan: ArgSortPlan, keys: KeyWords, x: int, out: int, arrays: list[int]) -> Iterator[Launched]:
    (_, size, inner, _), (found, places, _), lines = plan.sizes, arrays, plan.sizes.lines
    width, parts, to = plan.width, plan.parts, (0, out) if plan.parts == 1 else (found, places)
    variant = ArgSortVariant(Task.FIND, bits=plan.bits, width=width)
    grid = Grid((min(-(-lines // width), MAX_BLOCKS), parts, 1))
    yield variant, grid, (x, *to, *keys, lines, size, -(-size // parts), *divisor(inner, plan.bits))
    if parts > 1:
        yield ArgSortVariant(Task.MERGE), lines, (found, places, out, lines, parts)


def _sort(plan: ArgSortPlan, keys: KeyWords, x: int, out: int, arrays: list[int]) -> Iterator[Launched]:
    (_, size, inner, num_places), number, lines = plan.sizes, plan.number, plan.sizes.lines
    source, target, counts, count = (arrays[0], arrays[1]), (arrays[2], arrays[3]), arrays[4], lines * size
    tiles, by_keys = tiles_of(count), 8 * plan.itemsize // DIGIT_BITS

    def variant(task: Task) -> ArgSortVariant:
        return ArgSortVariant(task, number, plan.bits)

    yield variant(Task.KEYS), count, (x, source[0], *keys, count, *divisor(size, plan.bits), *divisor(inner, plan.bits))
    found = yield from sort_steps(number, count, by_keys, tiles, source, target, counts)
    if lines > 1:
        source, target = found, target if found == source else source
        yield variant(Task.LINES), count, (source[1], source[0], count, *divisor(size, plan.bits))
        digits = -(-(lines - 1).bit_length() // DIGIT_BITS)
        found = yield from sort_steps(number, count, digits, tiles, source, target, counts, has_places=True)
    wanted = lines * num_places
    divisors = *divisor(num_places, plan.bits), *divisor(inner, plan.bits)
    yield variant(Task.RESULTS), wanted, (found[1], out, wanted, size, *divisors)
