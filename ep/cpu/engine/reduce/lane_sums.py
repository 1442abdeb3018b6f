"""Sums of the lanes of several vectors at once: for rows of reductions, eight of them, and for dot products.

The pass over a row leaves a *record*: one vector of float64, or two, the second with the rounding errors. Adding up the
lanes of one record takes a core as long as several vectors of elements. So the lanes of eight rows are added up
together, in the same order for any choice of rows.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Final

from ep.common.loops import unrolled
from ep.common.native.fields import AnyPointer
from ep.cpu.compile.jit import inlined
from ep.cpu.compile.vector import lanes_below, shuffle, store, vector
from ep.cpu.compile.vector_class import Vector
from ep.cpu.vector_math.sums import sum_of
from ep.include.data_type import DataType

LANES: Final = 8
RECORD_VECTOR: Final = 8 * LANES
"""Bytes of a vector of a record."""
Sums: Final = vector(DataType.kDouble, LANES)
"""The class of the vectors of records."""


@cache
def record_keeper(exact: bool) -> Any:
    """Return a function keep(record, first, sums) that writes a record if `first`, and otherwise adds to it.

    exact: whether a record is two vectors. sums: an array of these vectors, which is changed.
    """

    @inlined
    def keep(record: int, first: bool, sums: Vector) -> None:
        kept = Sums.at(record)
        if not first:
            total, lost = sum_of(kept[0], sums[0])
            sums[0] = total
            if exact:
                sums[1] = kept[1] + sums[1] + lost
        kept[0] = sums[0]
        if exact:
            kept[1] = sums[1]

    return keep


def _blocks(width: int, lanes: int) -> tuple[Any, Any]:
    """Return functions of two vectors that take blocks of `width` lanes from both in turn: even ones, odd ones."""
    places = [divmod(lane, 2 * width) for lane in range(lanes)]
    even = [2 * width * pair + (lane if lane < width else lanes + lane - width) for pair, lane in places]
    return shuffle(*even), shuffle(*(lane + width for lane in even))


@cache
def lane_adder(lanes: int, count: int) -> Any:
    """Return a function add(vectors) that adds up the lanes of `count` vectors, a power of two, which are changed.

    The sums are then the first `count` lanes of the vectors, in order. Neighbours are added first, then pairs of them,
    and so on, of two vectors each time; if there are fewer vectors than lanes, halves of the last one are.
    """
    steps, halves, width = [], [], 1
    while width < min(lanes, count):
        steps.append((count // 2 // width, *_blocks(width, lanes)))
        width *= 2
    half = lanes // 2
    while half >= width:
        halves.append(shuffle(*((lane + half) % lanes for lane in range(lanes))))
        half //= 2
    pairs, rest = tuple(steps), tuple(halves)

    @inlined
    def add(vectors: AnyPointer) -> None:
        for number, lower, upper in unrolled(pairs):
            for k in unrolled(range(number)):
                a, b = vectors[2 * k], vectors[2 * k + 1]
                vectors[k] = lower(a, b) + upper(a, b)
        for other in unrolled(rest):
            vectors[0] = vectors[0] + other(vectors[0])

    return add


@cache
def lane_folder(exact: bool) -> Any:
    """Return a function fold(records, rows, totals, errors) that writes the sums of at most eight rows.

    exact: whether a record is two vectors; otherwise all errors are 0.
    """
    parts, add = 2 if exact else 1, lane_adder(LANES, LANES)

    @inlined
    def fold(records: int, rows: int, totals: int, errors: int) -> None:
        kept, sums, used = Sums.at(records), Sums.array_on_stack(LANES), lanes_below(rows, LANES)
        for part in unrolled(range(parts)):
            for row in unrolled(range(LANES)):
                sums[row] = kept[parts * row + part]
            add(sums)
            store(totals if part == 0 else errors, 0, sums[0], used)
        if not exact:
            store(errors, 0, Sums.zero(), used)

    return fold
