"""The task of the move engine that walks over blocks of rows, one for all data types, and its launch functions."""

from __future__ import annotations

from functools import cache

from ep.common.native.fields import Int64
from ep.cpu.compile.compiler import compile_task
from ep.cpu.compile.jit import jit
from ep.cpu.engine.move.plan import BoxLoops, MoveLoops
from ep.cpu.engine.odometer import first_row, next_row
from ep.cpu.lines.streaming import finish_streams, run_writing
from ep.cpu.shared.context import ITSELF, Context
from ep.cpu.shared.state import State
from ep.cpu.threads.parallel import call_task
from ep.include.primitive.primitive import kMaxNumDims

_SRC, _DST = 0, 1  # the two sides, as in plans of boxes


def _walk(context: Context, begin: int, end: int) -> None:
    plan = MoveLoops.at(context.plan)
    dims, strides = plan.dims, plan.strides
    inner_axis = plan.num_axes - 1
    # the walk goes over blocks of two axes: rows, and the units in them
    num_outer = inner_axis - 1 if inner_axis > 0 else 0
    inner, rows, src_row, dst_row = dims[inner_axis], 1, 0, 0
    src_step, dst_step = strides[inner_axis], strides[kMaxNumDims + inner_axis]
    if inner_axis > 0:
        rows = dims[num_outer]
        src_row, dst_row = strides[num_outer], strides[kMaxNumDims + num_outer]
    if plan.whole_rows != 0:  # the neighbouring ranges are rounded in the same way
        begin -= begin % inner
        if end != plan.count:
            end -= end % inner
    index, past_caches = Int64.array_on_stack(kMaxNumDims), 1 if context.streaming == ITSELF else 0
    writer, far = plan.writer, plan.far
    row, column = begin // inner, begin % inner
    src_offset, dst_offset = first_row(dims, strides, num_outer, row // rows, index)
    row %= rows
    while begin < end:
        src = context.sources[0].data + src_offset + row * src_row + column * src_step
        dst = context.dst + dst_offset + row * dst_row + column * dst_step
        num_rows, count = rows - row, inner
        if column != 0 or end - begin < inner:
            num_rows, count = 1, min(inner - column, end - begin)
        elif end - begin < num_rows * inner:
            num_rows = (end - begin) // inner
        begin += num_rows * count
        column = 0
        row += num_rows
        if row == rows:
            row = 0
            src_offset, dst_offset = next_row(dims, strides, num_outer, index, src_offset, dst_offset)
        following = 0
        if far != 0 and begin < end:
            following = context.sources[0].data + src_offset + row * src_row
        call_task(writer, dst, dst_row, dst_step, src, src_row, src_step, num_rows, count, past_caches, following)
    if past_caches != 0:
        finish_streams()


@cache
def task() -> int:
    """Return the address of the task (context, begin, end) that calls the plan's writer on units of the walk."""
    return compile_task("move.walk", _walk)


@jit
def launch(context: Context, num_bytes: int, in_place: bool, sizes: int) -> int:
    """Launch with a plan, after the check; the state's task is `task`."""
    plan = MoveLoops.at(context.plan)
    count, grain = plan.count, plan.grain
    unit = 0
    if not in_place:
        unit = plan.streamed
        if context.dst & plan.in_lines == 0:
            unit = plan.unit
            context.streaming = ITSELF
    task = State.at(context.state).task
    return run_writing(context, task, count, unit, num_bytes, grain)


@jit
def launch_box(context: Context, num_bytes: int, in_place: bool, sizes: int) -> int:
    """Launch CopyNd, whose operands may be one array, as `launch` does; return 1 if the boxes may overlap."""
    plan = BoxLoops.at(context.plan)
    src, dst = context.sources[0].data, context.dst
    src_begin, dst_begin = src + plan.begins[_SRC], dst + plan.begins[_DST]
    src_end, dst_end = src + plan.ends[_SRC], dst + plan.ends[_DST]
    if dst_begin < src_end and src_begin < dst_end and dst - src != plan.apart:
        return 1
    context.sources[0].data = src_begin
    context.dst = dst_begin
    box_bytes = plan.count * plan.unit
    return launch(context, 2 * box_bytes, False, sizes)
