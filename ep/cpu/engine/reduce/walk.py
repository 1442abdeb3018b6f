"""The walk of all reductions: which elements are folded when. It calls the kernel of the launch state.

Blocks are folded one by one and merged one after the other. Of sums of floating-point numbers the kernel keeps what a
merge loses by rounding, so that the error does not grow with the number of blocks.
"""

from __future__ import annotations

from functools import cache
from typing import Final

from ep.cpu.compile.compiler import compile_task
from ep.cpu.compile.jit import jit, separate
from ep.cpu.compile.memory import allocate, copy_bytes, load_word, release, stack_words, store_word, store_words
from ep.cpu.engine.map.strided import STRIDED
from ep.cpu.engine.reduce.fold import CHAIN
from ep.cpu.engine.reduce.plan import PLAN_AXES, REDUCE_PLAN, TILE_BYTES
from ep.cpu.engine.reduce.state import (
    COMPUTED,
    FINISH,
    FOLD_COLUMNS,
    FOLD_ROW,
    MERGE,
    REDUCE,
    REDUCE_STATE,
    ROWS,
    TILE_ELEMENTS,
    TILE_ROWS_BYTES,
    WORK,
    WORK_WORDS,
)
from ep.cpu.lines.sizes import LINE
from ep.cpu.shared.context import CONTEXT, CONTEXT_WORDS
from ep.cpu.threads.parallel import call_task

_TILE_WORDS: Final = TILE_BYTES // 8
_FOLDED_ROWS: Final = CHAIN  # that are folded at once, at most
_COMPUTED_WORDS: Final[int] = COMPUTED.num_words
_ERROR: Final = TILE_BYTES // 2  # where errors are, behind the values


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
def _do(kernel, work, what, total, count):
    store_word(work, WORK.what, what)
    store_word(work, WORK.total, total)
    store_word(work, WORK.error, total + _ERROR)
    store_word(work, WORK.count, count)
    call_task(kernel, work)


@jit
def _merge(kernel, work, total, more, count):
    store_word(work, WORK.more, more)
    store_word(work, WORK.more_error, more + _ERROR)
    _do(kernel, work, MERGE, total, count)


@jit
def _compute(source, itemsize, address, count, place):
    """Write `count` elements to a place, computed from where they would lie."""
    context, first = load_word(source, COMPUTED.context), address // itemsize
    store_word(context, CONTEXT.dst, place - address)  # the task adds the place of each element
    call_task(load_word(source, COMPUTED.map), context, first, first + count)


@separate
def _fold_row(kernel, work, itemsize, address, count, total):
    """Fold adjacent elements of a row."""
    source = load_word(work, WORK.source)
    if source == 0:
        store_word(work, WORK.address, address)
        _do(kernel, work, FOLD_ROW, total, count)
        return
    tile = load_word(source, COMPUTED.tile)
    for first in range(0, count, TILE_ELEMENTS):
        some = min(TILE_ELEMENTS, count - first)
        _compute(source, itemsize, address + first * itemsize, some, tile)
        store_word(work, WORK.address, tile)
        _do(kernel, work, FOLD_ROW, total, some)
        store_word(work, WORK.fresh, 0)


