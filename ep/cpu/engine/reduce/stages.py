"""Launches of several stages on a few rows at a time, so that the output of a stage stays in the caches for the next.

A stage is a task of its own: of a map, of the walk of Reduce, or of rows that are read several times. So its results
have the same bits as if the task ran alone. A map and the sum of its results may be one task. A stage writes the inputs
of later stages to memory of the thread, addressed as if all rows of the launch were there.
"""

from __future__ import annotations

from functools import cache
from typing import Final, NamedTuple

from ep.common.native.words import load_word, stack_words, store_word, store_words
from ep.cpu.compile.compiler import compile_task
from ep.cpu.compile.jit import jit
from ep.cpu.compile.memory import allocate, copy_bytes, release
from ep.cpu.engine.map.strided import STRIDED, STRIDED_PLAN
from ep.cpu.engine.reduce.computed_segments import sum_computed
from ep.cpu.engine.reduce.entry import run_reduction
from ep.cpu.engine.reduce.row_passes import ALL_STEPS, PASSES_WORDS, UNFINISHED
from ep.cpu.engine.reduce.state import COMPUTED_SEGMENTS, REDUCE_WORDS
from ep.cpu.lines.ahead import AHEAD, add_ahead, offset_ahead
from ep.cpu.lines.sizes import LINE
from ep.cpu.lines.streaming import finish_streams, stream_row
from ep.cpu.shared.context import CONTEXT, ITSELF
from ep.cpu.shared.layout import ADDRESS, layout
from ep.cpu.shared.state import GRAIN_BYTES
from ep.cpu.threads.parallel import call_task, run
from ep.cpu.threads.scratch import give_back, take, thread_memory

MAP: Final = 0
"""The task processes elements, or one element per row, as described by `STRIDED_PLAN`."""
REDUCE: Final = 1
"""The task is the walk of Reduce, with two operands: the results and the input."""
FOLD: Final = 2
"""The task is `reduce_rows` of Reduce, for rows of one block."""
PASSES: Final = 3
"""The task reads rows several times, with two or three operands: the results and the inputs."""
SEGMENTS: Final = 4
"""The task adds up segments of computed rows; the last operand is the segments of rows."""
COPY: Final = 5
"""Rows are copied, with two operands: a result, and memory of the thread."""
COLUMNS: Final = 6
"""The task is `fold_columns` of Reduce, which adds rows to sums of their columns; see `column_sums.py`. It is 0 if a
map before adds the rows that it computes."""

IN_MEMORY: Final = -1
"""The number of a value in memory of the thread, instead of that of an array."""
OF_COLUMNS: Final = -2
"""The number of sums of columns."""

PROGRAM: Final = layout(
    "Program",
    rows=1,
    num_bytes=1,
    num_stages=1,
    num_ahead=1,  # the number of sources whose next rows are prefetched
    num_rows=1,  # of the launch
    part_rows=1,  # rows that are added to sums of columns of one part
    part_bytes=1,  # of all sums of columns of a part
    part_task=ADDRESS,  # the task of parts, if there are sums of columns
    rows_task=ADDRESS,  # the task of rows
)
"""The program of a launch: the number of rows at a time, and the bytes of memory for them; its `STAGE` words follow."""

STAGE: Final = layout(
    "Stage",
    kind=1,
    task=ADDRESS,
    count=1,  # elements of a row, or of all rows; for a map, the elements that it computes
    plan=ADDRESS,  # of a map and of Reduce; of segments, their words
    state=ADDRESS,  # of Reduce, of columns and of segments
    map=ADDRESS,  # the task of the map that computes the input of a reduction as it is read, or 0
    map_plan=ADDRESS,  # the plan of this map; its operands follow the results
    # of folded or copied rows, the bytes of an element; of rows that are read several times, too, if non-temporal
    # stores may write the results, else 0
    size=1,
    # of rows that are read several times, the bytes of one in which values may be kept, or 0; of sums of columns, their
    # offset among all of them
    kept=1,
    num_operands=1,
    operands=ADDRESS,  # the address of `STAGE_OPERAND` of each, results first
    ahead=ADDRESS,  # the address of `STAGE_AHEAD` of each source whose next rows the stage prefetches, or 0
)
STAGE_OPERAND: Final = layout(
    "StageOperand",
    array=1,  # its number in the launch, IN_MEMORY or OF_COLUMNS
    offset=1,  # its start in the memory of the thread, or among all sums of columns
    row_bytes=1,  # in that memory
)
STAGE_AHEAD: Final = layout(
    "StageAhead",
    array=1,  # its number in the launch
    row_bytes=1,
    skip=1,  # bytes of the next rows that other stages prefetch before
    size=1,  # bytes that are prefetched for `AHEAD_BLOCK` elements
)


