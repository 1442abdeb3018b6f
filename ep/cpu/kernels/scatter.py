"""BatchScatter: rows of updates replace rows of out, or are combined with them, one after the other.

Threads share the places of out, each with all indices: so the rows of a place are taken in their order, by one thread.
If rows are long, threads share their columns instead.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Final

from ep.common.checks import MAX_OFFSET
from ep.common.functor.lookup import functor_maker
from ep.common.native.fields import Int64
from ep.common.stored_types import stored_types
from ep.cpu.compile.compiler import compile_task
from ep.cpu.compile.jit import jit
from ep.cpu.compile.memory import allocate, arithmetic_type, copy_bytes, loader, release, storer, unit_functions
from ep.cpu.engine.entry import launcher
from ep.cpu.engine.form import Launcher
from ep.cpu.engine.reduce.narrow_segments import BLOCK, FOUND_BYTES, FoundRows, finder, segments_context
from ep.cpu.engine.reduce.state import SegmentsContext, SegmentState
from ep.cpu.kernels.math_library import cpu_math_library
from ep.cpu.shared.context import Context
from ep.cpu.shared.state import GRAIN_BYTES, LaunchState
from ep.cpu.threads.parallel import call_task, run
from ep.cpu.threads.scratch import give_back, take, thread_memory
from ep.include.data_type import DataType
from ep.include.number_kind import HALVES, number_kind
from ep.include.primitive.binary_op import BinaryOp

_INDEX_COST: Final = 32  # the cost of an index, in bytes that could be moved in the same time
_SHORT: Final = 32  # bytes of a row that takes less time than finding it, which each thread does for all rows
_CACHED: Final = 2**23  # bytes of places that a core's caches hold, mostly: beyond, memory takes longest
_LEAST_COLUMNS: Final = 256  # bytes of a row that one of several threads takes

Rows = Callable[..., None]
"""`rows(out, sums, data, found, numbers, skip, count, turn)` does what the rows of `found` need in a turn.

