"""The walk of all reductions, which fixes the order of folding and calls the tasks of the launch state.

Blocks are folded one by one and merged in order. Sums of floating-point numbers keep the rounding error of each merge,
so that the error does not grow with the number of blocks.
"""

from __future__ import annotations

from functools import cache
from typing import Final

import numpy as np

from ep.common.native.words import load_word, stack_words, store_words
from ep.cpu.compile.compiler import compile_task
from ep.cpu.compile.jit import jit, separate
from ep.cpu.compile.memory import allocate, copy_bytes, release
from ep.cpu.engine.map.strided import StridedContext
from ep.cpu.engine.reduce.fold import CHAIN
from ep.cpu.engine.reduce.plan import PLAN_AXES, TILE_BYTES, ReduceLoops
from ep.cpu.engine.reduce.state import TILE_ELEMENTS, TILE_ROWS_BYTES, Computed, ReduceContext, ReduceState
from ep.cpu.lines.sizes import LINE
from ep.cpu.shared.context import CONTEXT_WORDS, Context
from ep.cpu.threads.parallel import call_task
from ep.cpu.threads.scratch import give_back, take, thread_memory

_FOLDED_ROWS: Final = CHAIN  # rows that are folded at once, at most
_COMPUTED_WORDS: Final[int] = Computed.num_words
_ERROR: Final = TILE_BYTES // 2  # the offset of the errors, after the values
_ZERO, _ONE = np.int64(0), np.int64(1)  # not literals, for which Numba would compile the called functions anew


@jit
def _offset(axes, num_axes, number):
    """Return the byte offset of place `number`: places are counted along `num_axes` axes, the last one fastest."""
    offset = 0
    for axis in range(num_axes - 1, -1, -1):
        size = load_word(axes, axis)
        offset += number % size * load_word(axes, PLAN_AXES + axis)
        number //= size
    return offset


@jit
def _merge(state: ReduceState, total, more, count):
    call_task(state.merge, total, total + _ERROR, more, more + _ERROR, count)


@jit
def _compute(source: Computed, itemsize, address, count, place):
    """Write `count` elements to a place; the address that they would have in src determines their indices."""
    context, first = Context.at(source.context), address // itemsize
    context.dst = place - address  # the task adds the offset of each element
    call_task(source.map, context, first, first + count)


@separate
def _fold_row(state: ReduceState, source: Computed, address, count, total, fresh, scaled):
    """Fold contiguous elements of a row. source: 0, or the address of `Computed`."""
    fold_row = state.fold_row
    if source == 0:
        call_task(fold_row, address, count, total, total + _ERROR, fresh, scaled)
        return
    itemsize, tile = state.itemsize, source.tile
    for first in range(0, count, TILE_ELEMENTS):
        some = min(TILE_ELEMENTS, count - first)
        _compute(source, itemsize, address + first * itemsize, some, tile)
        call_task(fold_row, tile, some, total, total + _ERROR, fresh if first == 0 else 0, scaled)