class StageHead(NamedTuple):
    """The fields of `STAGE` before those of the operands, in its order."""

    kind: int
    task: int
    count: int
    plan: int = 0
    state: int = 0
    map: int = 0
    map_plan: int = 0
    size: int = 0
    kept: int = 0


MOST_OPERANDS: Final = 128
"""The most operands of a stage."""

_PROGRAM, _STAGE, _OPERAND = PROGRAM.num_words, STAGE.num_words, STAGE_OPERAND.num_words
_AHEAD: Final[int] = STAGE_AHEAD.num_words
_PLACES_BYTES: Final = 8 * MOST_OPERANDS
_WORDS: Final = max(PASSES_WORDS, REDUCE_WORDS)
_OWN_WORDS: Final[int] = STRIDED.num_words
_AHEAD_WORDS: Final[int] = AHEAD.num_words
_SEGMENTS_WORDS: Final[int] = COMPUTED_SEGMENTS.num_words
_GRAIN: Final = GRAIN_BYTES // 16  # the most rows of one number on one thread
_SCRATCH: Final = 2**15  # the most bytes of memory that a thread has for its tasks; more is allocated


@jit
def _head(stage):
    return load_word(stage, STAGE.task), load_word(stage, STAGE.kind), load_word(stage, STAGE.count)


@jit
def _find_operands(stage, arrays, memory, columns, first, places):
    """Write the addresses of a stage's operands; the thread's memory holds rows from `first` on."""
    operands = load_word(stage, STAGE.operands)
    for k in range(load_word(stage, STAGE.num_operands)):
        operand = operands + 8 * _OPERAND * k
        array, offset = load_word(operand, STAGE_OPERAND.array), load_word(operand, STAGE_OPERAND.offset)
        row_bytes = load_word(operand, STAGE_OPERAND.row_bytes)
        own = (memory if array == IN_MEMORY else columns) + offset - first * row_bytes
        store_word(places, k, load_word(arrays, array) if array >= 0 else own)


@jit
def _find_ahead(program, stage, arrays, own, first, last, end):
    """Make the task of a stage prefetch a part of the rows from `last` on, while it processes rows from `first` on."""
    store_word(own, AHEAD.num_ahead, 0)
    ahead, count = load_word(stage, STAGE.ahead), load_word(stage, STAGE.count)
    if ahead == 0 or last == end:
        return
    for k in range(load_word(program, PROGRAM.num_ahead)):
        one = ahead + 8 * _AHEAD * k
        array, size = load_word(arrays, load_word(one, STAGE_AHEAD.array)), load_word(one, STAGE_AHEAD.size)
        place = array + last * load_word(one, STAGE_AHEAD.row_bytes) + load_word(one, STAGE_AHEAD.skip)
        add_ahead(own, place - offset_ahead(first * count, size), size)


