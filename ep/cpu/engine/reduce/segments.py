"""Sums of rows by segments: ids are sorted first, then each row of out is the sum of a run, written once.

Narrow rows are not sorted (`narrow_segments.py`).

Any thread adds the rows of a segment in their order. Threads share segments, and also the columns of a segment that has
more than a quarter of the rows. Sorting is by counting: ids out of range are not counted.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Final

from ep.common.checks import MAX_OFFSET
from ep.common.loops import unrolled
from ep.common.native.fields import Int64
from ep.common.stored_types import added_as
from ep.cpu.compile.compiler import compile_task
from ep.cpu.compile.conversion import arithmetic
from ep.cpu.compile.jit import inlined, jit
from ep.cpu.compile.memory import allocate, copy_bytes, release, set_bytes
from ep.cpu.compile.vector import convert, load, store, vector
from ep.cpu.engine.entry import launcher
from ep.cpu.engine.form import Launcher
from ep.cpu.engine.move.gather_rows import row_finder
from ep.cpu.engine.reduce.narrow_segments import (
    NARROW,
    adder,
    finder,
    narrow_task,
    narrower,
    segments_context,
    sum_narrow,
)
from ep.cpu.engine.reduce.state import SegmentsContext, SegmentState
from ep.cpu.engine.reduce.vectors import VECTOR_BYTES
from ep.cpu.shared.context import Context
from ep.cpu.shared.state import GRAIN_BYTES, LaunchState
from ep.cpu.threads.parallel import call_task, run
from ep.include.data_type import DataType

_TILE_BYTES: Final = 8 * VECTOR_BYTES
_ENOUGH_BATCHES: Final = 16  # from this number on, each thread has some
_ID_COST: Final = 32  # the cost of an id that is sorted, in bytes that could be moved in the same time


@cache
def _sort_task(ids_type: DataType) -> int:
    """Return the address of the task (ids, number, offset, segments, starts, order)."""
    find, unsigned = row_finder(ids_type), ids_type.dtype.kind == "u"

    def sort(ids: int, number: int, offset: int, segments: int, starts: Int64, order: Int64) -> None:
        low = max(offset, 0) if unsigned else offset  # an unsigned id is never below 0
        first = low - offset
        valid = max(segments - first, 0)
        set_bytes(starts, 8 * (segments + 2), 0)
        for i in range(number):
            segment, there = find(ids, i, low, valid, first)
            if there:
                starts[segment + 2] = starts[segment + 2] + 1
        longest, total = 0, 0
        for segment in range(segments):
            count = starts[segment + 2]
            longest = max(longest, count)
            total += count
            starts[segment + 2] = total
        for i in range(number):
            segment, there = find(ids, i, low, valid, first)
            if there:
                place = starts[segment + 1]
                order[place] = i
                starts[segment + 1] = place + 1
        starts[segments + 1] = longest

    return compile_task(f"segments.sort.{ids_type.name}", sort, num_words=6)


def _rows_adder(data_type: DataType, width: int) -> Any:
    """Return a function add(out, data, order, first, last, row_bytes, count) that sums rows order[first:last].

    Each row is `count` >= `width` of the numbers at data + row * row_bytes. 16-bit floating types are added in float32.
    """
    Row, Stored = vector(arithmetic(data_type), width), vector(data_type, width)

    @inlined
    def add_vectors(out: int, data: int, order: Int64, first: int, last: int, row_bytes: int, index: int) -> None:
        total = Row.zero()
        for place in range(first, last):
            total += convert(Row, load(Stored, data + order[place] * row_bytes, index))
        store(out, index, convert(Stored, total))

    @inlined
    def add_rows(out: int, data: int, order: Int64, first: int, last: int, row_bytes: int, count: int) -> None:
        index = 0
        while index < count - (width - 1):
            add_vectors(out, data, order, first, last, row_bytes, index)
            index += width
        if index < count:
            add_vectors(out, data, order, first, last, row_bytes, count - width)

    return add_rows


@cache
def _sum_task(data_type: DataType) -> int:
    """Return the address of the task (context, begin, end) on rows of out, or tiles of a segment."""
    size, width = data_type.itemsize, VECTOR_BYTES // arithmetic(data_type).itemsize
    adders = tuple((some, _rows_adder(data_type, some)) for some in (4 * width, width, width // 4, 1))
    tile = _TILE_BYTES // size

    @inlined
    def add_rows(out: int, data: int, order: Int64, first: int, last: int, row_bytes: int, count: int) -> None:
        for least, add in unrolled(adders):
            if count >= least:
                add(out, data, order, first, last, row_bytes, count)
                return

    def add_segments(context: SegmentsContext, begin: int, end: int) -> None:
        data, out, row_bytes = context.data, context.out, context.row_bytes
        segments, numbers = context.num_segments, context.numbers
        starts, order = context.starts, context.order
        most, alone, tiles = context.most, context.alone, context.tiles
        outer_bytes = context.num_ids * row_bytes
        while begin < end:
            if alone >= 0:
                segment, outer, skip = alone, begin // tiles, begin % tiles * tile
                count = min(tile, numbers - skip)
            else:
                segment, outer, skip, count = begin % segments, begin // segments, 0, numbers
            target = out + (outer * segments + segment) * row_bytes + skip * size
            first, last, done = starts[segment], starts[segment + 1], 1
            if first == last:
                while begin + done < end and segment + done < segments:
                    if starts[segment + done] != starts[segment + done + 1]:
                        break
                    done += 1
                set_bytes(target, done * row_bytes, 0)
            elif alone >= 0 or last - first <= most:
                add_rows(target, data + outer * outer_bytes + skip * size, order, first, last, row_bytes, count)
            begin += done

    return compile_task(f"segments.sum.{data_type.name}", add_segments, light=True)


@jit
def _batch(context: SegmentsContext, number: int, batch: SegmentsContext) -> None:
    """Write the context of batch `number`."""
    copy_bytes(batch, context, 8 * SegmentsContext.num_words)
    rows = number * context.outer
    batch.data = context.data + rows * context.num_ids * context.row_bytes
    batch.out = context.out + rows * context.num_segments * context.row_bytes
    batch.ids = context.ids + number * context.num_ids * context.ids_size
    batch.most = context.num_ids
    batch.alone = -1


@jit
def _sort(batch: SegmentsContext, memory: int) -> int:
    """Sort the ids of a batch in memory of a word for each, and for each segment and two; return the longest run."""
    segments, starts = batch.num_segments, Int64.at(memory)
    order = memory + 8 * (segments + 2)
    batch.starts = starts
    batch.order = Int64.at(order)
    call_task(batch.state.sort, batch.ids, batch.num_ids, batch.offset, segments, starts, order)
    return starts[segments + 1]


def _whole_batches(context: SegmentsContext, begin: int, end: int) -> None:
    batch, segments = SegmentsContext.on_stack(), context.num_segments
    memory = allocate(8 * (segments + 2 + context.num_ids))
    if memory == 0:
        context.starts = Int64.at(1)  # the launch then runs all batches itself
        return
    for number in range(begin, end):
        _batch(context, number, batch)
        _sort(batch, memory)
        call_task(context.state.sum, batch, 0, batch.outer * segments)
    release(memory)


@cache
def _batches_task() -> int:
    return compile_task("segments.batches", _whole_batches)


@jit
def _long_segments(state: SegmentState, batch: SegmentsContext, most: int, row_bytes: int) -> None:
    """Sum the segments of more than `most` rows, of which there are at most three."""
    starts, tiles = batch.starts, (row_bytes + _TILE_BYTES - 1) // _TILE_BYTES
    batch.tiles = tiles
    for segment in range(batch.num_segments):
        number = starts[segment + 1] - starts[segment]
        if number > most:
            batch.alone = segment
            grain = max(GRAIN_BYTES // (number * _TILE_BYTES), 1)
            run(state, state.sum, batch, batch.outer * tiles, grain)


@jit
def _launch(context: Context, num_bytes: int, in_place: bool, sizes: Int64) -> int:
    batches, outer, segments, inner, num_ids, offset = sizes[0], sizes[1], sizes[2], sizes[3], sizes[4], sizes[5]
    if not -MAX_OFFSET <= offset <= MAX_OFFSET:
        return 1
    state, launch, batch = SegmentState.at(context.state), SegmentsContext.on_stack(), SegmentsContext.on_stack()
    row_bytes = inner * context.dst_size
    segments_context(launch, context, outer, segments, inner * state.parts, row_bytes, num_ids, offset)
    work = num_bytes + batches * num_ids * _ID_COST
    if row_bytes <= NARROW:
        return sum_narrow(launch, batches, work)
    if batches >= _ENOUGH_BATCHES:
        run(state, state.batches, launch, batches, max(GRAIN_BYTES * batches // work, 1))
        if launch.starts == 0:
            return 0
    memory = allocate(8 * (segments + 2 + num_ids))
    if memory == 0:
        return 1
    for number in range(batches):
        _batch(launch, number, batch)
        longest, most = _sort(batch, memory), num_ids // 4
        has_long = longest > most and num_bytes > GRAIN_BYTES  # otherwise it would be the work of one thread
        if has_long:
            batch.most = most
        rows = outer * segments
        run(state, state.sum, batch, rows, max(GRAIN_BYTES * rows * batches // work, 1))
        if has_long:
            _long_segments(state, batch, most, row_bytes)
    release(memory)
    return 0


def segment_launcher(state: LaunchState, data_type: DataType, ids_type: DataType) -> Launcher:
    """Return the launcher of UnsortedSegmentSum and BatchUnsortedSegmentSum."""
    numbers, parts = added_as(data_type)
    state.set(sort=_sort_task(ids_type), sum=_sum_task(numbers), batches=_batches_task(), parts=parts)
    state.set(find=finder(ids_type), add=adder(numbers), narrow=narrower(numbers), narrow_task=narrow_task())
    state.set(sum_bytes=arithmetic(numbers).itemsize)
    return launcher("segments", _launch)
