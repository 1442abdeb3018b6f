"""The compiled check of a launch against the primitive's form, and the call of the launcher."""

from __future__ import annotations

from ep.common.native.fields import Int64
from ep.common.native.objects import ArrayObject, TupleObject
from ep.cpu.compile.integers import multiply_sizes
from ep.cpu.compile.jit import jit
from ep.cpu.compile.ndarray import array_data, array_of_bytes
from ep.cpu.engine.form import OF_BYTES, OF_PLAN, CheckForm, FormOperand
from ep.cpu.lines.inline_copy import copy_bytes
from ep.cpu.shared.context import MAX_SOURCES, NONE, Context, Source
from ep.cpu.shared.listed import MAX_NUMBERS, Noted
from ep.cpu.shared.state import ElementType, State
from ep.cpu.threads.parallel import call_launcher


@jit
def clash(
    dst: int, dst_count: int, dst_size: int, other: int, other_count: int, other_size: int, in_place: bool
) -> bool:
    """Return whether a written operand overlaps another one in a way that is not allowed."""
    same = dst == other and dst_count == other_count and dst_size == other_size
    return other < dst + dst_count * dst_size and dst < other + other_count * other_size and not (same and in_place)


@jit
def _count(operand: FormOperand, sizes: Int64) -> int:
    """Return the number of elements that an operand must have, or the number of bytes."""
    count = 1
    for factor in range(operand.num_factors):
        count = multiply_sizes(count, sizes[operand.factors[factor]])
    return count


@jit
def _data(array: int, operand: FormOperand, state: State, plan: int, count: int) -> tuple[int, int]:
    """Return the address of an operand's data, 0 if it is not as expected, and the bytes per element."""
    ndarray_type, kind, flags = state.ndarray_type, operand.kind, operand.flags
    if kind == OF_BYTES:
        return array_of_bytes(ArrayObject.at(array), ndarray_type, ElementType.at(state.known_types), count, flags), 1
    known = ElementType.at(state + 8 * operand.type)
    if kind == OF_PLAN:
        known = ElementType.at(plan + 8 * operand.type)
    return array_data(ArrayObject.at(array), ndarray_type, known.dtype, count, flags), known.itemsize


@jit
def _set_source(source: Source, data: int, count: int, size: int) -> None:
    source.data, source.count, source.size = data, count, size


@jit
def _set_context(context: Context, dst: int, state: int, plan: int, count: int, size: int, num_sources: int) -> None:
    context.dst, context.state, context.plan, context.streaming = dst, state, plan, NONE
    context.dst_count, context.dst_size, context.num_sources = count, size, num_sources


@jit
def _check_many(state: State, form: CheckForm, numbers: Int64, operands: Int64, context: Context) -> tuple[int, bool]:
    """Check a tuple of similar operands and the written one; return the bytes, or -1, and whether a source is dst."""
    srcs, count = TupleObject.at(operands[0]), numbers[0]
    if srcs.type != state.tuple_type:
        return -1, False
    source, number = form.operands[0], srcs.length
    dst, size = _data(operands[1], form.operands[1], state, 0, count)
    if dst == 0 or number == 0:
        return -1, False
    same = False
    for k in range(number):
        src, _ = _data(srcs.items[k], source, state, 0, count)
        if src == 0 or clash(dst, count, size, src, count, size, True):
            return -1, False
        same |= src == dst
        if k < MAX_SOURCES:
            _set_source(context.sources[k], src, count, size)
    _set_context(context, dst, state, srcs, count, size, min(number, MAX_SOURCES))
    return (number + 1) * count * size, same


@jit
def _check_each(
    state: State, form: CheckForm, plan: Int64, numbers: Int64, operands: Int64, context: Context
) -> tuple[int, bool]:
    """Check the operands one by one; return as `_check_many` does."""
    planned, sizes, in_place = form.planned != 0, numbers, form.in_place != 0
    if planned:
        sizes = Int64.at(plan + 8 * form.plan_sizes)
        in_place &= plan[form.plan_in_place] != 0
    num_operands, written, sources = form.num_operands, form.written, context.sources
    dst, dst_count, dst_size, moved, num_sources = 0, 0, 0, 0, 0
    for k in range(num_operands):
        count = _count(form.operands[k], sizes)
        data, size = _data(operands[k], form.operands[k], state, plan, count)
        if data == 0:
            return -1, False
        # an array that is as expected fits in memory, so nothing overflows from here on
        moved += count * size
        if k == written:
            dst, dst_count, dst_size = data, count, size
        else:
            _set_source(sources[num_sources], data, count, size)
            num_sources += 1
    same = False
    if form.whole != 0:
        for k in range(num_sources):
            if clash(dst, dst_count, dst_size, sources[k].data, sources[k].count, sources[k].size, in_place):
                return -1, False
            same |= sources[k].data == dst
    same &= form.in_place != 0
    _set_context(context, dst, state, plan, dst_count, dst_size, num_operands - 1)
    return moved, same


@jit
def launch_checked(state: State, form: CheckForm, plan: Int64, numbers: Int64, operands: Int64, noted: Noted) -> int:
    """Check a launch and run it. Return 0 if it has run, NO_MEMORY, or 1 if nothing has been written.

    noted: 0, or what is written in place of a launch.
    """
    for size in range(form.num_sizes if form.planned == 0 else 0):
        if numbers[size] <= 0:
            return 1
    context = Context.on_stack()
    if form.many != 0:
        moved, same = _check_many(state, form, numbers, operands, context)
    else:
        moved, same = _check_each(state, form, plan, numbers, operands, context)
    if moved < 0:
        return 1
    launcher, in_place = state.launcher, 1 if same else 0
    if noted == 0:
        return call_launcher(launcher, context, moved, in_place, numbers)
    if form.many != 0:  # the operands are in a tuple
        return 1
    noted.launcher, noted.num_bytes, noted.in_place = launcher, moved, in_place
    for number in range(MAX_NUMBERS):
        noted.numbers[number] = numbers[number]
    copy_bytes(noted.frame, context, 8 * Context.num_words)
    return 0
