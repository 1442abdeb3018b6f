"""Sums of narrow rows by segments: each row is added directly to the segment of its id, one after the other.

An id then costs one random memory access; sorting needs three. Threads share segments: each reads all ids, and
adds the rows of its own segments. So all rows of a segment are added in their order, by one thread.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Final

from ep.common.loops import unrolled
from ep.common.native.fields import Int64, word, words
from ep.common.native.record import Record
from ep.cpu.compile.compiler import compile_task
from ep.cpu.compile.conversion import arithmetic
from ep.cpu.compile.jit import inlined, jit
from ep.cpu.compile.memory import allocate, release, set_bytes
from ep.cpu.compile.vector import convert, elements, load, store, vector
from ep.cpu.engine.move.gather_rows import row_finder
from ep.cpu.engine.reduce.state import SegmentsContext, SegmentState
from ep.cpu.engine.reduce.vectors import VECTOR_BYTES
from ep.cpu.lines.sizes import LINE
from ep.cpu.shared.context import Context
from ep.cpu.shared.state import GRAIN_BYTES
from ep.cpu.threads.parallel import call_task, run
from ep.cpu.threads.scratch import give_back, take, thread_memory
from ep.include.data_type import DataType
from ep.include.number_kind import HALVES

NARROW: Final = VECTOR_BYTES
"""The most bytes of a narrow row."""

BLOCK: Final = 256
"""Ids per block; the needed ones of a block are found first, without a branch."""


class FoundRows(Record):
    """The rows of a block that the task of a `finder` has found, with their segments."""

    count = word()
    segments = words(BLOCK)  # counted from the first of those that are looked for
    rows = words(BLOCK)


FOUND_BYTES: Final = (8 * FoundRows.num_words + LINE - 1) & -LINE


@cache
def finder(ids_type: DataType) -> int:
    """Return the address of the task (ids, begin, end, zero, first, last, found, parts).

    zero: the id of segment 0. parts: into how many parts all segments are cut. The task finds the ids in [begin, end)
        of segments [first, last), and writes them to `found`, `FoundRows`.
    """
    find, unsigned = row_finder(ids_type), ids_type.dtype.kind == "u"

    def needed(ids: int, begin: int, end: int, zero: int, first: int, last: int, found: FoundRows, parts: int) -> None:
        low = max(zero + first, 0) if unsigned else zero + first  # an unsigned id is never below 0
        skipped = low - zero - first
        valid, number, outside = max(last - first - skipped, 0), 0, 0
        if parts == 1:  # mostly, all are found: this loop has no branch, and is vectorised
            for k in range(end - begin):
                segment, there = find(ids, begin + k, low, valid, skipped)
                found.segments[k] = segment
                found.rows[k] = begin + k
                outside += 0 if there else 1
            if outside == 0:
                found.count = end - begin
                return
        for i in range(begin, end):
            segment, there = find(ids, i, low, valid, skipped)
            found.segments[number] = segment
            found.rows[number] = i
            number += 1 if there else 0
        found.count = number

    return compile_task(f"segments.needed.{ids_type.name}", needed, num_words=8)


@cache
def adder(data_type: DataType) -> int:
    """Return the address of the task (sums, data, found, count, apart) that adds the rows found by a `finder`.

    Each row is `count` numbers; those of sums begin `apart` numbers apart.
    """
    most = VECTOR_BYTES // arithmetic(data_type).itemsize
    adders = tuple((width, _rows_adder(data_type, width)) for width in (16, 8, 4, 2, 1) if width <= most)

    def add(sums: int, data: int, found: FoundRows, count: int, apart: int) -> None:
        for width, add_rows in unrolled(adders):
            if count >= width:
                add_rows(sums, data, found, count, apart)
                return

    return compile_task(f"segments.add.{data_type.name}", add, num_words=5, light=True)


def _rows_adder(data_type: DataType, width: int) -> Any:
    """Return a function like the task of `adder`, of rows of at least `width` numbers, or of one if width is 1."""
    real = arithmetic(data_type)
    Sums, Numbers = elements(real), elements(data_type)
    steps = tuple((vector(real, lanes), vector(data_type, lanes)) for lanes in sorted({width, 1}, reverse=True))

    @inlined
    def add_rows(sums: int, data: int, found: FoundRows, count: int, apart: int) -> None:
        for place in range(found.count):
            to, source = Sums.at(sums)[found.segments[place] * apart :], Numbers.at(data)[found.rows[place] * count :]
            index = 0
            for Row, Stored in unrolled(steps):
                while index < count - (Row.lanes - 1):
                    store(to, index, load(Row, to, index) + convert(Row, load(Stored, source, index)))
                    index += Row.lanes

    return add_rows


@cache
def narrower(data_type: DataType) -> int:
    """Return the address of the task (out, sums, first, last) that rounds sums in float32 to numbers [first, last) of a
    16-bit type; 0 for other types."""
    if data_type not in HALVES:
        return 0
    real = arithmetic(data_type)
    width = VECTOR_BYTES // real.itemsize
    Row, Rounded, Sums, Numbers = vector(real, width), vector(data_type, width), elements(real), elements(data_type)

    def narrow(out: int, sums: int, first: int, last: int) -> None:
        rounded, index = Numbers.at(out), first
        while index < last - (width - 1):
            store(rounded, index, convert(Rounded, load(Row, sums, index)))
            index += width
        while index < last:
            rounded[index] = Sums.at(sums)[index]
            index += 1

    return compile_task(f"segments.narrow.{data_type.name}", narrow, num_words=4, light=True)


def _walk(context: SegmentsContext, begin: int, end: int) -> None:
    state, ids, data, out, sums = context.state, context.ids, context.data, context.out, context.sums
    outer, segments, num_ids, parts = context.outer, context.num_segments, context.num_ids, context.parts
    numbers, row_bytes = context.numbers, context.row_bytes
    narrow, size = state.narrow, state.sum_bytes
    zero, ids_size, memory = context.offset, context.ids_size, thread_memory()
    found = take(memory, FOUND_BYTES)
    for unit in range(begin, end):
        place, part = unit // parts, unit % parts
        first, last = part * segments // parts, (part + 1) * segments // parts
        of_part = sums + (place * segments + first) * numbers * size
        set_bytes(of_part, (last - first) * numbers * size, 0)
        ids_of_batch, rows = ids + place // outer * num_ids * ids_size, data + place * num_ids * row_bytes
        for block in range(0, num_ids, BLOCK):
            stop = min(block + BLOCK, num_ids)
            call_task(state.find, ids_of_batch, block, stop, zero, first, last, found, parts)
            call_task(state.add, of_part, rows, found, numbers, numbers)
        if narrow != 0:
            begins = (place * segments + first) * numbers
            call_task(narrow, out, sums, begins, begins + (last - first) * numbers)
    give_back(memory, found)


@cache
def narrow_task() -> int:
    """Return the address of the task (context, begin, end) on parts of each batch's segments."""
    return compile_task("segments.parts", _walk)


