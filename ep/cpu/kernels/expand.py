"""Expand: one task for all data types, which moves units of 1 to 16 bytes, and its entry."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from ep.cpu.kernels.compiler import compile_entry, compile_task
from ep.cpu.kernels.jit import jit
from ep.cpu.kernels.memory import load_word, stack_words, store_word, unit_functions
from ep.cpu.kernels.ndarray import READABLE, WRITABLE, array_data, object_address, word, words
from ep.cpu.kernels.odometer import first_row, next_row
from ep.cpu.kernels.parallel import run
from ep.cpu.kernels.repetition import repeat_row, unit_repeater
from ep.cpu.kernels.rows import copy_row, row_filler
from ep.cpu.launch_state import GRAIN, NDARRAY_TYPE, OPERANDS, TASK
from ep.cpu.plan import COUNT, DIMS, IN_PLACE, NUM_AXES, OPERAND_COUNT, STRIDES, UNIT
from ep.include.primitive.primitive import kMaxNumDims

# words of the task's context
SRC, DST, PLAN = 0, 1, 2

_UNITS = (1, 2, 4, 8, 16)


def _unit_rows(size: int) -> Any:
    """A function that writes rows of `count` units, one for each step of the second innermost axis."""
    copy_unit, fill_row = unit_functions(size)[0], row_filler(size)
    twice, thrice = unit_repeater(size, 2), unit_repeater(size, 3)

    @jit
    def rows(dst, dst_row, dst_step, src, src_row, src_step, num_rows, count):  # type: ignore[no-untyped-def]
        one_run = dst_step == 1 and dst_row == count
        if one_run and src_row == 0 and src_step == 1 and repeat_row(dst, src, count * size, num_rows):
            return
        if src_step == 0 and dst_step == 1 and count == 2:
            done = twice(dst, src, num_rows) if one_run and src_row == 1 else 0
            for i in range(done, num_rows):
                copy_unit(dst, i * dst_row, src, i * src_row)
                copy_unit(dst, i * dst_row + 1, src, i * src_row)
        elif src_step == 0 and dst_step == 1 and count == 3:
            done = thrice(dst, src, num_rows) if one_run and src_row == 1 else 0
            for i in range(done, num_rows):
                copy_unit(dst, i * dst_row, src, i * src_row)
                copy_unit(dst, i * dst_row + 1, src, i * src_row)
                copy_unit(dst, i * dst_row + 2, src, i * src_row)
        elif src_step == 1 and dst_step == 1 and count == 3:
            for i in range(num_rows):
                copy_unit(dst, i * dst_row, src, i * src_row)
                copy_unit(dst, i * dst_row + 1, src, i * src_row + 1)
                copy_unit(dst, i * dst_row + 2, src, i * src_row + 2)
        elif src_step == 0 and dst_step == 1:
            for i in range(num_rows):
                fill_row(dst + i * dst_row * size, count * size, src + i * src_row * size)
        elif src_step == 1 and dst_step == 1:
            for i in range(num_rows):
                copy_row(dst + i * dst_row * size, src + i * src_row * size, count * size)
        else:
            for i in range(num_rows):
                for k in range(count):
                    copy_unit(dst, i * dst_row + k * dst_step, src, i * src_row + k * src_step)

    return rows


@cache
def task() -> int:
    """The address of the task (context, begin, end) that writes units of the walk."""
    rows_of_1, rows_of_2, rows_of_4, rows_of_8, rows_of_16 = (_unit_rows(size) for size in _UNITS)

    @jit
    def write_rows(unit, dst, dst_row, dst_step, src, src_row, src_step, num_rows, count):  # type: ignore[no-untyped-def]
        if unit == 4:
            rows_of_4(dst, dst_row, dst_step, src, src_row, src_step, num_rows, count)
        elif unit == 16:
            rows_of_16(dst, dst_row, dst_step, src, src_row, src_step, num_rows, count)
        elif unit == 8:
            rows_of_8(dst, dst_row, dst_step, src, src_row, src_step, num_rows, count)
        elif unit == 2:
            rows_of_2(dst, dst_row, dst_step, src, src_row, src_step, num_rows, count)
        else:
            rows_of_1(dst, dst_row, dst_step, src, src_row, src_step, num_rows, count)

    def expand(context, begin, end):  # type: ignore[no-untyped-def]
        plan = load_word(context, PLAN)
        unit, inner_axis = load_word(plan, UNIT), load_word(plan, NUM_AXES) - 1
        # the walk goes over blocks of two axes, rows and what is in them
        num_outer = max(inner_axis - 1, 0)
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
            src = load_word(context, SRC) + (src_offset + row * src_row + column * src_step) * unit
            dst = load_word(context, DST) + (dst_offset + row * dst_row + column * dst_step) * unit
            num_rows, count = rows - row, inner
            if column != 0 or end - begin < inner:
                num_rows, count = 1, min(inner - column, end - begin)
            elif end - begin < num_rows * inner:
                num_rows = (end - begin) // inner
            write_rows(unit, dst, dst_row, dst_step, src, src_row, src_step, num_rows, count)
            begin += num_rows * count
            column = 0
            row += num_rows
            if row == rows:
                row = 0
                src_offset, dst_offset = next_row(plan, num_outer, index, src_offset, dst_offset)

    return compile_task("expand.walk", expand)


def _entry(state_, plan_, src_, dst_):  # type: ignore[no-untyped-def]
    state, plan = word(state_), word(plan_)
    ndarray_type, size = load_word(state, NDARRAY_TYPE), load_word(state, OPERANDS + 1)
    src_count, dst_count = load_word(plan, OPERAND_COUNT), load_word(plan, OPERAND_COUNT + 1)
    src = array_data(word(src_), ndarray_type, load_word(state, OPERANDS), src_count, READABLE)
    dst = array_data(word(dst_), ndarray_type, load_word(state, OPERANDS + 2), dst_count, WRITABLE)
    if src == 0 or dst == 0:
        return 1
    if src < dst + size * dst_count and dst < src + size * src_count and (src != dst or load_word(plan, IN_PLACE) == 0):
        return 1
    context = stack_words(3)
    store_word(context, SRC, src)
    store_word(context, DST, dst)
    store_word(context, PLAN, plan)
    grain = max(load_word(state, GRAIN) * size // load_word(plan, UNIT), 1)
    run(state, load_word(state, TASK), context, load_word(plan, COUNT), grain)
    return 0


@cache
def entry() -> Callable[..., int]:
    """The entry (state, plan, src, dst)."""
    arguments: tuple[Any, ...] = (words, words, object_address, object_address)
    return compile_entry("expand", _entry, arguments)
