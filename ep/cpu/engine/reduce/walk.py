"""The walk of all reductions, which fixes the order of folding and calls the tasks of the launch state.

Blocks are folded one by one and merged in order. Sums of floating-point numbers keep the rounding error of each merge,
so that the error does not grow with the number of blocks.
"""

from __future__ import annotations

from functools import cache
from typing import Final, cast

import numpy as np

from ep.common.functor.math_library import Scalar
from ep.common.native.fields import Int64
from ep.cpu.compile.compiler import compile_task
from ep.cpu.compile.jit import jit, separate
from ep.cpu.compile.memory import allocate, copy_bytes, release
from ep.cpu.engine.reduce.fold import CHAIN
from ep.cpu.engine.reduce.plan import TILE_BYTES, OuterAxes, ReduceLoops
from ep.cpu.engine.reduce.state import TILE_ELEMENTS, TILE_ROWS_BYTES, Computed, ReduceContext, ReduceState
from ep.cpu.lines.sizes import LINE
from ep.cpu.shared.context import Context
from ep.cpu.threads.parallel import call_task
from ep.cpu.threads.scratch import give_back, take, thread_memory

_FOLDED_ROWS: Final = CHAIN  # rows that are folded at once, at most
_ERROR: Final = TILE_BYTES // 2  # the offset of the errors, after the values
# not literals, for which Numba would compile the called functions anew
_ZERO, _ONE = cast(int, np.int64(0)), cast(int, np.int64(1))


@jit
def _offset(axes: OuterAxes, number: int) -> int:
    """Return the byte offset of place `number`: places are counted along the axes, the last one fastest."""
    offset = 0
    for axis in range(axes.count - 1, -1, -1):
        size = axes.sizes[axis]
        offset += number % size * axes.strides[axis]
        number //= size
    return offset


@jit
def _merge(state: ReduceState, total: int, more: Scalar, count: int) -> None:
    call_task(state.merge, total, total + _ERROR, more, more + _ERROR, count)


@jit
def _compute(source: Computed, itemsize: int, address: int, count: int, place: int) -> None:
    """Write `count` elements to a place; the address that they would have in src determines their indices."""
    first = address // itemsize
    source.context.dst = place - address  # the task adds the offset of each element
    call_task(source.map, source.context, first, first + count)


