"""Launches of several stages on a few rows at a time, so that the output of a stage stays in the caches for the next.

A stage is a task of its own: of a map, of the walk of Reduce, or of rows that are read several times. So its results
have the same bits as if the task ran alone. A map and the sum of its results may be one task. A stage writes the inputs
of later stages to memory of the thread, addressed as if all rows of the launch were there.
"""

from __future__ import annotations

from functools import cache
from typing import Final, NamedTuple

from ep.common.native.fields import address, word
from ep.common.native.record import Record
from ep.common.native.words import load_word, stack_words, store_word, store_words
from ep.cpu.compile.compiler import compile_task
from ep.cpu.compile.jit import jit
from ep.cpu.compile.memory import allocate, copy_bytes, release
from ep.cpu.engine.map.strided import StridedContext, StridedLoops
from ep.cpu.engine.reduce.computed_segments import sum_computed
from ep.cpu.engine.reduce.entry import run_reduction
from ep.cpu.engine.reduce.row_passes import ALL_STEPS, PASSES_WORDS, UNFINISHED
from ep.cpu.engine.reduce.state import REDUCE_WORDS, ComputedSegments
from ep.cpu.lines.ahead import AheadContext, add_ahead, offset_ahead
from ep.cpu.lines.sizes import LINE
from ep.cpu.lines.streaming import finish_streams, stream_row
from ep.cpu.shared.context import ITSELF
from ep.cpu.shared.state import GRAIN_BYTES
from ep.cpu.threads.parallel import call_task, run
from ep.cpu.threads.scratch import give_back, take, thread_memory

MAP: Final = 0
"""The task processes elements, or one element per row, as described by `StridedLoops`."""
REDUCE: Final = 1
"""The task is the walk of Reduce, with two operands: the results and the input."""
FOLD: Final = 2
"""The task is `reduce_rows` of Reduce, for rows of one block."""
PASSES: Final = 3
"""The task reads rows several times, with two or three operands: the results and the inputs."""
SegmentsContext: Final = 4
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


class StageProgram(Record):
    """The program of a launch. rows: the number at a time, for which there is memory. Its `StageWords` follow."""

    rows = word()
    num_bytes = word()
    num_stages = word()
    num_ahead = word()  # the number of sources whose next rows are prefetched
    num_rows = word()  # of the launch
    part_rows = word()  # rows that are added to sums of columns of one part
    part_bytes = word()  # of all sums of columns of a part
    part_task = address()  # the task of parts, if there are sums of columns
    rows_task = address()  # the task of rows


class StageWords(Record):
    kind = word()
    task = address()
    count = word()  # elements of a row, or of all rows; for a map, the elements that it computes
    plan = address()  # of a map and of Reduce; of segments, their words
    state = address()  # of Reduce, of columns and of segments
    map = address()  # the task of the map that computes the input of a reduction as it is read, or 0
    map_plan = address()  # the plan of this map; its operands follow the results
    # of folded or copied rows, the bytes of an element; of rows that are read several times, too, if non-temporal
    # stores may write the results, else 0
    size = word()
    # of rows that are read several times, the bytes of one in which values may be kept, or 0; of sums of columns, their
    # offset among all of them
    kept = word()
    num_operands = word()
    operands = address()  # the address of `StageOperand` of each, results first
    ahead = address()  # the address of `StageAhead` of each source whose next rows the stage prefetches, or 0


class StageOperand(Record):
    array = word()  # its number in the launch, IN_MEMORY or OF_COLUMNS
    offset = word()  # its start in the memory of the thread, or among all sums of columns
    row_bytes = word()  # in that memory


class StageAhead(Record):
    array = word()  # its number in the launch
    row_bytes = word()
    skip = word()  # bytes of the next rows that other stages prefetch before
    size = word()  # bytes that are prefetched for `AHEAD_BLOCK` elements


class StageHead(NamedTuple):
    """The fields of `StageWords` before those of the operands, in its order."""

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

_PROGRAM, _STAGE, _OPERAND = StageProgram.num_words, StageWords.num_words, StageOperand.num_words
_AHEAD: Final[int] = StageAhead.num_words
_PLACES_BYTES: Final = 8 * MOST_OPERANDS
_WORDS: Final = max(PASSES_WORDS, REDUCE_WORDS)
_OWN_WORDS: Final[int] = StridedContext.num_words
_AHEAD_WORDS: Final[int] = AheadContext.num_words
_SEGMENTS_WORDS: Final[int] = ComputedSegments.num_words
_GRAIN: Final = GRAIN_BYTES // 16  # the most rows of one number on one thread
_SCRATCH: Final = 2**15  # the most bytes of memory that a thread has for its tasks; more is allocated


@jit
def _head(stage: StageWords):
    return stage.task, stage.kind, stage.count


@jit
def _find_operands(stage: StageWords, arrays, memory, columns, first, places):
    """Write the addresses of a stage's operands; the thread's memory holds rows from `first` on."""
    operands = stage.operands
    for k in range(stage.num_operands):
        operand = StageOperand.at(operands + 8 * _OPERAND * k)
        array, offset = operand.array, operand.offset
        row_bytes = operand.row_bytes
        own = (memory if array == IN_MEMORY else columns) + offset - first * row_bytes
        store_word(places, k, load_word(arrays, array) if array >= 0 else own)


