"""The walking tasks of the map engine, one for each number of operands, and their launch functions.

If a row kernel cannot read an operand in place, the move engine copies it to a tile, one tile at a time, and the row
kernel is called on tiles.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Final

import numpy as np

from ep.common.functor.math_library import Scalar
from ep.common.native.fields import Int64
from ep.cpu.compile.compiler import compile_task
from ep.cpu.compile.jit import jit
from ep.cpu.engine.map.blocks import walk_blocks
from ep.cpu.engine.map.inner_loop import InnerContext
from ep.cpu.engine.map.plan import TILE_BYTES, MapLoops, map_record
from ep.cpu.engine.map.state import MapState
from ep.cpu.engine.move.plan import MoveLoops
from ep.cpu.engine.odometer import first_row, next_row
from ep.cpu.lines.streaming import LINE_BYTES, has_streaming_rows, run_writing
from ep.cpu.shared.context import ITSELF, LATER, NONE, Context
from ep.cpu.threads.parallel import call_task, run
from ep.cpu.threads.scratch import give_back, take, thread_memory
from ep.include.primitive.primitive import kMaxNumDims

_TILE: Final = 1024  # the most elements of an operand that are copied to a tile together
_LINE: Final = LINE_BYTES


@jit
def launch(context: Context, num_bytes: int, in_place: bool, sizes: int) -> int:
    """Launch without a plan, after the check; the state's task is a row kernel of any number of operands but two."""
    state, count = MapState.at(context.state), context.dst_count
    size = 0 if in_place else context.dst_size  # in place, cache lines are read anyway
    context.streaming = state.streaming_kernel
    return run_writing(context, state.task, count, size, num_bytes, state.grain)


@jit
def launch_walk(context: Context, num_bytes: int, in_place: bool, sizes: int) -> int:
    """Launch with a plan, after the check; the state's task is `walk`."""
    state, plan = MapState.at(context.state), MapLoops.at(context.plan)
    count, size, task = plan.count, context.dst_size, state.task
    kernel, inner = state.streaming_kernel, plan.num_axes - 1
    if kernel != NONE and plan.scattered != 0:
        if kernel == LATER:
            return 1
        context.streaming = ITSELF
        run(state, task, context, count, state.grain)
        return 0
    if kernel != NONE and plan.tiled == 0:
        row = plan.dims[inner] * size
        if inner == 0 or has_streaming_rows(context.dst, row):
            context.streaming = LATER if kernel == LATER else task
    if in_place or plan.gaps != 0:
        size = 0
    return run_writing(context, task, count, size, num_bytes, state.grain)


@jit
def _row_kernel(context: Context) -> int:
    """Return the row kernel for a walk: the one with non-temporal stores if the context asks for it."""
    state = MapState.at(context.state)
    return state.streaming_kernel if context.streaming != NONE else state.row_kernel


@cache
def walk(num_sources: int) -> int:
    """Return the address of the task (context, begin, end) that calls the state's row kernel over a walk."""
    task = _walk_of_two() if num_sources == 2 else _walk_of_one() if num_sources == 1 else _walk(num_sources)
    return compile_task(f"map.walk.{num_sources}", task)