@separate
def _fold_row(
    state: ReduceState, source: Computed, address: int, count: int, total: int, fresh: int, scaled: int
) -> None:
    """Fold contiguous elements of a row. source: null if they are in memory."""
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
def _fold_rows(
    state: ReduceState, source: Computed, address: int, stride: int, rows: int, count: int, total: int, fresh: int,
    far: int, scaled: int,
) -> None:  # fmt: skip
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
def _fold_blocks(
    state: ReduceState, plan: ReduceLoops, source: Computed, begin: int, number: int, blocks: int, count: int,
    total: int, fresh: int, scaled: int,
) -> None:  # fmt: skip
    """Fold adjacent blocks of a row, or of groups of rows; after the last one, fold the rows that are in no group."""
    length, group, itemsize = plan.length, plan.group, state.itemsize
    skip = number * plan.block
    number_of, rest = min(blocks * plan.block, length // group - skip), length % group
    if plan.by_columns == 0:
        _fold_row(state, source, begin + skip * itemsize, number_of, total, fresh, scaled)
        return
    stride, far = plan.width * itemsize, plan.far
    of_group, address = stride * group, begin + skip * stride * group
    _fold_rows(state, source, address, of_group, number_of, count * group, total, fresh, far, scaled)
    if rest > 0 and skip + number_of == length // group:
        _fold_rows(state, source, begin + (length - rest) * stride, stride, rest, count, total, _ZERO, far, scaled)


@jit
def _rows_from(plan: ReduceLoops, source: Computed, place: int, number: int, blocks: int) -> int:
    """Return how many whole rows of src begin at block `number` of a place, at one stride, in the next `blocks` blocks.

    Return 0 if the reduction is by columns, or if elements are computed as they are read.
    """
    last = plan.go.count - 1
    if source != 0 or number != 0 or last < 0 or plan.by_columns != 0:
        return 0
    size = plan.go.sizes[last]
    return min(size - place % size, blocks // plan.blocks)


@separate
def _fold_segment(
    state: ReduceState, plan: ReduceLoops, source: Computed, address: int, segment: int, count: int, total: int,
    scaled: int,
) -> None:  # fmt: skip
    """Write the values of a segment, and their rounding errors."""
    blocks, all_blocks, segments = plan.blocks, plan.all_blocks, plan.segments
    go, fresh, values = plan.go, _ONE, count * state.parts
    index, last = segment * all_blocks // segments, (segment + 1) * all_blocks // segments
    while index < last:
        place, number = index // blocks, index % blocks
        begin, rows = address + _offset(go, place), _rows_from(plan, source, place, number, last - index)
        if rows > 1:
            run_of, stride = rows * blocks, go.strides[go.count - 1]
            call_task(state.fold_apart, begin, stride, rows, plan.length, total, total + _ERROR, fresh, scaled)
        else:
            run_of = min(blocks - number, last - index)
            _fold_blocks(state, plan, source, begin, number, run_of, count, total, fresh, scaled)
        index, fresh = index + run_of, _ZERO
    for row in range(1, plan.group):
        _merge(state, total, total + row * values * state.value_size, values)


@jit
def _source_of(state: ReduceState, src: int, plan: ReduceLoops, unit: int) -> tuple[int, int, int]:
    """Return the address of a unit, the number of its elements per row, and the index of its first element in dst."""
    place, first = unit // plan.tiles, unit % plan.tiles * plan.tile
    address = src + _offset(plan.stay, place) + first * state.itemsize
    return address, min(plan.tile, plan.width - first), place * plan.width + first


@separate
def _reduce_unit(
    state: ReduceState, plan: ReduceLoops, source: Computed, src: int, dst: int, unit: int, partials: int, scaled: int,
    total: int,
) -> bool:  # fmt: skip
    """Reduce a unit, segment by segment, or from the values of its segments; return False if a sum has overflowed.

    total: memory for two tiles.
    """
    more, wrong = total + TILE_BYTES, Int64.on_stack()
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
    call_task(state.finish, dst, first, total, total + _ERROR, count, number, scaled, wrong)
    return wrong[0] == 0


@jit
def _reduce(
    state: ReduceState, plan: ReduceLoops, source: Computed, src: int, dst: int, begin: int, end: int, partials: int
) -> None:
    block = thread_memory()
    tiles = take(block, 2 * TILE_BYTES)
    for unit in range(begin, end):
        if not _reduce_unit(state, plan, source, src, dst, unit, partials, _ZERO, tiles):
            _reduce_unit(state, plan, source, src, dst, unit, _ZERO, _ONE, tiles)
    give_back(block, tiles)


@jit
def _reduce_rows(state: ReduceState, plan: ReduceLoops, src: int, dst: int, begin: int, end: int) -> None:
    """Reduce rows of one block, one after the other."""
    reduce_rows, wrong = state.reduce_rows, Int64.on_stack()
    stride, length = plan.stay.strides[0], plan.length
    while begin < end:
        number = plan.num_elements
        call_task(reduce_rows, src, stride, length, dst, begin, end, number, wrong)
        begin = end - wrong[0]
        if begin < end:
            _reduce(state, plan, Computed.at(_ZERO), src, dst, begin, begin + 1, _ZERO)
            begin += 1


def _walk(context: ReduceContext, begin: int, end: int) -> None:
    src, dst, plan, state, partials = context.src, context.dst, context.plan, context.state, context.partials
    tile, source = _ZERO, Computed.at(_ZERO)
    if context.map != 0:
        size = max(TILE_ELEMENTS * state.itemsize, TILE_ROWS_BYTES) + LINE
        tile = allocate(size + 8 * (Context.num_words + Computed.num_words))
        if tile == 0:
            context.map_context.lacks_memory = 1
            return
        map_context = Context.at(tile + size)
        copy_bytes(map_context, context.map_context, 8 * Context.num_words)
        source = Computed.at(map_context[1])
        source.map = context.map
        source.context = map_context
        source.tile = tile + (-tile & (LINE - 1))
    if plan.plain_rows != 0 and tile == 0:
        _reduce_rows(state, plan, src, dst, begin, end)
    elif partials != 0 and context.merges == 0:
        segments = plan.segments
        for number in range(begin, end):
            address, count, _ = _source_of(state, src, plan, number // segments)
            values = partials + TILE_BYTES * number
            _fold_segment(state, plan, source, address, number % segments, count, values, _ZERO)
    else:
        _reduce(state, plan, source, src, dst, begin, end, partials)
    if tile != 0:
        release(tile)


@cache
def walk() -> int:
    """Return the address of the task (context, begin, end).

    Without partials it reduces units [begin, end). With partials it either writes the values of segments [begin, end)
    to them, counted over all units, or makes the results of units [begin, end) from them.
    """
    return compile_task("reduce.walk", _walk)
