"""Launches of several stages on a few rows at a time, so that the output of a stage stays in the caches for the next.

A stage is a task of its own: of a map, of the walk of Reduce, or of rows that are read several times. So its results
have the same bits as if the task ran alone. A map and the sum of its results may be one task. A stage writes the inputs
of later stages to memory of the thread, addressed as if all rows of the launch were there.
"""

from __future__ import annotations

from functools import cache
from typing import Final, NamedTuple

from ep.common.native.fields import Int64, address, pointer, word
from ep.common.native.record import Record
from ep.cpu.compile.compiler import compile_task
from ep.cpu.compile.jit import jit
from ep.cpu.compile.memory import allocate, copy_bytes, release
from ep.cpu.engine.map.strided import StridedLoops
from ep.cpu.engine.reduce.computed_segments import sum_computed
from ep.cpu.engine.reduce.entry import reduce_context, run_reduction
from ep.cpu.engine.reduce.row_passes import ALL_STEPS, UNFINISHED, PassesContext
from ep.cpu.engine.reduce.state import ComputedSegments, ReduceContext, SegmentState
from ep.cpu.lines.ahead import AheadContext, add_ahead, offset_ahead
from ep.cpu.lines.sizes import LINE
from ep.cpu.lines.streaming import finish_streams, stream_row
from ep.cpu.shared.context import ITSELF, StridedContext
from ep.cpu.shared.state import GRAIN_BYTES, State
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


class StageOperand(Record):
    """An operand of a stage, in the words of a program."""

    array = word()  # its number in the launch, IN_MEMORY or OF_COLUMNS
    offset = word()  # its start in the memory of the thread, or among all sums of columns
    row_bytes = word()  # in that memory


class StageAhead(Record):
    """A source whose next rows a stage prefetches, in the words of a program."""

    array = word()  # its number in the launch
    row_bytes = word()
    skip = word()  # bytes of the next rows that other stages prefetch before
    size = word()  # bytes that are prefetched for `AHEAD_BLOCK` elements


class StageLoops(Record):
    """A stage, in the words of a program: the task, and what it is called with."""

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
    operands = pointer(StageOperand)  # results first
    ahead = pointer(StageAhead)  # of each source whose next rows the stage prefetches, or 0


class StageProgram(Record):
    """The program of a launch, which `row_expression` writes. rows: the number at a time, for which there is memory.

    Its stages follow it: `stages_of`.
    """

    rows = word()
    num_bytes = word()
    num_stages = word()
    num_ahead = word()  # the number of sources whose next rows are prefetched
    num_rows = word()  # of the launch
    part_rows = word()  # rows that are added to sums of columns of one part
    part_bytes = word()  # of all sums of columns of a part
    part_task = address()  # the task of parts, if there are sums of columns
    rows_task = address()  # the task of rows


class StageHead(NamedTuple):
    """The fields of `StageLoops` before those of the operands, in its order."""

    kind: int
    task: int
    num_elements: int
    plan: int = 0
    state: int = 0
    map: int = 0
    map_plan: int = 0
    size: int = 0
    kept: int = 0


MOST_OPERANDS: Final = 128
"""The most operands of a stage."""

_OPERANDS_BYTES: Final = 8 * MOST_OPERANDS
_GRAIN: Final = GRAIN_BYTES // 16  # the most rows of one number on one thread
_SCRATCH: Final = 2**15  # the most bytes of memory that a thread has for its tasks; more is allocated


@jit
def stages_of(program: StageProgram) -> StageLoops:
    """Return the stages of a program, which follow it."""
    return StageLoops.at(program[1])


@jit
def _find_operands(stage: StageLoops, arrays: Int64, memory: int, columns: int, first: int, operands: Int64) -> None:
    """Write the addresses of a stage's operands; the thread's memory holds rows from `first` on."""
    for k in range(stage.num_operands):
        operand = stage.operands[k]
        array, offset, row_bytes = operand.array, operand.offset, operand.row_bytes
        in_memory = (memory if array == IN_MEMORY else columns) + offset - first * row_bytes
        operands[k] = arrays[array] if array >= 0 else in_memory


@jit
def _find_ahead(
    program: StageProgram, stage: StageLoops, arrays: Int64, context: AheadContext, first: int, last: int, end: int
) -> None:
    """Make the task of a stage prefetch a part of the rows from `last` on, while it processes rows from `first` on."""
    context.num_ahead = 0
    if stage.ahead == 0 or last == end:
        return
    for k in range(program.num_ahead):
        source = stage.ahead[k]
        address = arrays[source.array] + last * source.row_bytes + source.skip
        add_ahead(context, address - offset_ahead(first * stage.count, source.size), source.size)