@cache
def _walk_tiles(num_sources: int) -> Any:
    """Return the function that walks by tiles."""
    fields = map_record(num_sources)
    # a row kernel of two operands has its own context, and takes a number of rows in place of `begin`
    has_two = num_sources == 2
    row_class: Any = InnerContext if has_two else Context
    lead = 1 if has_two else 0

    @jit
    def tile_of(context: Context, address: int) -> tuple[Scalar, Scalar]:
        """Return the bytes of a tile and its number of elements; the plan has one tile for each of its moves."""
        plan = fields.at(address)
        spilled = plan.spill != 0
        tiles, size = np.int64(spilled), context.dst_size if spilled else 1
        for source in range(num_sources):
            if plan.fills[source] != 0:
                tiles += 1
                size = max(size, context.sources[source].size)
        room = TILE_BYTES // tiles & -_LINE
        return room, min(room // size, _TILE)

    @jit
    def move(plan: MoveLoops, dst: int, src: int, begin: int, end: int, context: Context) -> None:
        context.dst = dst
        context.plan = plan
        context.sources[0].data = src
        call_task(plan.walk, context, begin, end)

    @jit
    def walk_tiles(context: Context, begin: int, end: int) -> None:
        plan, state = fields.at(context.plan), MapState.at(context.state)
        dst, dst_size = context.dst, context.dst_size
        row_kernel, spill = state.row_kernel, plan.spill
        block = thread_memory()
        free = taken = take(block, TILE_BYTES)
        room, tile = tile_of(context, plan)
        row_context, move_context = row_class.on_stack(), Context.on_stack()
        move_context.streaming = NONE
        results = free
        if spill != 0:
            free += room
        row_context.state = state
        if has_two:
            row_context.step[0] = 1
            row_context.step[1] = 1
        while begin < end:
            stop, next_tile = min(begin + tile, end), free
            for source in range(num_sources):
                src, size = context.sources[source].data, context.sources[source].size
                fill, place = plan.fills[source], src + begin * size
                if fill != 0:
                    place = next_tile
                    next_tile += room
                    move(fill, place - begin * size, src, begin, stop, move_context)  # the task adds the offset
                if has_two:
                    row_context.src[source] = place
                else:
                    row_context.sources[source].data = place
            row_context.dst = dst + begin * dst_size if spill == 0 else results
            call_task(row_kernel, row_context, lead, stop - begin)
            if spill != 0:
                move(spill, dst, results - begin * dst_size, begin, stop, move_context)
            begin = stop
        give_back(block, taken)

    return walk_tiles


def _walk(num_sources: int) -> Any:
    walk_tiles = _walk_tiles(num_sources)

    def walk(context: Context, begin: int, end: int) -> None:
        if MapLoops.at(context.plan).tiled != 0:
            walk_tiles(context, begin, end)
        else:
            call_task(_row_kernel(context), context, begin, end)

    return walk


def _walk_of_one() -> Any:
    walk_others = jit(_walk(1))

    def walk(context: Context, begin: int, end: int) -> None:
        if MapLoops.at(context.plan).blocked != 0:
            walk_blocks(context, begin, end)
        else:
            walk_others(context, begin, end)

    return walk


def _walk_of_two() -> Any:
    fields = map_record(2)
    walk_tiles = _walk_tiles(2)

    @jit
    def walk_one_row(context: Context, begin: int, end: int) -> None:
        """Walk a single row, as most launches do, without divisions, which would take longer than a short row."""
        strides, src0, src1 = fields.at(context.plan).strides, context.sources[0], context.sources[1]
        dst_size, step0, step1 = context.dst_size, strides[0], strides[kMaxNumDims]
        row_context = InnerContext.on_stack()
        row_context.state = context.state
        row_context.step[0], row_context.step[1] = step0, step1
        row_context.row[0], row_context.row[1] = 0, 0
        row_context.dst_size = dst_size
        row_context.src[0] = src0.data + begin * step0 * src0.size
        row_context.src[1] = src1.data + begin * step1 * src1.size
        row_context.dst = context.dst + begin * dst_size
        call_task(_row_kernel(context), row_context, 1, end - begin)

    @jit
    def call_part(row_kernel: int, row_context: InnerContext, count: int, size0: int, size1: int) -> None:
        """Write `count` elements of a row, and advance the context past them."""
        if count == 0:
            return
        call_task(row_kernel, row_context, 1, count)
        moved0, moved1 = row_context.step[0] * size0, row_context.step[1] * size1
        row_context.src[0] += count * moved0
        row_context.src[1] += count * moved1
        row_context.dst += count * row_context.dst_size

    @jit
    def call_in_lines(
        row_kernel: int, streaming_kernel: int, row_context: InnerContext, count: int, size0: int, size1: int
    ) -> None:
        """Write a row: whole lines with non-temporal stores, the parts before and after them with ordinary stores."""
        dst, size = row_context.dst, row_context.dst_size
        head = min((-dst & (LINE_BYTES - 1)) // size, count)
        lines = (count - head) & -(LINE_BYTES // size)
        call_part(row_kernel, row_context, head, size0, size1)
        call_part(streaming_kernel, row_context, lines, size0, size1)
        call_part(row_kernel, row_context, count - head - lines, size0, size1)

    @jit
    def walk_rows(context: Context, begin: int, end: int) -> None:
        plan, state = fields.at(context.plan), MapState.at(context.state)
        src0, src1, dst_size = context.sources[0], context.sources[1], context.dst_size
        size0, size1, dims, strides, inner_axis = src0.size, src1.size, plan.dims, plan.strides, plan.num_axes - 1
        # the walk goes over blocks of two axes: rows, and the elements in them
        num_outer = max(inner_axis - 1, 0)
        inner, rows, row0, row1 = dims[inner_axis], 1, 0, 0
        step0, step1 = strides[inner_axis], strides[kMaxNumDims + inner_axis]
        if inner_axis > 0:
            rows = dims[num_outer]
            row0, row1 = strides[num_outer], strides[kMaxNumDims + num_outer]
        index, row_context = Int64.array_on_stack(kMaxNumDims), InnerContext.on_stack()
        row, column = begin // inner, begin % inner
        outer0, outer1 = first_row(dims, strides, num_outer, row // rows, index)
        row %= rows
        row_context.state = state
        row_context.step[0], row_context.step[1] = step0, step1
        row_context.row[0], row_context.row[1] = row0 * size0, row1 * size1
        row_context.dst_size = dst_size
        row_kernel, kernel = state.row_kernel, _row_kernel(context)
        in_lines = kernel != row_kernel and (context.dst | inner * dst_size) & (LINE_BYTES - 1) != 0
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
            row_context.src[0], row_context.src[1] = src0.data + offset0 * size0, src1.data + offset1 * size1
            row_context.dst = context.dst + begin * dst_size
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

    def walk(context: Context, begin: int, end: int) -> None:
        plan = MapLoops.at(context.plan)
        if plan.tiled != 0:
            walk_tiles(context, begin, end)
        elif plan.num_axes == 1:
            walk_one_row(context, begin, end)
        else:
            walk_rows(context, begin, end)

    return walk
