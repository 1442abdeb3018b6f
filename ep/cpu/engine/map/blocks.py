"""The walk of the map engine over an operand whose elements are contiguous along another axis than those of dst.

The walk goes over blocks, each of which is transposed to a tile. So whole cache lines are read; element by element,
each line would be fetched again for every element in it. The row kernel reads the rows of the tile and writes parts of
rows of dst.
"""

from __future__ import annotations

from typing import Final

from ep.common.native.fields import Int64
from ep.cpu.compile.jit import jit
from ep.cpu.engine.map.plan import TILE_BYTES, map_record
from ep.cpu.engine.map.state import MapState
from ep.cpu.engine.move.plan import MoveLoops
from ep.cpu.engine.odometer import first_row
from ep.cpu.lines.sizes import LINE
from ep.cpu.lines.streaming import finish_streams
from ep.cpu.shared.context import ITSELF, NONE, Context
from ep.cpu.threads.parallel import call_task
from ep.cpu.threads.scratch import give_back, take, thread_memory
from ep.include.primitive.primitive import kMaxNumDims

_FIELDS: Final = map_record(1)
_MOST_LINES: Final = 4  # the most cache lines of a row of src in a block; processors prefetch long runs better


@jit
def _call(kernel: int, streaming_kernel: int, row_context: int, dst: int, size: int, count: int) -> None:
    """Write a part of a row of dst; use the streaming kernel, if there is one, for whole cache lines."""
    if streaming_kernel == NONE:
        call_task(kernel, row_context, 0, count)
        return
    head = min((-dst & (LINE - 1)) // size, count)
    stop = head + ((count - head) & -(LINE // size))
    if head > 0:
        call_task(kernel, row_context, 0, head)
    if stop > head:
        call_task(streaming_kernel, row_context, head, stop)
    if stop < count:
        call_task(kernel, row_context, stop, count)


@jit
def walk_blocks(context: Context, begin: int, end: int) -> None:
    """Run the state's row kernel over a walk whose plan is a `BlockPlan`, on whole rows, as the writers of moves do."""
    plan, state = _FIELDS.at(context.plan), MapState.at(context.state)
    dims, strides, fill = plan.dims, plan.strides, MoveLoops.at(plan.fills[0])
    src, dst = context.sources[0].data, context.dst
    size, dst_size = context.sources[0].size, context.dst_size
    writer, far = fill.writer, fill.far
    row_kernel, streaming_kernel = state.row_kernel, NONE
    if context.streaming == ITSELF and dst & (dst_size - 1) == 0:
        streaming_kernel = state.streaming_kernel
    inner_axis, crossed = plan.num_axes - 1, plan.crossed
    inner, rows = dims[inner_axis], dims[inner_axis - 1]
    # src is contiguous along x, dst along y
    x_axis, y_axis = inner_axis - 1 + crossed, inner_axis - crossed
    src_step, dst_step = strides[y_axis] * size, strides[kMaxNumDims + x_axis] * dst_size
    begin -= begin % inner  # the neighbouring ranges are rounded in the same way
    if end != plan.count:
        end -= end % inner
    row_context, index, memory = Context.on_stack(), Int64.array_on_stack(kMaxNumDims), thread_memory()
    tile = take(memory, TILE_BYTES)
    row_context.state = state
    # the shape of a block: the runs of src are as long as they can be if parts of rows of dst are two cache lines
    run = LINE * min(dst_size, _MOST_LINES)
    width, length = run // size, TILE_BYTES // run
    while begin < end:
        row = begin // inner
        src_offset, dst_offset = first_row(dims, strides, inner_axis - 1, row // rows, index)
        first = row % rows
        num_rows = min(rows - first, (end - begin) // inner)
        x_begin, x_end, y_begin, y_end = first, first + num_rows, 0, inner
        if crossed != 0:
            x_begin, x_end, y_begin, y_end = 0, inner, first, first + num_rows
        for y in range(y_begin, y_end, length):
            num_columns = min(length, y_end - y)
            for x in range(x_begin, x_end, width):
                place, following = src + (src_offset + x) * size + y * src_step, 0
                if far != 0 and x + width < x_end:
                    following = place + run
                num_x = min(width, x_end - x)
                call_task(writer, tile, length * size, size, place, size, src_step, num_x, num_columns, 0, following)
                target = dst + (dst_offset + y) * dst_size + x * dst_step
                for i in range(num_x):
                    row_context.sources[0].data = tile + i * length * size
                    row_context.dst = target + i * dst_step
                    _call(row_kernel, streaming_kernel, row_context, target + i * dst_step, dst_size, num_columns)
        begin += num_rows * inner
    give_back(memory, tile)
    if streaming_kernel != NONE:
        finish_streams()