def _rows(context: StridedContext, begin: int, end: int) -> None:
    arrays, program = Int64.at(context.sources[0].data), StageProgram.at(StridedLoops.at(context.plan).program)
    num_bytes, together, stages = program.num_bytes, program.rows, stages_of(program)
    map_context, passes, reduction = AheadContext.on_stack(), PassesContext.on_stack(), ReduceContext.on_stack()
    wrong, block, in_heap = Int64.on_stack(), thread_memory(), 0
    operands = Int64.at(take(block, _OPERANDS_BYTES))
    memory = take(block, _SCRATCH)
    if num_bytes > _SCRATCH:
        in_heap = allocate(num_bytes + LINE)
        memory = in_heap + (-in_heap & (LINE - 1))
        if in_heap == 0:
            give_back(block, operands)
            context.lacks_memory = 1
            return
    map_context.sources[0].data = operands
    map_context.num_ahead = 0
    in_lines = context.streaming == ITSELF
    map_context.in_lines = 1 if in_lines else 0
    for first in range(begin, end, together):
        last = min(first + together, end)
        for number in range(program.num_stages):
            stage = stages[number]
            task, kind, count, size = stage.task, stage.kind, stage.count, stage.size
            _find_operands(stage, arrays, memory, context.columns, first, operands)
            dst, src = operands[0], operands[1]
            if kind == MAP:
                map_context.dst = dst
                map_context.plan = stage.plan
                if in_lines:
                    _find_ahead(program, stage, arrays, map_context, first, last, end)
                call_task(task, map_context, first * count, last * count)
            elif kind == FOLD:
                call_task(task, src, count * size, count, dst, first, last, count, wrong)
            elif kind == REDUCE:
                reduce_context(reduction, src, dst, stage.plan, stage.state)
                call_task(task, reduction, first, last)
            elif kind == COPY:
                begin_of_rows, row_bytes = first * count * size, count * size
                if in_lines:
                    stream_row(dst + begin_of_rows, src + begin_of_rows, (last - first) * row_bytes)
                else:
                    copy_bytes(dst + begin_of_rows, src + begin_of_rows, (last - first) * row_bytes)
            elif kind == COLUMNS and task == 0:
                continue
            elif kind == COLUMNS:
                sums, is_new = context.columns + stage.kept, 1 if first == begin else 0
                row_bytes = count * size
                call_task(task, src + first * row_bytes, row_bytes, last - first, count, sums, sums, is_new, 0, 0)
            else:
                # the lines of a result begin with an element, unless elements are not aligned
                streams = UNFINISHED if in_lines and size > 0 and dst & (size - 1) == 0 else 0
                _find_ahead(program, stage, arrays, map_context, first, last, end)
                row_bytes = stage.kept if last - first == 1 else 0
                passes.what = ALL_STEPS
                passes.src0 = src
                passes.src1 = operands[stage.num_operands - 1]
                passes.dst = dst
                passes.cols = count
                passes.memory = 0
                passes.streams = streams
                passes.ahead = map_context if stage.ahead != 0 else AheadContext.at(0)
                passes.kept = src + first * row_bytes if row_bytes != 0 else 0
                call_task(task, passes, first, last)
                map_context.num_ahead = 0
    if in_lines:
        finish_streams()
    if in_heap != 0:
        release(in_heap)
    give_back(block, operands)


@cache
def rows_task() -> int:
    """Return the address of the task (context, begin, end) that takes rows through the stages of the plan's program."""
    return compile_task("rows.stages", _rows)


def _reductions(context: StridedContext, begin: int, end: int) -> None:
    plan, arrays, state = StridedLoops.at(context.plan), Int64.at(context.sources[0].data), State.at(context.state)
    program, all_bytes = StageProgram.at(plan.program), plan.num_bytes
    map_context, stages = StridedContext.on_stack(), stages_of(program)
    reduction, segments = ReduceContext.on_stack(), ComputedSegments.on_stack()
    operands = Int64.at(allocate(_OPERANDS_BYTES + program.num_bytes + LINE))
    memory = operands + _OPERANDS_BYTES
    map_context.lacks_memory = 1 if operands == 0 else 0
    map_context.sources[0].data = operands
    for number in range(program.num_stages if operands != 0 else 0):
        stage = stages[number]
        task, kind = stage.task, stage.kind
        _find_operands(stage, arrays, memory, 0, 0, operands)
        dst, src = operands[0], operands[1]
        if kind == MAP:
            map_context.dst = dst
            map_context.plan = stage.plan
            run(state, task, map_context, stage.count, _GRAIN)
        elif kind == SEGMENTS:
            map_context.plan = stage.map_plan
            copy_bytes(segments, stage.plan, 8 * ComputedSegments.num_words)
            segments.data = 0
            segments.ids = operands[stage.num_operands - 1]
            segments.out = dst
            segments.state = SegmentState.at(stage.state)
            segments.map = stage.map
            segments.map_context = map_context
            sum_computed(state, task, segments, all_bytes)
        else:
            map_context.plan = stage.map_plan
            reduce_context(reduction, src if stage.map == 0 else 0, dst, stage.plan, stage.state)
            reduction.map = stage.map
            reduction.map_context = map_context
            run_reduction(state, task, reduction, all_bytes)
    release(operands)
    if map_context.lacks_memory != 0:
        context.lacks_memory = 1


@cache
def reductions_task() -> int:
    """Return the address of the task (context, 0, 1) that runs all stages of the plan's program on all threads."""
    return compile_task("reduce.stages", _reductions)
