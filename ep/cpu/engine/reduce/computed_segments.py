"""Sums of rows by segments, of rows that a map computes as they are added.

Each row is added directly to the segment of its id, one after the other, so it is computed once and never written.
Threads share segments, as for narrow rows, and each computes the rows of its own segments. If these would be too many
for one thread, threads share the columns of long rows instead: each adds a part of all rows. In both cases, the rows of
a segment are added in their order.
"""

from __future__ import annotations

from functools import cache
from typing import Final

from ep.common.primitive.segment_sizes import SegmentSizes
from ep.common.stored_types import added_as
from ep.cpu.compile.compiler import compile_task
from ep.cpu.compile.jit import jit
from ep.cpu.compile.memory import allocate, copy_bytes, release, set_bytes
from ep.cpu.engine.reduce.narrow_segments import BLOCK, FOUND_BYTES, FoundRows, adder, finder
from ep.cpu.engine.reduce.state import ComputedSegments, SegmentsContext, SegmentState
from ep.cpu.lines.sizes import LINE
from ep.cpu.shared.context import Context, StridedContext
from ep.cpu.shared.state import GRAIN_BYTES, LaunchState, State
from ep.cpu.threads.parallel import call_task, run
from ep.cpu.threads.scratch import give_back, take, thread_memory
from ep.include.data_type import DataType

_TILE: Final = 2**14  # bytes of the rows that are computed at a time, if a row has fewer
_LEAST_PART: Final = 128  # elements of a part of a row: a map takes long to begin with fewer


def computed_state(data_type: DataType, ids_type: DataType) -> LaunchState:
    """Return the state of a sum of elements of a type, which is not one of 16 bits."""
    numbers, parts = added_as(data_type)
    state = LaunchState(SegmentState, ())
    state.set(find=finder(ids_type), add=adder(numbers), parts=parts)
    return state


def computed_words(sizes: SegmentSizes, data_type: DataType, ids_type: DataType) -> dict[str, int]:
    """Return the fields of `ComputedSegments` that sizes and types determine."""
    _, parts = added_as(data_type)
    return {
        "batch": sizes.batch,
        "outer": sizes.outer,
        "num_segments": sizes.num_segments,
        "numbers": sizes.inner * parts,
        "row_bytes": sizes.inner * data_type.itemsize,
        "num_ids": sizes.num_ids,
        "offset": sizes.offset,
        "ids_size": ids_type.itemsize,
        "itemsize": data_type.itemsize,
    }


@jit
def _compute(
    map_context: Context,
    context: ComputedSegments,
    picked: FoundRows,
    found: FoundRows,
    start: int,
    place: int,
    skip: int,
    count: int,
    tile: int,
) -> int:
    """Compute `count` elements of each of some rows that were found, `start` rows before; return their number."""
    itemsize, row_bytes = context.itemsize, context.row_bytes
    inner, task = row_bytes // itemsize, context.map
    some = min(found.count - start, max(_TILE // (count * itemsize), 1))
    k = 0
    while k < some:
        row, follow = found.rows[start + k], 1
        if count == inner:  # adjacent rows are computed together
            while k + follow < some and found.rows[start + k + follow] == row + follow:
                follow += 1
        first = (place + row) * inner + skip
        map_context.dst = tile + (k * count - first) * itemsize  # the task adds the offset of each element
        call_task(task, map_context, first, first + follow * count)
        k += follow
    picked.count = some
    for k in range(some):
        picked.segments[k] = found.segments[start + k]
        picked.rows[k] = k
    return some


def _walk(context: ComputedSegments, begin: int, end: int) -> None:
    state, ids, out, zero = context.state, context.ids, context.out, context.offset
    outer, segments, num_ids = context.outer, context.num_segments, context.num_ids
    numbers, row_bytes, itemsize = context.numbers, context.row_bytes, context.itemsize
    columns, parts, of_element, inner = context.columns, context.parts, state.parts, row_bytes // itemsize
    find, add, of_ids, map_context = state.find, state.add, num_ids * context.ids_size, StridedContext.on_stack()
    memory = allocate(max(_TILE, row_bytes) + LINE)
    if memory == 0:
        context.map_context.lacks_memory = 1
        return
    tile, of_thread = memory + (-memory & (LINE - 1)), thread_memory()
    found, picked = FoundRows.at(take(of_thread, FOUND_BYTES)), FoundRows.at(take(of_thread, FOUND_BYTES))
    copy_bytes(map_context, context.map_context, 8 * StridedContext.num_words)
    for unit in range(begin, end):
        place, part = unit // (parts * columns), unit // columns % parts
        first, last = part * segments // parts, (part + 1) * segments // parts
        packs = (inner + 15) // 16
        skip = unit % columns * packs // columns * 16
        count = min((unit % columns + 1) * packs // columns * 16, inner) - skip
        sums = out + (place * segments + first) * row_bytes + skip * itemsize
        if count == inner:
            set_bytes(sums, (last - first) * row_bytes, 0)
        else:
            for segment in range(last - first):
                set_bytes(sums + segment * row_bytes, count * itemsize, 0)
        for block in range(0, num_ids, BLOCK):
            stop = min(block + BLOCK, num_ids)
            call_task(find, ids + place // outer * of_ids, block, stop, zero, first, last, found, parts)
            start = 0
            while start < found.count:
                start += _compute(map_context, context, picked, found, start, place * num_ids, skip, count, tile)
                call_task(add, sums, tile, picked, count * of_element, numbers)
    give_back(of_thread, found)
    release(memory)


@cache
def computed_task() -> int:
    """Return the address of the task (context, begin, end) on parts of each batch."""
    return compile_task("segments.computed", _walk)


@jit
def _is_balanced(context: SegmentsContext, parts: int) -> int:
    """Return whether no part of the segments has much more than its share of the rows of the first batch."""
    ids, zero, find, memory = context.ids, context.offset, context.state.find, thread_memory()
    found, balanced = FoundRows.at(take(memory, FOUND_BYTES)), True
    segments, num_ids = context.num_segments, context.num_ids
    for part in range(parts):
        first, last, number = part * segments // parts, (part + 1) * segments // parts, 0
        for block in range(0, num_ids, BLOCK):
            call_task(find, ids, block, min(block + BLOCK, num_ids), zero, first, last, found, parts)
            number += found.count
        if number * parts > num_ids + num_ids // 2:
            balanced = False
            break
    give_back(memory, found)
    return balanced


@jit
def sum_computed(state: State, task: int, context: ComputedSegments, num_bytes: int) -> None:
    """Sum rows as they are computed.

    state: that of the launch. num_bytes: those that the launch reads and writes.
    """
    units = context.batch * context.outer
    inner = context.row_bytes // context.itemsize
    threads = state.settings.num_threads
    wanted = max(min((threads + units - 1) // units, num_bytes // GRAIN_BYTES), 1)
    parts, columns = min(wanted, context.num_segments), 1
    if wanted > 1 and inner >= wanted * _LEAST_PART and (parts < wanted or not _is_balanced(context, parts)):
        parts, columns = 1, wanted
    context.columns = columns
    context.parts = parts
    number = units * parts * columns
    run(state, task, context, number, max(GRAIN_BYTES * number // num_bytes, 1))
