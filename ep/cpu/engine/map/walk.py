"""The walking tasks of the map engine, one for each number of operands, and their launch functions.

If a row kernel cannot read an operand in place, the move engine copies it to a tile, one tile at a time, and the row
kernel is called on tiles.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Final

import numpy as np

from ep.common.native.words import load_word, stack_words, store_word
from ep.cpu.compile.compiler import compile_task
from ep.cpu.compile.jit import jit
from ep.cpu.engine.map.blocks import walk_blocks
from ep.cpu.engine.map.inner_loop import INNER, INNER_WORDS
from ep.cpu.engine.map.plan import MAP_PLAN, TILE_BYTES, map_layout
from ep.cpu.engine.map.state import MAP_STATE
from ep.cpu.engine.move.plan import MOVE_PLAN
from ep.cpu.engine.odometer import first_row, next_row
from ep.cpu.lines.streaming import LINE_BYTES, has_streaming_rows, run_writing
from ep.cpu.shared.context import CONTEXT, CONTEXT_WORDS, ITSELF, LATER, NONE, SOURCE_WORDS
from ep.cpu.shared.state import STATE
from ep.cpu.threads.parallel import call_task, run
from ep.cpu.threads.scratch import give_back, take, thread_memory
from ep.include.primitive.primitive import kMaxNumDims

_TILE: Final = 1024  # the most elements of an operand that are copied to a tile together
_LINE: Final = LINE_BYTES

_SIZE: Final = CONTEXT.sources + 2  # of the first source; those of the others follow at steps of SOURCE_WORDS


@jit
def launch(context, num_bytes, in_place, sizes):
    """Launch without a plan, after the check; the state's task is a row kernel of any number of operands but two."""
    state, count = load_word(context, CONTEXT.state), load_word(context, CONTEXT.dst_count)
    size = 0 if in_place else load_word(context, CONTEXT.dst_size)  # in place, cache lines are read anyway
    store_word(context, CONTEXT.streaming, load_word(state, MAP_STATE.streaming_kernel))
    return run_writing(context, load_word(state, STATE.task), count, size, num_bytes, load_word(state, STATE.grain))


@jit
def launch_walk(context, num_bytes, in_place, sizes):
    """Launch with a plan, after the check; the state's task is `walk`."""
    state, plan = load_word(context, CONTEXT.state), load_word(context, CONTEXT.plan)
    count, size, task = (
        load_word(plan, MAP_PLAN.count),
        load_word(context, CONTEXT.dst_size),
        load_word(state, STATE.task),
    )
    kernel, inner = load_word(state, MAP_STATE.streaming_kernel), load_word(plan, MAP_PLAN.num_axes) - 1
    if kernel != NONE and load_word(plan, MAP_PLAN.scattered) != 0:
        if kernel == LATER:
            return 1
        store_word(context, CONTEXT.streaming, ITSELF)
        run(state, task, context, count, load_word(state, STATE.grain))
        return 0
    if kernel != NONE and load_word(plan, MAP_PLAN.tiled) == 0:
        row = load_word(plan, MAP_PLAN.dims + inner) * size
        if inner == 0 or has_streaming_rows(load_word(context, CONTEXT.dst), row):
            store_word(context, CONTEXT.streaming, LATER if kernel == LATER else task)
    if in_place or load_word(plan, MAP_PLAN.gaps) != 0:
        size = 0
    return run_writing(context, task, count, size, num_bytes, load_word(state, STATE.grain))


@jit
def _row_kernel(context):
    """Return the row kernel for a walk: the one with non-temporal stores if the context asks for it."""
    state = load_word(context, CONTEXT.state)
    streams = load_word(context, CONTEXT.streaming) != NONE
    return load_word(state, MAP_STATE.streaming_kernel if streams else MAP_STATE.row_kernel)


@cache
def walk(num_sources: int) -> int:
    """Return the address of the task (context, begin, end) that calls the state's row kernel over a walk."""
    task = _walk_of_two() if num_sources == 2 else _walk_of_one() if num_sources == 1 else _walk(num_sources)
    return compile_task(f"map.walk.{num_sources}", task)


