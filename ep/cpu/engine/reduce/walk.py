"""The walk of all reductions: which elements are folded when. It calls the kernel of the launch state.

Blocks are folded one by one and merged one after the other. Of sums of floating-point numbers the kernel keeps what a
merge loses by rounding, so that the error does not grow with the number of blocks.
"""

from __future__ import annotations

from functools import cache
from typing import Final

from ep.cpu.compile.compiler import compile_task
from ep.cpu.compile.jit import jit, separate
from ep.cpu.compile.memory import copy_bytes, load_word, set_bytes, stack_words, store_word
from ep.cpu.engine.reduce.plan import PLAN_AXES, REDUCE_PLAN, TILE_VALUES
from ep.cpu.engine.reduce.state import (
    FINISH,
    FOLD_COLUMNS,
    FOLD_ROW,
    MERGE,
    REDUCE,
    REDUCE_STATE,
    ROWS,
    WORK,
    WORK_WORDS,
)
from ep.cpu.threads.parallel import call_task

_TILE: Final = TILE_VALUES  # in words
_TILE_BYTES: Final = 8 * TILE_VALUES


@jit
def _offset(axes, num_axes, number):
    """Where the place `number` is, in bytes: places are counted along `num_axes` axes, the last one fastest."""
    offset = 0
    for axis in range(num_axes - 1, -1, -1):
        size = load_word(axes, axis)
        offset += number % size * load_word(axes, PLAN_AXES + axis)
        number //= size
    return offset


@jit
def _do(kernel, work, what, total, error, count):
    store_word(work, WORK.what, what)
    store_word(work, WORK.total, total)
    store_word(work, WORK.error, error)
    store_word(work, WORK.count, count)
    call_task(kernel, work)


@jit
def _merge(kernel, work, total, error, more, more_error, count):
    store_word(work, WORK.more, more)
    store_word(work, WORK.more_error, more_error)
    _do(kernel, work, MERGE, total, error, count)