@jit
def _find_ahead(program: StageProgram, stage: StageWords, arrays, own: AheadContext, first, last, end):
    """Make the task of a stage prefetch a part of the rows from `last` on, while it processes rows from `first` on."""
    own.num_ahead = 0
    ahead, count = stage.ahead, stage.count
    if ahead == 0 or last == end:
        return
    for k in range(program.num_ahead):
        one = StageAhead.at(ahead + 8 * _AHEAD * k)
        array, size = load_word(arrays, one.array), one.size
        place = array + last * one.row_bytes + one.skip
        add_ahead(own, place - offset_ahead(first * count, size), size)


def _rows(context: StridedContext, begin, end):
    plan, arrays = StridedLoops.at(context.plan), context.sources[0].data
    program = StageProgram.at(plan.program)
    num_bytes, together = program.num_bytes, program.rows
    own, words, block, in_heap = AheadContext.on_stack(), stack_words(_WORDS), thread_memory(), 0
    places = take(block, _PLACES_BYTES)
    memory = take(block, _SCRATCH)
    if num_bytes > _SCRATCH:
        in_heap = allocate(num_bytes + LINE)
        memory = in_heap + (-in_heap & (LINE - 1))
        if in_heap == 0:
            give_back(block, places)
            context.lacks_memory = 1
            return
    own.sources[0].data = places
    own.num_ahead = 0
    in_lines = context.streaming == ITSELF
    own.in_lines = 1 if in_lines else 0
    for first in range(begin, end, together):
        last = min(first + together, end)
        for number in range(program.num_stages):
            stage = StageWords.at(program + 8 * (_PROGRAM + _STAGE * number))
            task, kind, count = _head(stage)
            _find_operands(stage, arrays, memory, context.columns, first, places)
            dst, src, size = load_word(places, 0), load_word(places, 1), stage.size
            if kind == MAP:
                own.dst = dst
                own.plan = stage.plan
                if in_lines:
                    _find_ahead(program, stage, arrays, own, first, last, end)
                call_task(task, own, first * count, last * count)
            elif kind == FOLD:
                call_task(task, src, count * size, count, dst, first, last, count, words)
            elif kind == REDUCE:
                store_words(words, src, dst, stage.plan, stage.state, 0, 0, 0, 0)
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
                sums, fresh = context.columns + stage.kept, first == begin
                row_bytes, is_new = count * size, 1 if fresh else 0
                call_task(task, src + first * row_bytes, row_bytes, last - first, count, sums, sums, is_new, 0, 0)
            else:
                # the lines of a result begin with an element, unless elements are not aligned
                streams = UNFINISHED if in_lines and size > 0 and dst & (size - 1) == 0 else 0
                _find_ahead(program, stage, arrays, own, first, last, end)
                ahead = own if stage.ahead != 0 else 0
                row_bytes = stage.kept if last - first == 1 else 0
                kept = src + first * row_bytes if row_bytes != 0 else 0
                other = load_word(places, stage.num_operands - 1)
                store_words(words, ALL_STEPS, src, other, dst, count, 0, streams, ahead, kept)
                call_task(task, words, first, last)
                own.num_ahead = 0
    if in_lines:
        finish_streams()
    if in_heap != 0:
        release(in_heap)
    give_back(block, places)


@cache
def rows_task() -> int:
    """Return the address of the task (context, begin, end) that takes rows through the stages of the plan's program."""
    return compile_task("rows.stages", _rows)


def _reductions(context: StridedContext, begin, end):
    plan, arrays, state = (
        StridedLoops.at(context.plan),
        context.sources[0].data,
        context.state,
    )
    program, all_bytes = StageProgram.at(plan.program), plan.num_bytes
    own, words, segments = StridedContext.on_stack(), stack_words(_WORDS), ComputedSegments.on_stack()
    places = allocate(_PLACES_BYTES + program.num_bytes + LINE)
    memory = places + _PLACES_BYTES
    own.lacks_memory = 1 if places == 0 else 0
    own.sources[0].data = places
    for number in range(program.num_stages if places != 0 else 0):
        stage = StageWords.at(program + 8 * (_PROGRAM + _STAGE * number))
        task, kind, count = _head(stage)
        _find_operands(stage, arrays, memory, 0, 0, places)
        dst, src, of_stage = load_word(places, 0), load_word(places, 1), stage.plan
        if kind == MAP:
            own.dst = dst
            own.plan = of_stage
            run(state, task, own, count, _GRAIN)
        elif kind == SegmentsContext:
            own.plan = stage.map_plan
            ids = load_word(places, stage.num_operands - 1)
            copy_bytes(segments, of_stage, 8 * _SEGMENTS_WORDS)
            store_words(segments, 0, ids, dst, stage.state)
            segments.map = stage.map
            segments.map_context = own
            sum_computed(state, task, segments, all_bytes)
        else:
            own.plan = stage.map_plan
            computed = stage.map
            src = src if computed == 0 else 0
            store_words(words, src, dst, of_stage, stage.state, 0, 0, computed, own)
            run_reduction(state, task, words, all_bytes)
    release(places)
    if own.lacks_memory != 0:
        context.lacks_memory = 1


@cache
def reductions_task() -> int:
    """Return the address of the task (context, 0, 1) that runs all stages of the plan's program on all threads."""
    return compile_task("reduce.stages", _reductions)
