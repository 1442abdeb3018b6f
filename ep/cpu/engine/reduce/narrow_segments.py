"""Sums of narrow rows by segments: each row is added directly to the segment of its id, one after the other.

An id then costs one random memory access; sorting needs three. Threads share segments: each reads all ids, and
adds the rows of its own segments. So all rows of a segment are added in their order, by one thread.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Final

from ep.common.native.emitted import emitted
from ep.common.native.fields import word, words
from ep.common.native.record import Record
from ep.cpu.compile.compiler import compile_task
from ep.cpu.compile.conversion import HALVES, narrowed
from ep.cpu.compile.jit import jit
from ep.cpu.compile.memory import allocate, release, set_bytes
from ep.cpu.compile.vectors import WORD, counted_at_head, load, store
from ep.cpu.engine.move.gather_rows import row_finder
from ep.cpu.engine.reduce.state import SegmentsContext
from ep.cpu.engine.reduce.vectors import (
    VECTOR_BYTES,
    Lanes,
    by_width,
    combined,
    lanes_in_order,
    read_values,
)
from ep.cpu.lines.sizes import LINE
from ep.cpu.shared.context import Context
from ep.cpu.shared.state import GRAIN_BYTES
from ep.cpu.threads.parallel import call_task, run
from ep.cpu.threads.scratch import give_back, take, thread_memory
from ep.include.data_type import DataType

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
def _adder(data_type: DataType) -> Any:
    """Return a function add(sums, segments, data, rows, number, count, apart).

    It adds rows[i] of data to segments[i] of sums for i < number. Each row is `count` numbers; those of sums begin
    `apart` numbers apart. 16-bit floating types are added in float32.
    """
    of = lanes_in_order(data_type)

    @emitted()
    def add_rows(
        builder: Any, sums: Any, segments: Any, data: Any, rows: Any, number: Any, count: Any, apart: Any
    ) -> None:
        def add_all(width: int) -> None:
            def one_row(place: Any, _: Any) -> None:
                segment, row = (load(builder, each, WORD, place, align=8) for each in (segments, rows))
                to, source = builder.mul(segment, apart), builder.mul(row, count)

                def columns(size: int) -> Any:
                    def add(index: Any, _: Any) -> None:
                        _add(builder, of, sums, builder.add(to, index), data, builder.add(source, index), size)

                    return add

                if width == 1:  # the only column
                    columns(1)(WORD(0), None)
                    return
                whole = builder.and_(count, WORD(-width))
                counted_at_head(builder, WORD(0), whole, width, [], columns(width))
                counted_at_head(builder, whole, count, 1, [], columns(1))

            counted_at_head(builder, WORD(0), number, 1, [], one_row)

        widths = (16, 8, 4, 2, 1)
        by_width(builder, tuple(width for width in widths if width * of.size <= VECTOR_BYTES), count, add_all)

    return add_rows


def _add(builder: Any, of: Lanes, sums: Any, to: Any, data: Any, source: Any, count: int) -> None:
    """Add `count` numbers of data to numbers of sums."""
    before = load(builder, sums, of.vector(count), to)
    store(builder, combined(builder, of, before, read_values(builder, of, data, source, count, None)), sums, to)


@cache
def _narrower(data_type: DataType) -> Any:
    """Return a function narrow(out, sums, first, last) that rounds sums in float32 to numbers [first, last) of out."""
    of = lanes_in_order(data_type)

    @emitted()
    def narrow(builder: Any, out: Any, sums: Any, first: Any, last: Any) -> None:
        def numbers(width: int) -> Any:
            def convert(index: Any, _: Any) -> None:
                value = load(builder, sums, of.vector(width), index)
                store(builder, narrowed(builder, value, data_type), out, index)

            return convert

        width = VECTOR_BYTES // of.size
        whole = builder.add(first, builder.and_(builder.sub(last, first), WORD(-width)))
        counted_at_head(builder, first, whole, width, [], numbers(width))
        counted_at_head(builder, whole, last, 1, [], numbers(1))

    return narrow


@cache
def finder(ids_type: DataType) -> int:
    """Return the address of the task (ids, begin, end, zero, first, last, found, parts).

    zero: the id of segment 0. parts: into how many parts all segments are cut. The task finds the ids in [begin, end)
        of segments [first, last), and writes them to `found`, `FoundRows`.
    """
    find, unsigned = row_finder(ids_type), ids_type.dtype.kind == "u"

    def needed(ids, begin, end, zero, first, last, found: FoundRows, parts):
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
    """Return the address of the task (sums, data, found, count, apart) that adds the rows found by a `finder`."""
    add_rows = _adder(data_type)

    def add(sums, data, found: FoundRows, count, apart):
        add_rows(sums, found.segments, data, found.rows, found.count, count, apart)

    return compile_task(f"segments.add.{data_type.name}", add, num_words=5, light=True)


@cache
def narrower(data_type: DataType) -> int:
    """Return the address of the task (out, sums, first, last) that rounds sums of a 16-bit type; 0 for other types."""
    if data_type not in HALVES:
        return 0
    narrow = _narrower(data_type)

    def numbers(out, sums, first, last):
        narrow(out, sums, first, last)

    return compile_task(f"segments.narrow.{data_type.name}", numbers, num_words=4, light=True)


def sum_bytes(data_type: DataType) -> int:
    """Return the bytes of a number while it is added up."""
    return lanes_in_order(data_type).size


def _walk(context: SegmentsContext, begin, end):
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
    segments: SegmentsContext, context: Context, outer, num_segments, numbers, row_bytes, num_ids, offset
):
    """Write the context of sums by segments of a launch, before anything is sorted."""
    segments.data = context.sources[0].data
    segments.ids = context.sources[1].data
    segments.out = context.dst
    segments.state = context.state
    segments.outer = outer
    segments.num_segments = num_segments
    segments.numbers = numbers
    segments.row_bytes = row_bytes
    segments.num_ids = num_ids
    segments.offset = offset
    segments.starts = 0
    segments.order = 0
    segments.most = 0
    segments.alone = 0
    segments.tiles = 0
    segments.ids_size = context.sources[1].size


@jit
def sum_narrow(context: SegmentsContext, batch, work):
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
