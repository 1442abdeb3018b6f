"""The plan of a reduction: the elements of a thread, and the number of blocks that share one value.

It depends only on the shape, so results have the same bits at any address.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final, NamedTuple

from ep.common.primitive.movement import fits_32_bit_offsets
from ep.common.primitive.reduce_shape import Axis
from ep.common.primitive.strides import contiguous_strides
from ep.cuda.compile.kernel_words import Words, flat, walk_words
from ep.cuda.compile.launch_config import BLOCK_THREADS, MAX_BLOCKS, PACK_BYTES, WARP_THREADS, Grid, row_elements
from ep.include.primitive.structure import kMaxRow


class Axes(NamedTuple):
    """The numbers of kept and of reduced axes, and the bits of offsets, for which a kernel is compiled."""

    kept: int
    reduced: int
    bits: int


class RowVariant(NamedTuple):
    """A kernel that reduces the last axis: `row_threads` threads share packs of `elements` of it.

    partial: whether a block has a part of the values, and writes states for a second kernel.
    by_rows: distinguishes it from a ColumnVariant: tuples are compared only by their fields.
    """

    axes: Axes
    elements: int
    aligned: bool
    row_threads: int
    partial: bool
    by_rows: bool = True


class ColumnVariant(NamedTuple):
    """A kernel that keeps the last axis: a thread has packs of `elements` results, which `sharers` threads share."""

    axes: Axes
    elements: int
    aligned: bool
    sharers: int
    partial: bool
    by_rows: bool = False


class FinishVariant(NamedTuple):
    """The kernel that makes a value of the states of its parts, by `row_threads` threads."""

    row_threads: int


Variant = RowVariant | ColumnVariant | FinishVariant


class ReadWords(NamedTuple):
    """The words by which a kernel finds elements: of their source, of the walks over the axes that stay and over those
    that go, and of the walk of the source."""

    source: Words
    kept: Words
    reduced: Words
    walk: Words


class ReducePlan(NamedTuple):
    """A launch. words, walks: what the kernel takes besides addresses, and the number of elements of a value.

    parts: into which the elements of each value are divided; per_result: those elements.
    finish, finish_grid: the second kernel, if there is more than one part.
    """

    variant: RowVariant | ColumnVariant
    grid: Grid
    words: tuple[int, ...]
    walks: tuple[Words, Words]
    num_results: int
    parts: int
    per_result: int
    finish: FinishVariant
    finish_grid: Grid

    def part_words(self, dst: int, source: Sequence[int], walk: Sequence[int] = ()) -> tuple[int, ...]:
        """Return the words of the first kernel. source, walk: the words of its source, and of the walk over it."""
        return dst, *self.words, self.per_result, *flat(ReadWords(tuple(source), *self.walks, tuple(walk)))

    def finish_words(self, states: int, dst: int) -> tuple[int, ...]:
        """Return those of the second one."""
        return states, dst, self.num_results, self.parts, self.per_result

    @property
    def scratch_bytes(self) -> int:
        """The bytes of the states between the two launches."""
        return self.num_results * self.parts * _STATE_BYTES


_BLOCKS: Final = 1024
"""From this many blocks on there is no need to divide values into parts: they fill every GPU of today."""

_PART_BYTES: Final = 2**15
"""A part is at least this many bytes for a block. Rows as an Expression has them have one: its kernels add them up so.
"""

_STATE_BYTES: Final = 32
"""The bytes of the largest state in memory: four numbers of float64."""

_THREAD_ELEMENTS: Final = 16
"""Elements of a row that a thread has, at most or about, while there are further threads: with few elements, the merge
of many threads would take longer than the elements."""

_COLUMN_ELEMENTS: Final = 4
"""Results of a thread at most, each of which has a state of its own."""


def reduce_plan(axes: Sequence[Axis], itemsize: int, alignment: int) -> ReducePlan:
    """Return the plan for the axes of `ReduceShape.simplified`.

    alignment: the widest unit that src is a multiple of.
    """
    strides = contiguous_strides([axis.size for axis in axes])
    kept = [(axis.size, step) for axis, step in zip(axes, strides, strict=True) if not axis.reduced] or [(1, 0)]
    reduced = [(axis.size, step) for axis, step in zip(axes, strides, strict=True) if axis.reduced] or [(1, 0)]
    by_rows = axes[-1].reduced
    return (_by_rows if by_rows else _by_columns)(kept, reduced, itemsize, alignment)


def _by_rows(kept: list[tuple[int, int]], reduced: list[tuple[int, int]], itemsize: int, alignment: int) -> ReducePlan:
    num_results, count = _product(kept), _product(reduced)
    cols, pack = reduced[-1][0], PACK_BYTES // itemsize
    elements = elements_of_rows(num_results, cols, pack) if len(reduced) == 1 else row_elements(cols, pack)
    packs, rest = count // elements, count % elements  # there is a rest only for one row
    aligned = alignment >= elements * itemsize
    threads = row_threads(packs, elements, pack)
    blocks = -(-num_results // (BLOCK_THREADS // threads))
    part = _part(packs, blocks, packs * elements * itemsize if count > kMaxRow else 0)
    parts = max(-(-packs // part), 1)
    inner = [*reduced[:-1], (cols // elements, elements)]
    walks, form = _walks(kept, inner, num_results * count)
    return ReducePlan(
        RowVariant(form, elements, aligned, threads, parts > 1),
        Grid((min(blocks, MAX_BLOCKS), parts, 1)),
        (num_results, packs, part, rest),
        walks,
        *(num_results, parts, count, *_finish(num_results, parts)),
    )


def _by_columns(
    kept: list[tuple[int, int]], reduced: list[tuple[int, int]], itemsize: int, alignment: int
) -> ReducePlan:
    num_results, count = _product(kept), _product(reduced)
    cols = kept[-1][0]
    elements = row_elements(cols, min(PACK_BYTES // itemsize, _COLUMN_ELEMENTS))
    sharers = 1 if count < 32 else (8 if cols // elements >= WARP_THREADS // 2 else 64)
    sharers = min(sharers, BLOCK_THREADS)
    width = BLOCK_THREADS // sharers
    packs = num_results // elements
    blocks = -(-packs // width)
    part = _part(count, blocks, count * width * elements * itemsize if sharers > 1 else 0)
    parts = max(-(-count // part), 1)
    if (
        alignment < elements * itemsize
    ):  # each thread has adjacent columns one by one, and adds up as many of their rows
        elements = max(alignment // itemsize, 1)
        packs = num_results // elements
        blocks = -(-packs // width)
    outer = [*kept[:-1], (cols // elements, elements)]
    walks, form = _walks(outer, reduced, num_results * count)
    return ReducePlan(
        ColumnVariant(form, elements, alignment >= elements * itemsize, sharers, parts > 1),
        Grid((min(blocks, MAX_BLOCKS), parts, 1)),
        (packs, count, part),
        walks,
        *(num_results, parts, count, *_finish(num_results, parts)),
    )


def _product(axes: Sequence[tuple[int, int]]) -> int:
    return math.prod(size for size, _ in axes)


def elements_of_rows(num_rows: int, cols: int, pack: int) -> int:
    """Return the elements of the packs of a row: for one row, whole packs and a rest."""
    return pack if num_rows == 1 else row_elements(cols, pack)


def row_threads(packs: int, elements: int, pack: int) -> int:
    """Return the threads of a row with this many packs: one of few numbers, because each needs a separate kernel.

    If packs have fewer elements than those of most rows (`pack`), a thread has more of them.
    """
    if packs <= 4:
        return 1
    if packs <= 256 << min((pack // elements).bit_length() - 1, 3):
        return threads_of_warp(packs, elements)
    return threads_of_elements(packs * elements, pack)


def threads_of_warp(packs: int, elements: int) -> int:
    """Return the threads of a warp that share a row of more than four packs, in a reduction and in a softmax alike.

    Each has at most four packs, or eight of few elements, unless the warp has no more threads: what a thread does once
    for a row takes the time of many elements. With more single numbers for each of fewer threads, these would request
    the sectors at both ends of what they read together more often.
    """
    threads = power_of_two(-(-packs // min(max(_THREAD_ELEMENTS // elements, 4), 8)))
    return min(max(threads, 8), WARP_THREADS)


def threads_of_elements(count: int, pack: int) -> int:
    """Return the threads, several warps, that share a row of `count` elements which is too long for one warp.

    Each has at most four packs of `pack` elements, in the type of arithmetic, unless the block has no more threads.
    """
    return min(power_of_two(-(-count // min(4 * pack, _THREAD_ELEMENTS))), BLOCK_THREADS)


def power_of_two(number: int) -> int:
    """Return the least power of two that is not less than `number` > 0."""
    return 1 << (number - 1).bit_length()


def _part(count: int, blocks: int, block_bytes: int) -> int:
    """Return how many of `count` packs a part has, if a block without parts would read `block_bytes`."""
    parts = max(min(-(-_BLOCKS // blocks), block_bytes // _PART_BYTES), 1) if blocks else 1
    return max(-(-count // parts), 1)


def _walks(
    kept: Sequence[tuple[int, int]], reduced: Sequence[tuple[int, int]], num_elements: int
) -> tuple[tuple[Words, Words], Axes]:
    bits = 32 if fits_32_bit_offsets(num_elements) else 64

    def words(axes: Sequence[tuple[int, int]]) -> Words:
        dims, strides = zip(*axes, strict=True)
        return walk_words(dims, [strides], bits)

    return (words(kept), words(reduced)), Axes(len(kept), len(reduced), bits)


def _finish(num_results: int, parts: int) -> tuple[FinishVariant, Grid]:
    row_threads = WARP_THREADS if parts <= 128 else BLOCK_THREADS
    blocks = -(-num_results // (BLOCK_THREADS // row_threads))
    return FinishVariant(row_threads), Grid((min(blocks, MAX_BLOCKS), 1, 1))
