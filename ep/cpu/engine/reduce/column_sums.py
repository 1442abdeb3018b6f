"""Sums of columns beside what is computed by rows: parts of the rows have sums of their own, which are added in order.

The parts depend on shapes alone, so that the sums have the same bits for any number of threads.
"""

from __future__ import annotations

from functools import cache
from typing import Final

from ep.common.native.fields import Float64, Int64
from ep.cpu.compile.compiler import compile_task
from ep.cpu.compile.memory import allocate, copy_bytes, release
from ep.cpu.engine.map.strided import StridedLoops
from ep.cpu.engine.reduce.stages import COLUMNS, StageProgram, stages_of
from ep.cpu.engine.reduce.state import ReduceState
from ep.cpu.shared.context import StridedContext
from ep.cpu.shared.state import GRAIN_BYTES, State
from ep.cpu.threads.parallel import call_task, run

_MOST_PARTS: Final = 16
_LEAST_PART: Final = 2**17  # bytes


def rows_of_parts(num_rows: int, row_bytes: int) -> int:
    """Return the number of rows of a part of all rows; row_bytes: those that are read and written for one."""
    return -(-num_rows // min(max(num_rows * row_bytes // _LEAST_PART, 1), _MOST_PARTS))


def _parts(context: StridedContext, begin: int, end: int) -> None:
    """Take the rows of some parts through the stages."""
    program = StageProgram.at(StridedLoops.at(context.plan).program)
    rows, num_rows = program.part_rows, program.num_rows
    of_part = StridedContext.on_stack()
    copy_bytes(of_part, context, 8 * StridedContext.num_words)
    for part in range(begin, end):
        num_bytes = program.part_bytes
        sums = Float64.at(context.columns + part * num_bytes)
        for number in range(num_bytes // 8):
            sums[number] = -0.0  # those that a map adds to
        of_part.columns = sums
        call_task(program.rows_task, of_part, part * rows, min((part + 1) * rows, num_rows))
    if of_part.lacks_memory != 0:
        context.lacks_memory = 1


@cache
def parts_task() -> int:
    """Return the address of the task (context, begin, end) of parts."""
    return compile_task("columns.parts", _parts)


def _columns(context: StridedContext, begin: int, end: int) -> None:
    plan, arrays = StridedLoops.at(context.plan), Int64.at(context.sources[0].data)
    program, all_bytes = StageProgram.at(plan.program), plan.num_bytes
    rows, num_rows = program.part_rows, program.num_rows
    num_parts, size = (num_rows + rows - 1) // rows, program.part_bytes
    sums, wrong = allocate(num_parts * size), Int64.on_stack()
    if sums == 0:
        context.lacks_memory = 1
        return
    context.columns = sums
    grain = max(GRAIN_BYTES * num_parts // all_bytes, 1)
    run(State.at(context.state), program.part_task, context, num_parts, grain)
    for number in range(program.num_stages):
        stage = stages_of(program)[number]
        if stage.kind == COLUMNS:
            state, count = ReduceState.at(stage.state), stage.count
            total = sums + stage.kept
            for part in range(1, num_parts):
                more = total + part * size
                call_task(state.merge, total, total, more, more, count)
            dst = arrays[stage.operands[0].array]
            call_task(state.finish, dst, 0, total, total, count, num_rows, 0, wrong)
    release(sums)


@cache
def columns_task() -> int:
    """Return the address of the task (context, 0, 1) that takes all rows through the stages, and adds up columns."""
    return compile_task("columns.stages", _columns)
