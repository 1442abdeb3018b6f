"""The writers of blocks whose units are adjacent in src along one axis, and in dst along the other: by tiles.

Row by row, such a block would use one unit of each cache line of src, or of dst. Here whole runs of src are transposed
in registers to a tile, and written from there to dst in long runs, with non-temporal stores if dst is large.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from ep.cpu.compile.jit import jit
from ep.cpu.compile.memory import allocate, release, unit_functions
from ep.cpu.engine.move.run_writer import COMPACT, LANE
from ep.cpu.engine.move.transposed_block import block_transposer
from ep.cpu.lines.fetch import fetch_second
from ep.cpu.lines.inline_copy import copy_bytes
from ep.cpu.lines.sizes import LINE
from ep.cpu.lines.streaming import finish_streams, stream_lines
from ep.cpu.threads.scratch import give_back, take, thread_memory

_LINE: Final = LINE

# a tile for ordinary stores: it is on the stack, in L1
_NEAR_WIDTH: Final = 64  # units of a run of src
_NEAR_RUN: Final = 128  # bytes of a run of dst
_NEAR_PITCH: Final = COMPACT  # from row to row: rows a power of two apart would map to few cache sets
_NEAR_BYTES: Final = _NEAR_WIDTH * _NEAR_PITCH

# a tile for non-temporal stores, which fits in L2: long runs suit both the prefetch of src and the writing of dst
_FAR_WIDTH: Final = 256
_FAR_BYTES: Final = 1024  # the most bytes of a run of src
_FAR_RUN: Final = 256
_FAR_PITCH: Final = _FAR_RUN + _LINE  # plus room for an incomplete line, which stays for the next tile


def transpose(unit: int, streamed: int) -> Callable[..., None]:
    """Return the writer; streamed: whether whole lines are written with non-temporal stores.

    Either axis may be that of the rows.
    """
    move_tiles, copy_unit, lane = (
        (_past_caches if streamed else _through_caches)(unit),
        unit_functions(unit)[0],
        LANE // unit,
    )

    def write(
        dst: int, dst_row: int, dst_step: int, src: int, src_row: int, src_step: int, num_rows: int, count: int,
        past: int, following: int,
    ) -> None:  # fmt: skip
        # from here on, rows are those of src: adjacent units there, which go to different rows of dst
        width, length, src_pitch, dst_pitch = num_rows, count, src_step, dst_row
        if dst_row == unit:
            width, length, src_pitch, dst_pitch = count, num_rows, src_row, dst_step
        if width < lane or length == 1 or not move_tiles(dst, dst_pitch, src, src_pitch, width, length, following):
            for i in range(width):
                for k in range(length):
                    copy_unit(dst + i * dst_pitch + k * unit, 0, src + k * src_pitch + i * unit, 0)

    return write


def _through_caches(unit: int) -> Callable[..., bool]:
    """Return a function move(dst, dst_row, src, src_row, width, length, following). It returns False without memory."""
    transpose_block, copy_line, lane, run = (
        block_transposer(unit),
        unit_functions(_LINE)[0],
        LANE // unit,
        _NEAR_RUN // unit,
    )

    @jit
    def write_tile(dst: int, dst_row: int, tile: int, width: int, size: int) -> None:
        if size == _NEAR_RUN:
            for i in range(width):
                for k in range(_NEAR_RUN // _LINE):
                    copy_line(dst + i * dst_row, k, tile + i * _NEAR_PITCH, k)
        else:
            for i in range(width):
                copy_bytes(dst + i * dst_row, tile + i * _NEAR_PITCH, size)

    @jit
    def move_tiles(dst: int, dst_row: int, src: int, src_row: int, width: int, length: int, following: int) -> bool:
        memory, column = thread_memory(), 0
        tile = take(memory, _NEAR_BYTES)
        in_place = lane <= length and dst_row <= COMPACT
        while column < width:
            columns = min(_NEAR_WIDTH, width - column)
            if columns < lane:
                column, columns = width - lane, lane
            row = 0
            if in_place:
                to, of = dst + column * dst_row, src + column * unit
                transpose_block(to, dst_row, of, src_row, columns, length, 0)
                row = length
            while row < length:
                rows = min(run, length - row)
                transpose_block(tile, _NEAR_PITCH, src + row * src_row + column * unit, src_row, columns, rows, 0)
                write_tile(dst + column * dst_row + row * unit, dst_row, tile, columns, rows * unit)
                row += rows
            column += columns
        give_back(memory, tile)
        return True

    return move_tiles


def _past_caches(unit: int) -> Callable[..., bool]:
    """Return the same with non-temporal stores; the next part of src is prefetched while lines go to memory."""
    transpose_block, copy_line, lane = block_transposer(unit), unit_functions(_LINE)[0], LANE // unit
    wide, run = min(_FAR_WIDTH, _FAR_BYTES // unit), _FAR_RUN // unit
    tile_bytes = wide * (_FAR_PITCH + _LINE) + 2 * _LINE

    @jit
    def stream_tile(
        dst: int, dst_row: int, tile: int, pitch: int, width: int, size: int, first: int, last: int, following: int,
        src_row: int, src_size: int,
    ) -> None:  # fmt: skip
        """Write complete lines with non-temporal stores; first, last: whether rows begin, or end, with this tile."""
        per_row = (src_size + _LINE - 2) // _LINE + 1  # requests for a run of src, whose last one is for its last byte
        fetches = per_row * (size // unit) // width + 1 if following != 0 else 0  # before each row of the tile
        of_row = 0
        for i in range(width):
            for _ in range(fetches):
                fetch_second(following + min(of_row * _LINE, src_size - 1), 1)
                of_row += 1
                if of_row == per_row:
                    of_row = 0
                    following += src_row
            source, target = tile + i * pitch, dst + i * dst_row
            shift = target & (_LINE - 1)
            source -= shift
            target -= shift
            begin, end = 0, shift + size
            if first and shift != 0:
                begin = min(_LINE, end)
                copy_bytes(target + shift, source + shift, begin - shift)
            lines = max(end & -_LINE, begin)
            stream_lines(target + begin, source + begin, lines - begin)
            if last:
                copy_bytes(target + lines, source + lines, end - lines)
            else:
                copy_line(source, 0, source + lines, 0)

    @jit
    def move_tiles(dst: int, dst_row: int, src: int, src_row: int, width: int, length: int, following: int) -> bool:
        memory = allocate(tile_bytes)
        if memory == 0:
            return False
        tile, column = memory + (-memory & (_LINE - 1)), 0
        pitch = _FAR_PITCH + (dst_row & (_LINE - 1))  # rows have the same offset within a line as those of dst
        while column < width:
            columns = min(wide, width - column)
            if columns < lane:
                column, columns = width - lane, lane
            row = 0
            while row < length:
                rows = min(run, length - row)
                to = dst + column * dst_row + row * unit
                of = src + row * src_row + column * unit
                place, later = tile + (to & (_LINE - 1)), following
                if row + rows < length:
                    later = of + rows * src_row
                elif column + columns < width:
                    later = src + (column + columns) * unit
                first, last = row == 0, row + rows == length
                transpose_block(place, pitch, of, src_row, columns, rows, 0)
                stream_tile(
                    to, dst_row, place, pitch, columns, rows * unit, first, last, later, src_row, columns * unit
                )
                row += rows
            column += columns
        finish_streams()
        release(memory)
        return True

    return move_tiles