@separate
def _fold_rows(kernel, work, itemsize, address, stride, rows, count, total):
    """Fold rows, so many bytes apart, into values of their columns."""
    source, row_bytes, together, place = load_word(work, WORK.source), count * itemsize, rows, address
    if source != 0:
        place = load_word(source, COMPUTED.tile)
        together = max(TILE_ROWS_BYTES // row_bytes & -_FOLDED_ROWS, _FOLDED_ROWS)
    for first in range(0, rows, together):
        some, begin = min(together, rows - first), address + first * stride
        if source != 0 and stride == row_bytes:
            _compute(source, itemsize, begin, some * count, place)
        elif source != 0:
            for row in range(some):
                _compute(source, itemsize, begin + row * stride, count, place + row * row_bytes)
        store_word(work, WORK.address, begin if source == 0 else place)
        store_word(work, WORK.stride, stride if source == 0 else row_bytes)
        store_word(work, WORK.num_rows, some)
        _do(kernel, work, FOLD_COLUMNS, total, count)
        store_word(work, WORK.fresh, 0)


@jit
def _fold_blocks(kernel, work, plan, itemsize, begin, number, blocks, count, total):
    """Fold adjacent blocks of a row, or of groups of rows; behind the last one the rows that are no group."""
    length, group = load_word(plan, REDUCE_PLAN.length), load_word(plan, REDUCE_PLAN.group)
    size = load_word(plan, REDUCE_PLAN.block)
    skip, width = number * size, load_word(plan, REDUCE_PLAN.width)
    number_of = min(blocks * size, length // group - skip)
    if load_word(plan, REDUCE_PLAN.by_columns) == 0:
        _fold_row(kernel, work, itemsize, begin + skip * itemsize, number_of, total)
    else:
        stride = width * itemsize
        first, wide = begin + skip * stride * group, stride * group
        _fold_rows(kernel, work, itemsize, first, wide, number_of, count * group, total)
        rest = length % group
        if rest > 0 and skip + number_of == length // group:
            store_word(work, WORK.fresh, 0)
            _fold_rows(kernel, work, itemsize, begin + (length - rest) * stride, stride, rest, count, total)
    store_word(work, WORK.fresh, 0)


@separate
def _fold_segment(state, plan, work, address, segment, count, total):
    """Write the values of a segment, and what rounding has lost of them."""
    kernel, itemsize = load_word(state, REDUCE_STATE.kernel), load_word(state, REDUCE_STATE.itemsize)
    blocks, all_blocks = load_word(plan, REDUCE_PLAN.blocks), load_word(plan, REDUCE_PLAN.all_blocks)
    segments, group = load_word(plan, REDUCE_PLAN.segments), load_word(plan, REDUCE_PLAN.group)
    go, num_go = plan + 8 * REDUCE_PLAN.go, load_word(plan, REDUCE_PLAN.num_go)
    values, size = count * load_word(state, REDUCE_STATE.parts), load_word(state, REDUCE_STATE.value_size)
    store_word(work, WORK.fresh, 1)
    index, last = segment * all_blocks // segments, (segment + 1) * all_blocks // segments
    while index < last:
        place, number = index // blocks, index % blocks
        run_of = min(blocks - number, last - index)
        _fold_blocks(kernel, work, plan, itemsize, address + _offset(go, num_go, place), number, run_of, count, total)
        index += run_of
    for one in range(1, group):
        _merge(kernel, work, total, total + one * values * size, values)


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
    total, more = stack_words(_TILE_WORDS), stack_words(_TILE_WORDS)
    kernel, segments = load_word(state, REDUCE_STATE.kernel), load_word(plan, REDUCE_PLAN.segments)
    address, count, first = _source_of(state, src, plan, unit)
    values = count * load_word(state, REDUCE_STATE.parts)
    for segment in range(segments):
        if partials != 0:
            more = partials + TILE_BYTES * (unit * segments + segment)
            if segment == 0:
                total = more
        elif segment == 0:
            _fold_segment(state, plan, work, address, segment, count, total)
        else:
            _fold_segment(state, plan, work, address, segment, count, more)
        if segment > 0:
            _merge(kernel, work, total, more, values)
    store_word(work, WORK.first, first)
    store_word(work, WORK.wrong, 0)
    _do(kernel, work, FINISH, total, count)
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
        _do(kernel, work, ROWS, 0, end - begin)
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
    store_word(work, WORK.far, load_word(plan, REDUCE_PLAN.far))
    store_word(work, WORK.source, 0)
    tile, source, own = 0, stack_words(_COMPUTED_WORDS), stack_words(CONTEXT_WORDS)
    if load_word(context, REDUCE.map) != 0:
        tile = allocate(max(TILE_ELEMENTS * load_word(state, REDUCE_STATE.itemsize), TILE_ROWS_BYTES) + LINE)
        if tile == 0:
            store_word(load_word(context, REDUCE.map_context), STRIDED.lacks_memory, 1)
            return
        copy_bytes(own, load_word(context, REDUCE.map_context), 8 * CONTEXT_WORDS)
        store_words(source, load_word(context, REDUCE.map), own, tile + (-tile & (LINE - 1)))
        store_word(work, WORK.source, source)
        store_word(work, WORK.far, 0)
    if load_word(plan, REDUCE_PLAN.plain_rows) != 0 and tile == 0:
        _reduce_rows(state, plan, work, src, begin, end)
    elif partials != 0 and load_word(context, REDUCE.merges) == 0:
        segments = load_word(plan, REDUCE_PLAN.segments)
        for number in range(begin, end):
            address, count, _ = _source_of(state, src, plan, number // segments)
            own = partials + TILE_BYTES * number
            _fold_segment(state, plan, work, address, number % segments, count, own)
    else:
        for unit in range(begin, end):
            _reduce(state, plan, work, src, unit, partials)
    if tile != 0:
        release(tile)


@cache
def walk() -> int:
    """The address of the task (context by REDUCE, begin, end).

    Without partials it reduces units [begin, end). Else it writes the values of segments [begin, end) to them, counted
    over all units, or makes results of what is there of units [begin, end).
    """
    return compile_task("reduce.walk", _walk)