def _rows(context, begin, end):
    plan, arrays = load_word(context, CONTEXT.plan), load_word(context, CONTEXT.sources)
    program = load_word(plan, STRIDED_PLAN.program)
    num_bytes, together = load_word(program, PROGRAM.num_bytes), load_word(program, PROGRAM.rows)
    own, words, block, in_heap = stack_words(_AHEAD_WORDS), stack_words(_WORDS), thread_memory(), 0
    places = take(block, _PLACES_BYTES)
    memory = take(block, _SCRATCH)
    if num_bytes > _SCRATCH:
        in_heap = allocate(num_bytes + LINE)
        memory = in_heap + (-in_heap & (LINE - 1))
        if in_heap == 0:
            give_back(block, places)
            store_word(context, STRIDED.lacks_memory, 1)
            return
    store_word(own, CONTEXT.sources, places)
    store_word(own, AHEAD.num_ahead, 0)
    in_lines = load_word(context, CONTEXT.streaming) == ITSELF
    store_word(own, AHEAD.in_lines, 1 if in_lines else 0)
    for first in range(begin, end, together):
        last = min(first + together, end)
        for number in range(load_word(program, PROGRAM.num_stages)):
            stage = program + 8 * (_PROGRAM + _STAGE * number)
            task, kind, count = _head(stage)
            _find_operands(stage, arrays, memory, load_word(context, STRIDED.columns), first, places)
            dst, src, size = load_word(places, 0), load_word(places, 1), load_word(stage, STAGE.size)
            if kind == MAP:
                store_word(own, CONTEXT.dst, dst)
                store_word(own, CONTEXT.plan, load_word(stage, STAGE.plan))
                if in_lines:
                    _find_ahead(program, stage, arrays, own, first, last, end)
                call_task(task, own, first * count, last * count)
            elif kind == FOLD:
                call_task(task, src, count * size, count, dst, first, last, count, words)
            elif kind == REDUCE:
                store_words(words, src, dst, load_word(stage, STAGE.plan), load_word(stage, STAGE.state), 0, 0, 0, 0)
                call_task(task, words, first, last)
            elif kind == COPY:
                begin_of_rows, row_bytes = first * count * size, count * size
                if in_lines:
                    stream_row(dst + begin_of_rows, src + begin_of_rows, (last - first) * row_bytes)
                else:
                    copy_bytes(dst + begin_of_rows, src + begin_of_rows, (last - first) * row_bytes)
            elif kind == COLUMNS and task == 0:
                continue
            elif kind == COLUMNS:
                sums, fresh = load_word(context, STRIDED.columns) + load_word(stage, STAGE.kept), first == begin
                row_bytes, is_new = count * size, 1 if fresh else 0
                call_task(task, src + first * row_bytes, row_bytes, last - first, count, sums, sums, is_new, 0, 0)
            else:
                # the lines of a result begin with an element, unless elements are not aligned
                streams = UNFINISHED if in_lines and size > 0 and dst & (size - 1) == 0 else 0
                _find_ahead(program, stage, arrays, own, first, last, end)
                ahead = own if load_word(stage, STAGE.ahead) != 0 else 0
                row_bytes = load_word(stage, STAGE.kept) if last - first == 1 else 0
                kept = src + first * row_bytes if row_bytes != 0 else 0
                other = load_word(places, load_word(stage, STAGE.num_operands) - 1)
                store_words(words, ALL_STEPS, src, other, dst, count, 0, streams, ahead, kept)
                call_task(task, words, first, last)
                store_word(own, AHEAD.num_ahead, 0)
    if in_lines:
        finish_streams()
    if in_heap != 0:
        release(in_heap)
    give_back(block, places)


@cache
def rows_task() -> int:
    """Return the address of the task (context, begin, end) that takes rows through the stages of the plan's program."""
    return compile_task("rows.stages", _rows)


def _reductions(context, begin, end):
    plan, arrays, state = (
        load_word(context, CONTEXT.plan),
        load_word(context, CONTEXT.sources),
        load_word(context, CONTEXT.state),
    )
    program, all_bytes = load_word(plan, STRIDED_PLAN.program), load_word(plan, STRIDED_PLAN.num_bytes)
    own, words, segments = stack_words(_OWN_WORDS), stack_words(_WORDS), stack_words(_SEGMENTS_WORDS)
    places = allocate(_PLACES_BYTES + load_word(program, PROGRAM.num_bytes) + LINE)
    memory = places + _PLACES_BYTES
    store_word(own, STRIDED.lacks_memory, 1 if places == 0 else 0)
    store_word(own, CONTEXT.sources, places)
    for number in range(load_word(program, PROGRAM.num_stages) if places != 0 else 0):
        stage = program + 8 * (_PROGRAM + _STAGE * number)
        task, kind, count = _head(stage)
        _find_operands(stage, arrays, memory, 0, 0, places)
        dst, src, of_stage = load_word(places, 0), load_word(places, 1), load_word(stage, STAGE.plan)
        if kind == MAP:
            store_word(own, CONTEXT.dst, dst)
            store_word(own, CONTEXT.plan, of_stage)
            run(state, task, own, count, _GRAIN)
        elif kind == SEGMENTS:
            store_word(own, CONTEXT.plan, load_word(stage, STAGE.map_plan))
            ids = load_word(places, load_word(stage, STAGE.num_operands) - 1)
            copy_bytes(segments, of_stage, 8 * _SEGMENTS_WORDS)
            store_words(segments, 0, ids, dst, load_word(stage, STAGE.state))
            store_word(segments, COMPUTED_SEGMENTS.map, load_word(stage, STAGE.map))
            store_word(segments, COMPUTED_SEGMENTS.map_context, own)
            sum_computed(state, task, segments, all_bytes)
        else:
            store_word(own, CONTEXT.plan, load_word(stage, STAGE.map_plan))
            computed = load_word(stage, STAGE.map)
            src = src if computed == 0 else 0
            store_words(words, src, dst, of_stage, load_word(stage, STAGE.state), 0, 0, computed, own)
            run_reduction(state, task, words, all_bytes)
    release(places)
    if load_word(own, STRIDED.lacks_memory) != 0:
        store_word(context, STRIDED.lacks_memory, 1)


@cache
def reductions_task() -> int:
    """Return the address of the task (context, 0, 1) that runs all stages of the plan's program on all threads."""
    return compile_task("reduce.stages", _reductions)
