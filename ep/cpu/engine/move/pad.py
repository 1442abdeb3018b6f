"""ConstantPad: dst is written in order, the rows of a box with padding between them."""

from __future__ import annotations

from functools import cache
from typing import Any, Final

from ep.common.functor.math_library import Scalar
from ep.common.native.fields import Int64
from ep.cpu.compile.compiler import compile_task
from ep.cpu.compile.jit import jit
from ep.cpu.compile.vector import load, store, vector
from ep.cpu.engine.move.plan import PadLoops
from ep.cpu.engine.move.run_writer import VECTOR
from ep.cpu.engine.odometer import first_row, next_row
from ep.cpu.lines.inline_copy import copy_bytes, row_filler
from ep.cpu.lines.sizes import LEAST_STREAMED_ROW, LINE
from ep.cpu.lines.streaming import finish_streams, stream_row, streaming_filler
from ep.cpu.shared.context import ITSELF, Context
from ep.cpu.threads.scratch import give_back, take, thread_memory
from ep.include.data_type import DataType
from ep.include.primitive.primitive import kMaxNumDims

_TILE: Final = 2048  # bytes of dst that are assembled in a tile for non-temporal stores, if rows are short
_TILE_BYTES: Final = _TILE + LINE
_VECTOR_WORDS: Final = VECTOR // 8
_SHORT: Final = 512  # the most bytes of a row and its padding that are written in whole vectors

_SRC, _DST = 0, 1  # the two sides, as in the odometer

_Bytes: Final = vector(DataType.kUInt8, VECTOR)


@jit
def _row_that_ends_after(plan: PadLoops, place: int) -> int:
    """Return the first row of the box that ends after `place`, a byte offset in dst; num_rows if none does."""
    dims, strides = plan.dims, Int64.at(plan + 8 * (PadLoops.strides + kMaxNumDims * _DST))
    inner_axis, size = plan.num_axes - 1, plan.streamed
    place -= plan.begins[_DST]
    row, inside = 0, True
    for axis in range(inner_axis):
        count = dims[axis]
        row *= count
        if inside:
            index = place // strides[axis]
            inside = 0 <= index < count
            row += min(max(index, 0), count)
            place -= index * strides[axis]
    return row + 1 if inside and place >= dims[inner_axis] * size else row


@jit
def _num_reached(count: int, first: int, step: int, reach: int, end: int) -> int:
    """Return how many of `count` runs of `reach` bytes, at `first`, `first + step`, ..., end at `end` or before."""
    if first + (count - 1) * step + reach <= end:  # the usual case, without a division
        return count
    return (end - reach - first) // step + 1 if first + reach <= end else 0


@jit
def _write_short_rows(dst: int, dst_row: int, src: int, src_row: int, length: int, num_rows: int, padding: int) -> None:
    """Write rows and the padding after each, in whole vectors; the next rows overwrite the excess bytes."""
    filled = load(_Bytes, padding)
    for _ in range(num_rows):
        offset = 0
        while offset < length:
            store(dst + offset, 0, load(_Bytes, src + offset))
            offset += VECTOR
        offset = length
        while offset < dst_row:
            store(dst + offset, 0, filled)
            offset += VECTOR
        dst += dst_row
        src += src_row


def _pad(size: int) -> Any:
    fill_bytes, stream_fill = row_filler(size), streaming_filler(size)

    @jit
    def write_row(in_lines: int, dst: int, src: int, size: int) -> None:
        if in_lines:
            stream_row(dst, src, size)
        else:
            copy_bytes(dst, src, size)

    @jit
    def write_padding(in_lines: int, dst: int, size: int, value: Scalar) -> None:
        if in_lines and size >= LEAST_STREAMED_ROW:
            stream_fill(dst, size, value)
        else:
            fill_bytes(dst, size, value)

    def pad(context: Context, begin: int, end: int) -> None:
        plan, dst = PadLoops.at(context.plan), context.dst
        src = context.sources[0].data + plan.begins[_SRC]
        value = context.sources[1].data
        dims, strides = plan.dims, plan.strides
        inner_axis, num_rows = plan.num_axes - 1, plan.num_rows
        length, box = dims[inner_axis] * size, plan.begins[_DST]
        index, src_offset, dst_offset = Int64.array_on_stack(kMaxNumDims), 0, 0
        first, last = begin * size, end * size
        row = _row_that_ends_after(plan, first) if num_rows > 0 else 0
        if row < num_rows:
            src_offset, dst_offset = first_row(dims, strides, inner_axis, row, index)
        src_end = context.sources[0].data + size * context.sources[0].count
        rows_axis, src_row, dst_row = max(inner_axis - 1, 0), 0, 0
        if inner_axis > 0:
            src_row, dst_row = strides[rows_axis], strides[kMaxNumDims + rows_axis]
        whole, padding = (length + VECTOR - 1) & -VECTOR, Int64.array_on_stack(_VECTOR_WORDS)
        reach = max(whole, length + ((dst_row - length + VECTOR - 1) & -VECTOR))
        fill_bytes(padding, VECTOR, value)
        past_caches = context.streaming == ITSELF
        in_lines = past_caches and (length >= LEAST_STREAMED_ROW or num_rows == 0)
        by_tiles = past_caches and not in_lines
        memory = thread_memory()
        tile = take(memory, _TILE_BYTES)
        done = first
        while done < last:
            start_of_tile, stop_of_tile, to = done, last, dst
            if by_tiles:  # a tile ends at the end of a cache line, if an element ends there
                stop_of_tile = min(done + ((_TILE - ((dst + done) & (LINE - 1))) & -size), last)
                to = tile + ((dst + done) & (LINE - 1)) - done
            while row < num_rows:
                row_begin = box + dst_offset
                if row_begin >= stop_of_tile:
                    break
                num_short, src_begin = 0, src + src_offset
                if 0 < dst_row <= _SHORT and done <= row_begin:
                    num_short = dims[rows_axis] - index[rows_axis]
                    num_short = _num_reached(num_short, row_begin, dst_row, reach, stop_of_tile)
                    num_short = _num_reached(num_short, src_begin, src_row, whole, src_end)
                if num_short > 0:
                    write_padding(in_lines, to + done, row_begin - done, value)
                    _write_short_rows(to + row_begin, dst_row, src_begin, src_row, length, num_short, padding)
                    done = row_begin + num_short * dst_row
                    row += num_short
                    index[rows_axis] = index[rows_axis] + num_short - 1
                    src_offset += (num_short - 1) * src_row
                    dst_offset += (num_short - 1) * dst_row
                    src_offset, dst_offset = next_row(dims, strides, inner_axis, index, src_offset, dst_offset)
                    continue
                start, stop = max(row_begin, done), min(row_begin + length, stop_of_tile)
                write_padding(in_lines, to + done, start - done, value)
                write_row(in_lines, to + start, src_begin + start - row_begin, stop - start)
                done = stop
                if row_begin + length > stop:
                    break
                row += 1
                src_offset, dst_offset = next_row(dims, strides, inner_axis, index, src_offset, dst_offset)
            write_padding(in_lines, to + done, stop_of_tile - done, value)
            done = stop_of_tile
            if by_tiles:
                stream_row(dst + start_of_tile, to + start_of_tile, stop_of_tile - start_of_tile)
        give_back(memory, tile)
        if past_caches:
            finish_streams()

    return pad


@cache
def task(size: int) -> int:
    """Return the address of the task (context, begin, end) that writes elements of `size` bytes of dst in order."""
    return compile_task(f"move.pad.{size}", _pad(size))
