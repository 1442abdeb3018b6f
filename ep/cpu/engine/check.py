"""The compiled check of a launch against the primitive's form, and the call of the launcher."""

from __future__ import annotations

from ep.common.native.object_layout import TUPLE_ITEMS, TUPLE_LENGTH, TYPE
from ep.common.native.words import load_word, stack_words, store_word, store_words
from ep.cpu.compile.integers import multiply_sizes
from ep.cpu.compile.jit import jit
from ep.cpu.compile.ndarray import array_data, array_of_bytes
from ep.cpu.engine.form import FORM, OF_BYTES, OF_PLAN, OPERAND
from ep.cpu.lines.inline_copy import copy_bytes
from ep.cpu.shared.context import CONTEXT, CONTEXT_WORDS, MAX_SOURCES, NONE, SOURCE_WORDS
from ep.cpu.shared.listed import MAX_NUMBERS, NOTED
from ep.cpu.shared.state import STATE
from ep.cpu.threads.parallel import call_launcher

_OPERAND_BYTES = 8 * OPERAND.num_words
_SOURCE_BYTES = 8 * SOURCE_WORDS


@jit
def clash(dst, dst_count, dst_size, other, other_count, other_size, in_place):
    """Return whether a written operand overlaps another one in a way that is not allowed."""
    same = dst == other and dst_count == other_count and dst_size == other_size
    return other < dst + dst_count * dst_size and dst < other + other_count * other_size and not (same and in_place)


@jit
def _count(block, sizes):
    """Return the number of elements that an operand must have, or the number of bytes."""
    count = 1
    for factor in range(load_word(block, OPERAND.num_factors)):
        count = multiply_sizes(count, load_word(sizes, load_word(block, OPERAND.factors + factor)))
    return count


@jit
def _data(array, block, state, plan, count):
    """Return the address of an operand's data, 0 if it is not as expected, and the bytes per element."""
    ndarray_type, kind, flags = (
        load_word(state, STATE.ndarray_type),
        load_word(block, OPERAND.kind),
        load_word(block, OPERAND.flags),
    )
    if kind == OF_BYTES:
        return array_of_bytes(array, ndarray_type, load_word(state, STATE.known_types), count, flags), 1
    types = (plan if kind == OF_PLAN else state) + 8 * load_word(block, OPERAND.type)
    return array_data(array, ndarray_type, load_word(types, 0), count, flags), load_word(types, 1)


@jit
def _check_many(state, form, numbers, operands, context):
    """Check a tuple of similar operands and the written one; return the bytes, or -1, and whether a source is dst."""
    srcs, count = load_word(operands, 0), load_word(numbers, 0)
    if load_word(srcs + TYPE, 0) != load_word(state, STATE.tuple_type):
        return -1, False
    block, number = form + 8 * FORM.operands, load_word(srcs + TUPLE_LENGTH, 0)
    dst, size = _data(load_word(operands, 1), block + _OPERAND_BYTES, state, 0, count)
    if dst == 0 or number == 0:
        return -1, False
    same = False
    for k in range(number):
        src, _ = _data(load_word(srcs + TUPLE_ITEMS, k), block, state, 0, count)
        if src == 0 or clash(dst, count, size, src, count, size, True):
            return -1, False
        same |= src == dst
        if k < MAX_SOURCES:
            store_words(context + 8 * CONTEXT.sources + _SOURCE_BYTES * k, src, count, size)
    store_words(context, dst, state, srcs, NONE, count, size, min(number, MAX_SOURCES))
    return (number + 1) * count * size, same


@jit
def _check_each(state, form, plan, numbers, operands, context):
    """Check the operands one by one; return as `_check_many` does."""
    planned, sizes, in_place = load_word(form, FORM.planned) != 0, numbers, load_word(form, FORM.in_place) != 0
    if planned:
        sizes = plan + 8 * load_word(form, FORM.plan_sizes)
        in_place &= load_word(plan, load_word(form, FORM.plan_in_place)) != 0
    num_operands, written = load_word(form, FORM.num_operands), load_word(form, FORM.written)
    block, first = form + 8 * FORM.operands, context + 8 * CONTEXT.sources
    dst, dst_count, dst_size, moved, place = 0, 0, 0, 0, first
    for k in range(num_operands):
        count = _count(block, sizes)
        data, size = _data(load_word(operands, k), block, state, plan, count)
        if data == 0:
            return -1, False
        # an array that is as expected fits in memory, so nothing overflows from here on
        moved += count * size
        if k == written:
            dst, dst_count, dst_size = data, count, size
        else:
            store_words(place, data, count, size)
            place += _SOURCE_BYTES
        block += _OPERAND_BYTES
    same = False
    if load_word(form, FORM.whole) != 0:
        while place > first:
            place -= _SOURCE_BYTES
            other = load_word(place, 0)
            if clash(dst, dst_count, dst_size, other, load_word(place, 1), load_word(place, 2), in_place):
                return -1, False
            same |= other == dst
    same &= load_word(form, FORM.in_place) != 0
    store_words(context, dst, state, plan, NONE, dst_count, dst_size, num_operands - 1)
    return moved, same


@jit
def launch_checked(state, form, plan, numbers, operands, noted):
    """Check a launch and run it. Return 0 if it has run, NO_MEMORY, or 1 if nothing has been written.

    noted: 0, or an address: then nothing runs, and NOTED is written there.
    """
    for size in range(load_word(form, FORM.num_sizes) if load_word(form, FORM.planned) == 0 else 0):
        if load_word(numbers, size) <= 0:
            return 1
    context = stack_words(CONTEXT_WORDS)
    if load_word(form, FORM.many) != 0:
        moved, same = _check_many(state, form, numbers, operands, context)
    else:
        moved, same = _check_each(state, form, plan, numbers, operands, context)
    if moved < 0:
        return 1
    launcher, in_place = load_word(state, STATE.launcher), 1 if same else 0
    if noted == 0:
        return call_launcher(launcher, context, moved, in_place, numbers)
    if load_word(form, FORM.many) != 0:  # the operands are in a tuple
        return 1
    store_words(noted, launcher, moved, in_place)
    for number in range(MAX_NUMBERS):
        store_word(noted, NOTED.numbers + number, load_word(numbers, number))
    copy_bytes(noted + 8 * NOTED.frame, context, 8 * CONTEXT_WORDS)
    return 0