@jit
def _fold_block(kernel, work, plan, itemsize, begin, number, count, out):
    """Fold a block of a row, or of groups of rows."""
    size, length = load_word(plan, REDUCE_PLAN.block), load_word(plan, REDUCE_PLAN.length)
    if load_word(plan, REDUCE_PLAN.by_columns) == 0:
        store_word(work, WORK.address, begin + number * size * itemsize)
        _do(kernel, work, FOLD_ROW, out, 0, min(size, length - number * size))
        return
    group = load_word(plan, REDUCE_PLAN.group)
    stride = load_word(plan, REDUCE_PLAN.width) * itemsize * group
    store_word(work, WORK.address, begin + number * size * stride)
    store_word(work, WORK.stride, stride)
    store_word(work, WORK.num_rows, min(size, length // group - number * size))
    _do(kernel, work, FOLD_COLUMNS, out, 0, count * group)


@jit
def _fold_rest(kernel, work, plan, itemsize, begin, count, out):
    """Fold the rows behind the last group; return whether there are any."""
    group, length = load_word(plan, REDUCE_PLAN.group), load_word(plan, REDUCE_PLAN.length)
    rest, stride = length % group, load_word(plan, REDUCE_PLAN.width) * itemsize
    if rest == 0:
        return False
    store_word(work, WORK.address, begin + (length - rest) * stride)
    store_word(work, WORK.stride, stride)
    store_word(work, WORK.num_rows, rest)
    _do(kernel, work, FOLD_COLUMNS, out, 0, count)
    return True


@separate
def _fold_segment(state, plan, work, address, segment, count, total, error):
    """Write the values of a segment, and what rounding has lost of them."""
    kernel, itemsize = load_word(state, REDUCE_STATE.kernel), load_word(state, REDUCE_STATE.itemsize)
    blocks, all_blocks = load_word(plan, REDUCE_PLAN.blocks), load_word(plan, REDUCE_PLAN.all_blocks)
    segments, group = load_word(plan, REDUCE_PLAN.segments), load_word(plan, REDUCE_PLAN.group)
    go, num_go = plan + 8 * REDUCE_PLAN.go, load_word(plan, REDUCE_PLAN.num_go)
    values, size = count * load_word(state, REDUCE_STATE.parts), load_word(state, REDUCE_STATE.value_size)
    block, nothing = stack_words(_TILE), stack_words(_TILE)
    set_bytes(error, values * group * size, 0)
    set_bytes(nothing, values * group * size, 0)
    first, last = segment * all_blocks // segments, (segment + 1) * all_blocks // segments
    place, number = first // blocks, first % blocks
    begin = address + _offset(go, num_go, place)
    for index in range(first, last):
        _fold_block(kernel, work, plan, itemsize, begin, number, count, total if index == first else block)
        if index > first:
            _merge(kernel, work, total, error, block, nothing, values * group)
        number += 1
        if number == blocks:
            if _fold_rest(kernel, work, plan, itemsize, begin, count, block):
                _merge(kernel, work, total, error, block, nothing, values)
            place += 1
            number = 0
            begin = address + _offset(go, num_go, place)
    for one in range(1, group):
        more = one * values * size
        _merge(kernel, work, total, error, total + more, error + more, values)


@jit
def _source_of(state, src, plan, unit):
    """Where a unit begins, how many elements of a row it has, and which one of dst is the first."""
    tile, tiles, width = (
        load_word(plan, REDUCE_PLAN.tile),
        load_word(plan, REDUCE_PLAN.tiles),
        load_word(plan, REDUCE_PLAN.width),
    )
    place, first = unit // tiles, unit % tiles * tile
    offset = _offset(plan + 8 * REDUCE_PLAN.stay, load_word(plan, REDUCE_PLAN.num_stay), place)
    return (
        src + offset + first * load_word(state, REDUCE_STATE.itemsize),
        min(tile, width - first),
        place * width + first,
    )


@separate
def _reduce_unit(state, plan, work, src, unit, partials):
    """Reduce a unit, segment by segment, or from the values of its segments; return whether it is right."""
    total, error, more, more_error = (
        stack_words(_TILE),
        stack_words(_TILE),
        stack_words(_TILE),
        stack_words(_TILE),
    )
    kernel, segments = load_word(state, REDUCE_STATE.kernel), load_word(plan, REDUCE_PLAN.segments)
    address, count, first = _source_of(state, src, plan, unit)
    values = count * load_word(state, REDUCE_STATE.parts)
    for segment in range(segments):
        if partials != 0:
            more = partials + 2 * _TILE_BYTES * (unit * segments + segment)
            more_error = more + _TILE_BYTES
            if segment == 0:
                copy_bytes(total, more, _TILE_BYTES)
                copy_bytes(error, more_error, _TILE_BYTES)
        elif segment == 0:
            _fold_segment(state, plan, work, address, segment, count, total, error)
        else:
            _fold_segment(state, plan, work, address, segment, count, more, more_error)
        if segment > 0:
            _merge(kernel, work, total, error, more, more_error, values)
    store_word(work, WORK.first, first)
    store_word(work, WORK.wrong, 0)
    _do(kernel, work, FINISH, total, error, count)
    return load_word(work, WORK.wrong) == 0


@jit
def _reduce(state, plan, work, src, unit, partials):
    store_word(work, WORK.scaled, 0)
    if not _reduce_unit(state, plan, work, src, unit, partials):
        store_word(work, WORK.scaled, 1)
        _reduce_unit(state, plan, work, src, unit, 0)


@jit
def _reduce_rows(state, plan, work, src, begin, end):
    """Rows of one block, one behind the other."""
    kernel = load_word(state, REDUCE_STATE.kernel)
    while begin < end:
        store_word(work, WORK.address, src)
        store_word(work, WORK.stride, load_word(plan, REDUCE_PLAN.stay + PLAN_AXES))
        store_word(work, WORK.num_rows, load_word(plan, REDUCE_PLAN.length))
        store_word(work, WORK.first, begin)
        store_word(work, WORK.scaled, 0)
        store_word(work, WORK.wrong, 0)
        _do(kernel, work, ROWS, 0, 0, end - begin)
        begin = end - load_word(work, WORK.wrong)
        if begin < end:
            _reduce(state, plan, work, src, begin, 0)
            begin += 1


def _walk(context, begin, end):
    src, plan, state = load_word(context, REDUCE.src), load_word(context, REDUCE.plan), load_word(context, REDUCE.state)
    partials, work = load_word(context, REDUCE.partials), stack_words(WORK_WORDS)
    store_word(work, WORK.dst, load_word(context, REDUCE.dst))
    store_word(work, WORK.number, load_word(plan, REDUCE_PLAN.num_elements))
    store_word(work, WORK.scaled, 0)
    if load_word(plan, REDUCE_PLAN.plain_rows) != 0:
        _reduce_rows(state, plan, work, src, begin, end)
    elif partials != 0 and load_word(context, REDUCE.merges) == 0:
        segments = load_word(plan, REDUCE_PLAN.segments)
        for number in range(begin, end):
            address, count, _ = _source_of(state, src, plan, number // segments)
            own = partials + 2 * _TILE_BYTES * number
            _fold_segment(state, plan, work, address, number % segments, count, own, own + _TILE_BYTES)
    else:
        for unit in range(begin, end):
            _reduce(state, plan, work, src, unit, partials)


@cache
def walk() -> int:
    """The address of the task (context by REDUCE, begin, end).

    Without partials it reduces units [begin, end). Else it writes the values of segments [begin, end) to them, counted
    over all units, or makes results of what is there of units [begin, end).
    """
    return compile_task("reduce.walk", _walk)