@cache
def _walk_tiles(num_sources: int) -> Any:
    """Return the function that walks by tiles."""
    fields = map_layout(num_sources)
    # a row kernel of two operands has its own context, and takes a number of rows in place of `begin`
    first, step, lead = (INNER.src, 1, 1) if num_sources == 2 else (CONTEXT.sources, SOURCE_WORDS, 0)
    dst_place, state_place = (INNER.dst, INNER.state) if num_sources == 2 else (CONTEXT.dst, CONTEXT.state)

    @jit
    def tile_of(context, plan):
        """Return the bytes of a tile and its number of elements; the plan has one tile for each of its moves."""
        spilled = load_word(plan, fields.spill) != 0
        tiles, size = np.int64(spilled), load_word(context, CONTEXT.dst_size) if spilled else 1
        for source in range(num_sources):
            if load_word(plan, fields.fills + source) != 0:
                tiles += 1
                size = max(size, load_word(context, _SIZE + SOURCE_WORDS * source))
        room = TILE_BYTES // tiles & -_LINE
        return room, min(room // size, _TILE)

    @jit
    def move(plan, dst, src, begin, end, context):
        store_word(context, CONTEXT.dst, dst)
        store_word(context, CONTEXT.plan, plan)
        store_word(context, CONTEXT.sources, src)
        call_task(load_word(plan, MOVE_PLAN.walk), context, begin, end)

    @jit
    def walk_tiles(context, begin, end):
        plan, state = load_word(context, CONTEXT.plan), load_word(context, CONTEXT.state)
        dst, dst_size = load_word(context, CONTEXT.dst), load_word(context, CONTEXT.dst_size)
        row_kernel, spill = load_word(state, MAP_STATE.row_kernel), load_word(plan, fields.spill)
        block = thread_memory()
        free = taken = take(block, TILE_BYTES)
        room, tile = tile_of(context, plan)
        row_context, move_context = stack_words(CONTEXT_WORDS), stack_words(CONTEXT_WORDS)
        store_word(move_context, CONTEXT.streaming, NONE)
        results = free
        if spill != 0:
            free += room
        store_word(row_context, state_place, state)
        if num_sources == 2:
            store_word(row_context, INNER.step, 1)
            store_word(row_context, INNER.step + 1, 1)
        while begin < end:
            stop, next_tile = min(begin + tile, end), free
            for source in range(num_sources):
                src, size = (
                    load_word(context, CONTEXT.sources + SOURCE_WORDS * source),
                    load_word(context, _SIZE + SOURCE_WORDS * source),
                )
                fill, place = load_word(plan, fields.fills + source), src + begin * size
                if fill != 0:
                    place = next_tile
                    next_tile += room
                    move(fill, place - begin * size, src, begin, stop, move_context)  # the task adds the offset
                store_word(row_context, first + step * source, place)
            store_word(row_context, dst_place, dst + begin * dst_size if spill == 0 else results)
            call_task(row_kernel, row_context, lead, stop - begin)
            if spill != 0:
                move(spill, dst, results - begin * dst_size, begin, stop, move_context)
            begin = stop
        give_back(block, taken)

    return walk_tiles


def _walk(num_sources: int) -> Any:
    walk_tiles = _walk_tiles(num_sources)

    def walk(context, begin, end):
        if load_word(load_word(context, CONTEXT.plan), MAP_PLAN.tiled) != 0:
            walk_tiles(context, begin, end)
        else:
            call_task(_row_kernel(context), context, begin, end)

    return walk


def _walk_of_one() -> Any:
    walk_others = jit(_walk(1))

    def walk(context, begin, end):
        if load_word(load_word(context, CONTEXT.plan), MAP_PLAN.blocked) != 0:
            walk_blocks(context, begin, end)
        else:
            walk_others(context, begin, end)

    return walk


def _walk_of_two() -> Any:
    fields = map_layout(2)
    walk_tiles = _walk_tiles(2)
    size_place0, size_place1 = _SIZE, _SIZE + SOURCE_WORDS
    place0, place1 = CONTEXT.sources, CONTEXT.sources + SOURCE_WORDS
    strides_place0, strides_place1 = fields.strides, fields.strides + kMaxNumDims

    @jit
    def walk_one_row(context, begin, end):
        """Walk a single row, as most launches do, without divisions, which would take longer than a short row."""
        plan, state = load_word(context, CONTEXT.plan), load_word(context, CONTEXT.state)
        dst_size = load_word(context, CONTEXT.dst_size)
        step0, step1 = load_word(plan, strides_place0), load_word(plan, strides_place1)
        row_context = stack_words(INNER_WORDS)
        store_word(row_context, INNER.state, state)
        store_word(row_context, INNER.step, step0)
        store_word(row_context, INNER.step + 1, step1)
        store_word(row_context, INNER.row, 0)
        store_word(row_context, INNER.row + 1, 0)
        store_word(row_context, INNER.dst_size, dst_size)
        src0 = load_word(context, place0) + begin * step0 * load_word(context, size_place0)
        src1 = load_word(context, place1) + begin * step1 * load_word(context, size_place1)
        store_word(row_context, INNER.src, src0)
        store_word(row_context, INNER.src + 1, src1)
        dst = load_word(context, CONTEXT.dst) + begin * dst_size
        store_word(row_context, INNER.dst, dst)
        call_task(_row_kernel(context), row_context, 1, end - begin)

    @jit
    def call_part(row_kernel, row_context, count, size0, size1):
        """Write `count` elements of a row, and advance the context past them."""
        if count == 0:
            return
        call_task(row_kernel, row_context, 1, count)
        moved0, moved1 = load_word(row_context, INNER.step) * size0, load_word(row_context, INNER.step + 1) * size1
        store_word(row_context, INNER.src, load_word(row_context, INNER.src) + count * moved0)
        store_word(row_context, INNER.src + 1, load_word(row_context, INNER.src + 1) + count * moved1)
        dst_size = load_word(row_context, INNER.dst_size)
        store_word(row_context, INNER.dst, load_word(row_context, INNER.dst) + count * dst_size)

    @jit
    def call_in_lines(row_kernel, streaming_kernel, row_context, count, size0, size1):
        """Write a row: whole lines with non-temporal stores, the parts before and after them with ordinary stores."""
        dst, size = load_word(row_context, INNER.dst), load_word(row_context, INNER.dst_size)
        head = min((-dst & (LINE_BYTES - 1)) // size, count)
        lines = (count - head) & -(LINE_BYTES // size)
        call_part(row_kernel, row_context, head, size0, size1)
        call_part(streaming_kernel, row_context, lines, size0, size1)
        call_part(row_kernel, row_context, count - head - lines, size0, size1)

    @jit
    def walk_rows(context, begin, end):
        plan, state = load_word(context, CONTEXT.plan), load_word(context, CONTEXT.state)
        size0, size1 = load_word(context, size_place0), load_word(context, size_place1)
        dst_size = load_word(context, CONTEXT.dst_size)
        dims, strides = plan + 8 * fields.dims, plan + 8 * fields.strides
        inner_axis = load_word(plan, fields.num_axes) - 1
        # the walk goes over blocks of two axes: rows, and the elements in them
        num_outer = max(inner_axis - 1, 0)
        inner, rows, row0, row1 = load_word(dims, inner_axis), 1, 0, 0
        step0, step1 = load_word(strides, inner_axis), load_word(strides, kMaxNumDims + inner_axis)
        if inner_axis > 0:
            rows = load_word(dims, num_outer)
            row0, row1 = load_word(strides, num_outer), load_word(strides, kMaxNumDims + num_outer)
        index, row_context = stack_words(kMaxNumDims), stack_words(INNER_WORDS)
        row, column = begin // inner, begin % inner
        outer0, outer1 = first_row(dims, strides, num_outer, row // rows, index)
        row %= rows
        store_word(row_context, INNER.state, state)
        store_word(row_context, INNER.step, step0)
        store_word(row_context, INNER.step + 1, step1)
        store_word(row_context, INNER.row, row0 * size0)
        store_word(row_context, INNER.row + 1, row1 * size1)
        store_word(row_context, INNER.dst_size, dst_size)
        row_kernel, kernel = load_word(state, MAP_STATE.row_kernel), _row_kernel(context)
        in_lines = kernel != row_kernel and (load_word(context, CONTEXT.dst) | inner * dst_size) & (LINE_BYTES - 1) != 0
        while begin < end:
            num_rows, count = 1, inner
            if in_lines:
                count = min(inner - column, end - begin)
            elif column == 0 and end - begin >= inner:
                num_rows = min(rows - row, (end - begin) // inner)
            else:
                count = min(inner - column, end - begin)
            offset0 = outer0 + row * row0 + column * step0
            offset1 = outer1 + row * row1 + column * step1
            store_word(row_context, INNER.src, load_word(context, place0) + offset0 * size0)
            store_word(row_context, INNER.src + 1, load_word(context, place1) + offset1 * size1)
            store_word(row_context, INNER.dst, load_word(context, CONTEXT.dst) + begin * dst_size)
            if in_lines:
                call_in_lines(row_kernel, kernel, row_context, count, size0, size1)
            else:
                call_task(kernel, row_context, num_rows, count)
            begin += num_rows * count
            column = 0
            row += num_rows
            if row == rows:
                row = 0
                outer0, outer1 = next_row(dims, strides, num_outer, index, outer0, outer1)

    def walk(context, begin, end):
        plan = load_word(context, CONTEXT.plan)
        if load_word(plan, MAP_PLAN.tiled) != 0:
            walk_tiles(context, begin, end)
        elif load_word(plan, fields.num_axes) == 1:
            walk_one_row(context, begin, end)
        else:
            walk_rows(context, begin, end)

    return walk
