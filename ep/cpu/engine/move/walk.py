"""The task of the move engine that walks over blocks of rows, one for all data types, and its launch functions."""

from __future__ import annotations

from functools import cache

from ep.common.native.words import load_word, stack_words, store_word
from ep.cpu.compile.compiler import compile_task
from ep.cpu.compile.jit import jit
from ep.cpu.engine.move.plan import BOX_PLAN, MOVE_PLAN
from ep.cpu.engine.odometer import first_row, next_row
from ep.cpu.lines.streaming import finish_streams, run_writing
from ep.cpu.shared.context import CONTEXT, ITSELF
from ep.cpu.shared.state import STATE
from ep.cpu.threads.parallel import call_task
from ep.include.primitive.primitive import kMaxNumDims

_SRC, _DST = 0, 1  # the two sides, as in plans of boxes


def _walk(context, begin, end):
    plan = load_word(context, CONTEXT.plan)
    dims, strides = plan + 8 * MOVE_PLAN.dims, plan + 8 * MOVE_PLAN.strides
    inner_axis = load_word(plan, MOVE_PLAN.num_axes) - 1
    # the walk goes over blocks of two axes: rows, and the units in them
    num_outer = inner_axis - 1 if inner_axis > 0 else 0
    inner, rows, src_row, dst_row = load_word(dims, inner_axis), 1, 0, 0
    src_step, dst_step = load_word(strides, inner_axis), load_word(strides, kMaxNumDims + inner_axis)
    if inner_axis > 0:
        rows = load_word(dims, num_outer)
        src_row, dst_row = load_word(strides, num_outer), load_word(strides, kMaxNumDims + num_outer)
    if load_word(plan, MOVE_PLAN.whole_rows) != 0:  # the neighbouring ranges are rounded in the same way
        begin -= begin % inner
        if end != load_word(plan, MOVE_PLAN.count):
            end -= end % inner
    index, past_caches = stack_words(kMaxNumDims), 1 if load_word(context, CONTEXT.streaming) == ITSELF else 0
    writer, far = load_word(plan, MOVE_PLAN.writer), load_word(plan, MOVE_PLAN.far)
    row, column = begin // inner, begin % inner
    src_offset, dst_offset = first_row(dims, strides, num_outer, row // rows, index)
    row %= rows
    while begin < end:
        src = load_word(context, CONTEXT.sources) + src_offset + row * src_row + column * src_step
        dst = load_word(context, CONTEXT.dst) + dst_offset + row * dst_row + column * dst_step
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
            following = load_word(context, CONTEXT.sources) + src_offset + row * src_row
        call_task(writer, dst, dst_row, dst_step, src, src_row, src_step, num_rows, count, past_caches, following)
    if past_caches != 0:
        finish_streams()


@cache
def task() -> int:
    """Return the address of the task (context, begin, end) that calls the plan's writer on units of the walk."""
    return compile_task("move.walk", _walk)


@jit
def launch(context, num_bytes, in_place, sizes):
    """Launch with a plan, after the check; the state's task is `task`."""
    plan = load_word(context, CONTEXT.plan)
    count, grain = load_word(plan, MOVE_PLAN.count), load_word(plan, MOVE_PLAN.grain)
    unit = 0
    if not in_place:
        unit = load_word(plan, MOVE_PLAN.streamed)
        if load_word(context, CONTEXT.dst) & load_word(plan, MOVE_PLAN.in_lines) == 0:
            unit = load_word(plan, MOVE_PLAN.unit)
            store_word(context, CONTEXT.streaming, ITSELF)
    task = load_word(load_word(context, CONTEXT.state), STATE.task)
    return run_writing(context, task, count, unit, num_bytes, grain)


@jit
def launch_box(context, num_bytes, in_place, sizes):
    """Launch CopyNd, whose operands may be one array, as `launch` does; return 1 if the boxes may overlap."""
    plan = load_word(context, CONTEXT.plan)
    src, dst = load_word(context, CONTEXT.sources), load_word(context, CONTEXT.dst)
    src_begin, dst_begin = src + load_word(plan, BOX_PLAN.begins + _SRC), dst + load_word(plan, BOX_PLAN.begins + _DST)
    src_end, dst_end = src + load_word(plan, BOX_PLAN.ends + _SRC), dst + load_word(plan, BOX_PLAN.ends + _DST)
    if dst_begin < src_end and src_begin < dst_end and dst - src != load_word(plan, BOX_PLAN.apart):
        return 1
    store_word(context, CONTEXT.sources, src_begin)
    store_word(context, CONTEXT.dst, dst_begin)
    box_bytes = load_word(plan, MOVE_PLAN.count) * load_word(plan, MOVE_PLAN.unit)
    return launch(context, 2 * box_bytes, False, sizes)