@separate
def _fold_rows(state: ReduceState, source: Computed, address, stride, rows, count, total, fresh, far, scaled):
    """Fold rows, `stride` bytes apart, into values of their columns. source: as for a row."""
    fold_columns, itemsize = state.fold_columns, state.itemsize
    if source == 0:
        call_task(fold_columns, address, stride, rows, count, total, total + _ERROR, fresh, far, scaled)
        return
    row_bytes, tile = count * itemsize, source.tile
    together = max(TILE_ROWS_BYTES // row_bytes & -_FOLDED_ROWS, _FOLDED_ROWS)
    for first in range(0, rows, together):
        some, begin = min(together, rows - first), address + first * stride
        if stride == row_bytes:
            _compute(source, itemsize, begin, some * count, tile)
        else:
            for row in range(some):
                _compute(source, itemsize, begin + row * stride, count, tile + row * row_bytes)
        is_new = fresh if first == 0 else 0
        call_task(fold_columns, tile, row_bytes, some, count, total, total + _ERROR, is_new, 0, scaled)


@jit
def _fold_blocks(state: ReduceState, plan: ReduceLoops, source, begin, number, blocks, count, total, fresh, scaled):
    """Fold adjacent blocks of a row, or of groups of rows; after the last one, fold the rows that are in no group."""
    length, group = plan.length, plan.group
    size, itemsize = plan.block, state.itemsize
    skip = number * size
    number_of, rest = min(blocks * size, length // group - skip), length % group
    if plan.by_columns == 0:
        _fold_row(state, source, begin + skip * itemsize, number_of, total, fresh, scaled)
        return
    stride, far = plan.width * itemsize, plan.far
    of_group, address = stride * group, begin + skip * stride * group
    _fold_rows(state, source, address, of_group, number_of, count * group, total, fresh, far, scaled)
    if rest > 0 and skip + number_of == length // group:
        _fold_rows(state, source, begin + (length - rest) * stride, stride, rest, count, total, _ZERO, far, scaled)


@jit
def _rows_from(plan: ReduceLoops, source, place, number, blocks):
    """Return how many whole rows of src begin at block `number` of a place, at one stride, in the next `blocks` blocks.

    Return 0 if the reduction is by columns, or if elements are computed as they are read.
    """
    num_go = plan.num_go
    if source != 0 or number != 0 or num_go == 0 or plan.by_columns != 0:
        return 0
    size = load_word(plan, ReduceLoops.go + num_go - 1)
    return min(size - place % size, blocks // plan.blocks)


@separate
def _fold_segment(state: ReduceState, plan: ReduceLoops, source, address, segment, count, total, scaled):
    """Write the values of a segment, and their rounding errors."""
    blocks, all_blocks = plan.blocks, plan.all_blocks
    segments, group = plan.segments, plan.group
    go, num_go, fresh = plan.go, plan.num_go, _ONE
    values, size = count * state.parts, state.value_size
    index, last = segment * all_blocks // segments, (segment + 1) * all_blocks // segments
    while index < last:
        place, number = index // blocks, index % blocks
        begin, rows = address + _offset(go, num_go, place), _rows_from(plan, source, place, number, last - index)
        if rows > 1:
            run_of, stride = rows * blocks, load_word(go, PLAN_AXES + num_go - 1)
            fold_apart, length = state.fold_apart, plan.length
            call_task(fold_apart, begin, stride, rows, length, total, total + _ERROR, fresh, scaled)
        else:
            run_of = min(blocks - number, last - index)
            _fold_blocks(state, plan, source, begin, number, run_of, count, total, fresh, scaled)
        index, fresh = index + run_of, _ZERO
    for one in range(1, group):
        _merge(state, total, total + one * values * size, values)


@jit
def _source_of(state: ReduceState, src, plan: ReduceLoops, unit):
    """Return the address of a unit, the number of its elements per row, and the index of its first element in dst."""
    tile, tiles, width = (
        plan.tile,
        plan.tiles,
        plan.width,
    )
    place, first = unit // tiles, unit % tiles * tile
    offset = _offset(plan.stay, plan.num_stay, place)
    return (
        src + offset + first * state.itemsize,
        min(tile, width - first),
        place * width + first,
    )


@separate
def _reduce_unit(state: ReduceState, plan: ReduceLoops, source, src, dst, unit, partials, scaled, total):
    """Reduce a unit, segment by segment, or from the values of its segments; return False if a sum has overflowed.

    total: memory for two tiles.
    """
    more, wrong = total + TILE_BYTES, stack_words(1)
    segments, number = plan.segments, plan.num_elements
    address, count, first = _source_of(state, src, plan, unit)
    values = count * state.parts
    for segment in range(segments):
        if partials != 0:
            more = partials + TILE_BYTES * (unit * segments + segment)
            if segment == 0:
                total = more
        elif segment == 0:
            _fold_segment(state, plan, source, address, segment, count, total, scaled)
        else:
            _fold_segment(state, plan, source, address, segment, count, more, scaled)
        if segment > 0:
            _merge(state, total, more, values)
    finish = state.finish
    call_task(finish, dst, first, total, total + _ERROR, count, number, scaled, wrong)
    return load_word(wrong, 0) == 0


@jit
def _reduce(state, plan, source, src, dst, begin, end, partials):
    block = thread_memory()
    tiles = take(block, 2 * TILE_BYTES)
    for unit in range(begin, end):
        if not _reduce_unit(state, plan, source, src, dst, unit, partials, _ZERO, tiles):
            _reduce_unit(state, plan, source, src, dst, unit, _ZERO, _ONE, tiles)
    give_back(block, tiles)


@jit
def _reduce_rows(state: ReduceState, plan: ReduceLoops, src, dst, begin, end):
    """Reduce rows of one block, one after the other."""
    reduce_rows, wrong = state.reduce_rows, stack_words(1)
    stride, length = plan.stay[PLAN_AXES], plan.length
    while begin < end:
        number = plan.num_elements
        call_task(reduce_rows, src, stride, length, dst, begin, end, number, wrong)
        begin = end - load_word(wrong, 0)
        if begin < end:
            _reduce(state, plan, _ZERO, src, dst, begin, begin + 1, _ZERO)
            begin += 1


def _walk(context: ReduceContext, begin, end):
    src, plan, state = context.src, ReduceLoops.at(context.plan), ReduceState.at(context.state)
    dst, partials = context.dst, context.partials
    tile, source = _ZERO, _ZERO
    if context.map != 0:
        size = max(TILE_ELEMENTS * state.itemsize, TILE_ROWS_BYTES) + LINE
        tile = allocate(size + 8 * (CONTEXT_WORDS + _COMPUTED_WORDS))
        if tile == 0:
            StridedContext.at(context.map_context).lacks_memory = 1
            return
        own = tile + size
        copy_bytes(own, context.map_context, 8 * CONTEXT_WORDS)
        source = own + 8 * CONTEXT_WORDS
        store_words(source, context.map, own, tile + (-tile & (LINE - 1)))
    if plan.plain_rows != 0 and tile == 0:
        _reduce_rows(state, plan, src, dst, begin, end)
    elif partials != 0 and context.merges == 0:
        segments = plan.segments
        for number in range(begin, end):
            address, count, _ = _source_of(state, src, plan, number // segments)
            _fold_segment(state, plan, source, address, number % segments, count, partials + TILE_BYTES * number, _ZERO)
    else:
        _reduce(state, plan, source, src, dst, begin, end, partials)
    if tile != 0:
        release(tile)


@cache
def walk() -> int:
    """Return the address of the task (context by ReduceContext, begin, end).

    Without partials it reduces units [begin, end). With partials it either writes the values of segments [begin, end)
    to them, counted over all units, or makes the results of units [begin, end) from them.
    """
    return compile_task("reduce.walk", _walk)