@jit
def segments_context(
    segments: SegmentsContext,
    context: Context,
    outer: int,
    num_segments: int,
    numbers: int,
    row_bytes: int,
    num_ids: int,
    offset: int,
) -> None:
    """Write the context of sums by segments of a launch, before anything is sorted."""
    segments.data = context.sources[0].data
    segments.ids = context.sources[1].data
    segments.out = context.dst
    segments.state = SegmentState.at(context.state)
    segments.outer = outer
    segments.num_segments = num_segments
    segments.numbers = numbers
    segments.row_bytes = row_bytes
    segments.num_ids = num_ids
    segments.offset = offset
    segments.starts = Int64.at(0)
    segments.order = Int64.at(0)
    segments.most = 0
    segments.alone = 0
    segments.tiles = 0
    segments.ids_size = context.sources[1].size


@jit
def sum_narrow(context: SegmentsContext, batch: int, work: int) -> int:
    """Sum narrow rows; work: bytes that could be moved in the same time. Return 1 if there is no memory."""
    state, units = context.state, batch * context.outer
    segments, numbers, threads = context.num_segments, context.numbers, state.settings.num_threads
    parts = max(min((threads + units - 1) // units, work // GRAIN_BYTES, segments), 1)
    sums, kept = context.out, 0
    if state.narrow != 0:
        kept = allocate(units * segments * numbers * state.sum_bytes)
        if kept == 0:
            return 1
        sums = kept
    context.sums = sums
    context.parts = parts
    task = state.narrow_task
    run(state, task, context, units * parts, max(GRAIN_BYTES * units * parts // work, 1))
    release(kept)
    return 0