out, sums: of the first place; data: of the first row. numbers: elements of a row, of which it takes `count` after
`skip`. A type that is rounded after all rows are combined has three turns.
"""


def scatter_launcher(state: LaunchState, op: BinaryOp | None, data_type: DataType, indices_type: DataType) -> Launcher:
    """Return the launcher of BatchScatter. op: it combines rows; None to replace them."""
    if op is None:
        task = _moving_task(data_type.itemsize)
    else:
        data_type, _ = stored_types(op, data_type, data_type)
        task = _combining_task(op, data_type)
    state.set(task=task, find=finder(indices_type), sum_bytes=4 if _is_rounded(op, data_type) else 0)
    return launcher("scatter", _launch)


def _is_rounded(op: BinaryOp | None, data_type: DataType) -> bool:
    """Return whether numbers are combined in float32, and rounded once."""
    return op in (BinaryOp.kAdd, BinaryOp.kMul) and data_type in HALVES


@cache
def _moving_task(size: int) -> int:
    """Return the task that replaces rows of elements of `size` bytes."""
    copy_unit, _ = unit_functions(size)

    @jit
    def move(out: int, sums: int, data: int, found: FoundRows, numbers: int, skip: int, count: int, turn: int) -> None:
        if numbers == 1:
            for k in range(found.count):
                copy_unit(out, found.segments[k], data, found.rows[k])
            return
        for k in range(found.count):
            to = found.segments[k] * numbers + skip
            source = found.rows[k] * numbers + skip
            copy_bytes(out + to * size, data + source * size, count * size)

    return compile_task(f"scatter.{size}", _scattering(move, 1), light=True)


@cache
def _combining_task(op: BinaryOp, data_type: DataType) -> int:
    """Return the task that combines rows with those of out."""
    combine = cpu_math_library(arithmetic_type(data_type)).use(functor_maker(op, number_kind(data_type)))
    load, load_update, store = loader(data_type, written=True), loader(data_type), storer(data_type)
    name = f"scatter.{op.name}.{data_type.name}"

    @jit
    def combine_rows(
        out: int, sums: int, data: int, found: FoundRows, numbers: int, skip: int, count: int, turn: int
    ) -> None:
        if numbers == 1:
            for k in range(found.count):
                to, source = found.segments[k], found.rows[k]
                store(out, to, combine(load(out, to), load_update(data, source)))
            return
        for k in range(found.count):
            to = found.segments[k] * numbers + skip
            source = found.rows[k] * numbers + skip
            for n in range(count):
                store(out, to + n, combine(load(out, to + n), load_update(data, source + n)))

    if not _is_rounded(op, data_type):
        return compile_task(name, _scattering(combine_rows, 1), light=True)
    load_sum, store_sum = loader(DataType.kFloat, written=True), storer(DataType.kFloat)

    @jit
    def combine_in_turns(
        out: int, sums: int, data: int, found: FoundRows, numbers: int, skip: int, count: int, turn: int
    ) -> None:
        for k in range(found.count):
            to = found.segments[k] * numbers + skip
            source = found.rows[k] * numbers + skip
            for n in range(count):
                if turn == 0:
                    store_sum(sums, to + n, load(out, to + n))
                elif turn == 1:
                    store_sum(sums, to + n, combine(load_sum(sums, to + n), load_update(data, source + n)))
                else:
                    store(out, to + n, load_sum(sums, to + n))

    return compile_task(name, _scattering(combine_in_turns, 3), light=True)


def _scattering(do_rows: Rows, turns: int) -> Callable[..., None]:
    """Return the task (context, begin, end) on parts of the places, or of the columns."""

    def scatter(context: SegmentsContext, begin: int, end: int) -> None:
        state, indices, data, out, sums = context.state, context.ids, context.data, context.out, context.sums
        outer, places, number = context.outer, context.num_segments, context.num_ids
        numbers, row_bytes = context.numbers, context.row_bytes
        parts, columns = context.parts, context.tiles
        offset, find = context.offset, state.find
        sum_bytes = numbers * state.sum_bytes
        batch_bytes, memory = number * context.ids_size, thread_memory()
        found = take(memory, FOUND_BYTES)
        for unit in range(begin, end):
            group, part, column = unit // (parts * columns), unit // columns % parts, unit % columns
            first, last = part * places // parts, (part + 1) * places // parts
            skip = column * numbers // columns
            count, row = (column + 1) * numbers // columns - skip, group * places + first
            for turn in range(turns):
                for block in range(0, number, BLOCK):
                    stop = min(block + BLOCK, number)
                    ids = indices + group // outer * batch_bytes
                    call_task(find, ids, block, stop, offset, first, last, found, parts)
                    do_rows(
                        out + row * row_bytes, sums + row * sum_bytes, data + group * number * row_bytes,
                        found, numbers, skip, count, turn,
                    )  # fmt: skip
        give_back(memory, found)

    return scatter


@jit
def _launch(context: Context, num_bytes: int, in_place: bool, sizes: Int64) -> int:
    batch, outer, places, inner, number, offset = sizes[0], sizes[1], sizes[2], sizes[3], sizes[4], sizes[5]
    if not -MAX_OFFSET <= offset <= MAX_OFFSET:
        return 1
    state, segments, row_bytes = SegmentState.at(context.state), SegmentsContext.on_stack(), inner * context.dst_size
    groups, sum_bytes = batch * outer, state.sum_bytes
    work = groups * number * (2 * row_bytes + _INDEX_COST)
    threads = state.settings.num_threads
    wanted = max(min((threads + groups - 1) // groups, work // GRAIN_BYTES), 1)
    columns = wanted if row_bytes >= wanted * _LEAST_COLUMNS else 1
    is_worth_it = row_bytes >= _SHORT or places * row_bytes > _CACHED
    parts = min(wanted, places) if columns == 1 and is_worth_it else 1
    sums = 0
    if sum_bytes != 0:
        sums = allocate(groups * places * inner * sum_bytes)
        if sums == 0:
            return 1
    segments_context(segments, context, outer, places, inner, row_bytes, number, offset)
    segments.tiles = columns
    segments.sums = sums
    segments.parts = parts
    units = groups * parts * columns
    run(state, state.task, segments, units, max(GRAIN_BYTES * units // work, 1))
    release(sums)
    return 0
