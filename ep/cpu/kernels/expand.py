"""Expand: the task that walks over blocks of rows, one for all data types, and the entry."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from ep.cpu.kernels import streaming
from ep.cpu.kernels.compiler import compile_entry, compile_task
from ep.cpu.kernels.memory import load_word, stack_words, store_words
from ep.cpu.kernels.ndarray import READABLE, WRITABLE, are_dims, array_data, object_address, word, words
from ep.cpu.kernels.odometer import first_row, next_row
from ep.cpu.kernels.parallel import call_task
from ep.cpu.kernels.streaming import CONTEXT_WORDS, run_writing
from ep.cpu.launch_state import NDARRAY_TYPE, OPERANDS, TASK
from ep.cpu.plan import COUNT, DIMS, GRAIN, IN_PLACE, NUM_AXES, OPERAND_COUNT, STREAMED, STRIDES, WRITER
from ep.include.primitive.primitive import kMaxNumDims

# words of the task's context
DST, SRC, PLAN = streaming.DST, 1, 2


def _expand(context, begin, end):  # type: ignore[no-untyped-def]
    plan = load_word(context, PLAN)
    inner_axis = load_word(plan, NUM_AXES) - 1
    # the walk goes over blocks of two axes, rows and what is in them
    num_outer = inner_axis - 1 if inner_axis > 0 else 0
    inner, rows, src_row, dst_row = load_word(plan, DIMS + inner_axis), 1, 0, 0
    src_step, dst_step = load_word(plan, STRIDES + inner_axis), load_word(plan, STRIDES + kMaxNumDims + inner_axis)
    if inner_axis > 0:
        rows = load_word(plan, DIMS + num_outer)
        src_row, dst_row = load_word(plan, STRIDES + num_outer), load_word(plan, STRIDES + kMaxNumDims + num_outer)
    index = stack_words(8)
    row, column = begin // inner, begin % inner
    src_offset, dst_offset = first_row(plan, num_outer, row // rows, index)
    row %= rows
    while begin < end:
        src = load_word(context, SRC) + src_offset + row * src_row + column * src_step
        dst = load_word(context, DST) + dst_offset + row * dst_row + column * dst_step
        num_rows, count = rows - row, inner
        if column != 0 or end - begin < inner:
            num_rows, count = 1, min(inner - column, end - begin)
        elif end - begin < num_rows * inner:
            num_rows = (end - begin) // inner
        call_task(load_word(plan, WRITER), dst, dst_row, dst_step, src, src_row, src_step, num_rows, count)
        begin += num_rows * count
        column = 0
        row += num_rows
        if row == rows:
            row = 0
            src_offset, dst_offset = next_row(plan, num_outer, index, src_offset, dst_offset)


@cache
def task() -> int:
    """The address of the task (context, begin, end) that has the plan's writer write units of the walk."""
    return compile_task("expand.walk", _expand)


def _entry(state_, plan_, src_dims_, src_, dst_dims_, dst_, src_strides_, dst_strides_):  # type: ignore[no-untyped-def]
    state, plan = word(state_), word(plan_)
    if not (are_dims(word(src_dims_), state) and are_dims(word(dst_dims_), state)):
        return 1
    if not (are_dims(word(src_strides_), state) and are_dims(word(dst_strides_), state)):
        return 1
    ndarray_type, size = load_word(state, NDARRAY_TYPE), load_word(state, OPERANDS + 1)
    src_count, dst_count = load_word(plan, OPERAND_COUNT), load_word(plan, OPERAND_COUNT + 1)
    src = array_data(word(src_), ndarray_type, load_word(state, OPERANDS), src_count, READABLE)
    dst = array_data(word(dst_), ndarray_type, load_word(state, OPERANDS + 2), dst_count, WRITABLE)
    if src == 0 or dst == 0:
        return 1
    if src < dst + size * dst_count and dst < src + size * src_count and (src != dst or load_word(plan, IN_PLACE) == 0):
        return 1
    context = stack_words(CONTEXT_WORDS)
    store_words(context, dst, src, plan)
    count, unit = load_word(plan, COUNT), 0 if src == dst else load_word(plan, STREAMED)
    operands = src, src_count, size, 0, 0, 0
    return run_writing(state, load_word(state, TASK), context, count, unit, operands, load_word(plan, GRAIN))


@cache
def entry() -> Callable[..., int]:
    """The entry (state, plan, src_dims, src, dst_dims, dst, src_strides, dst_strides).

    Dims and strides are the ones that the plan was found by.
    """
    arguments: tuple[Any, ...] = (words, words, *[object_address] * 6)
    return compile_entry("expand", _entry, arguments)
