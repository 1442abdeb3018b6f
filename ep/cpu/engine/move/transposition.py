"""Blocks whose units are adjacent in src along one axis, and in dst along the other: written by tiles.

Row by row, such a block takes one unit of each cache line of src, or of dst. Here whole runs of src are transposed in
registers to a tile, and go to dst from there in long runs: past the caches, where dst is large.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, Final

from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic

from ep.cpu.compile.jit import jit
from ep.cpu.compile.memory import allocate, release, stack_words, unit_functions
from ep.cpu.engine.move.byte_rows import copy_row, prefetch_second
from ep.cpu.engine.move.row_writer import LANE, LINE, VECTOR
from ep.cpu.engine.streaming import finish_streams, stream_lines

_LINE: Final = LINE
_WIDE: Final = 256  # bytes of a run of src: processors fetch the lines after one, not one line here and there as fast
_RUN: Final = 128  # bytes of a run of dst
_PITCH: Final = _RUN + _LINE  # from row to row of a tile, in which a line that is not whole yet stays for the next tile
_STACK: Final = 2**14  # bytes of a tile that the stack has room for

_NEAR: Final = 2**17  # bytes that a block of src spans at most where the second cache holds it

_LANES: Final = VECTOR // LANE


def transpose(unit: int, streamed: int) -> Callable[..., None]:
    """The writer; streamed: whether whole lines go past the caches.

    Either axis may be that of the rows.
    """
    lane, tall = LANE // unit, VECTOR // unit
    wide, long = _WIDE // unit, _RUN // unit
    tile_bytes = wide * _PITCH + _LINE
    on_stack = tile_bytes <= _STACK
    tile_words = tile_bytes // 8 if on_stack else 1
    transpose_vectors, transpose_few = (_vector_transposer(unit, streamed, whole) for whole in (True, False))
    copy_unit, copy_line = unit_functions(unit)[0], unit_functions(_LINE)[0]

    @jit
    def fill_tile(tile, dst, dst_row, src, src_row, width, length, following):
        """Transpose to a tile, whose rows lie in their lines as those of dst do where these are streamed.

        following: the place of src that the next tile begins with, or 0: its lines are fetched meanwhile, since
        processors do not foresee so many short runs.
        """
        row, last = 0, min(tall, length) - 1
        while row < length:
            if following != 0:
                for i in range(row, min(row + tall, length)):
                    for offset in range(0, width * unit, _LINE):
                        prefetch_second(following + i * src_row + offset)
            row = max(min(row, length - tall), 0)
            column = 0
            while column < width:
                column = min(column, width - lane)
                to, of = tile + column * _PITCH + row * unit, src + row * src_row + column * unit
                if length >= tall:
                    transpose_vectors(to, _PITCH, dst + column * dst_row, dst_row, of, src_row, last)
                else:
                    transpose_few(to, _PITCH, dst + column * dst_row, dst_row, of, src_row, last)
                column += lane
            row += tall

    @jit
    def stream_tile(dst, dst_row, tile, width, size, first, last):
        """Stream the whole lines that there are by now; first, last: whether rows begin, or end, with this tile."""
        for i in range(width):
            source, target = tile + i * _PITCH, dst + i * dst_row
            shift = target & (_LINE - 1)
            target -= shift
            begin, end = 0, shift + size
            if first and shift != 0:
                begin = min(_LINE, end)
                copy_row(target + shift, source + shift, begin - shift)
            lines = max(end & -_LINE, begin)
            stream_lines(target + begin, source + begin, lines - begin)
            if last:
                copy_row(target + lines, source + lines, end - lines)
            else:
                copy_line(source, 0, source + lines, 0)

    @jit
    def write_tile(dst, dst_row, tile, width, size):
        if size == _RUN:
            for i in range(width):
                for k in range(_RUN // _LINE):
                    copy_line(dst + i * dst_row, k, tile + i * _PITCH, k)
        else:
            for i in range(width):
                copy_row(dst + i * dst_row, tile + i * _PITCH, size)

    @jit
    def move_tiles(dst, dst_row, tile, src, src_row, width, length):
        column = 0
        while column < width:
            columns = min(wide, width - column)
            if columns < lane:
                column, columns = width - lane, lane
            row = 0
            while row < length:
                rows = min(long, length - row)
                to = dst + column * dst_row + row * unit
                of = src + row * src_row + column * unit
                following = 0
                if length * src_row > _NEAR:
                    following = of + rows * src_row if row + rows < length else src + (column + columns) * unit
                fill_tile(tile, to, dst_row, of, src_row, columns, rows, following)
                if streamed:
                    stream_tile(to, dst_row, tile, columns, rows * unit, row == 0, row + rows == length)
                else:
                    write_tile(to, dst_row, tile, columns, rows * unit)
                row += rows
            column += columns
        if streamed:
            finish_streams()

    def write(dst, dst_row, dst_step, src, src_row, src_step, num_rows, count, past):
        # from here on, rows are those of src: adjacent units there, which go to different rows of dst
        width, length, src_pitch, dst_pitch = num_rows, count, src_step, dst_row
        if dst_row == unit:
            width, length, src_pitch, dst_pitch = count, num_rows, src_row, dst_step
        allocated = 0
        if on_stack:
            tile = stack_words(tile_words)
        else:
            tile = allocated = allocate(tile_bytes) if width >= lane and length > 1 else 0
        if width < lane or length == 1 or tile == 0:
            for i in range(width):
                for k in range(length):
                    copy_unit(dst + i * dst_pitch + k * unit, 0, src + k * src_pitch + i * unit, 0)
        else:
            move_tiles(dst, dst_pitch, tile + (-tile & (_LINE - 1)), src, src_pitch, width, length)
        if not on_stack:
            release(allocated)

    return write


@cache
def _vector_transposer(unit: int, shifted: int, whole: bool) -> Any:
    """A function transpose(tile, tile_row, dst, dst_row, src, src_row, last): lanes of rows of src to rows of a tile.

    It reads one lane of as many rows of src as a vector has units, and writes a vector to as many rows of the tile as a
    lane has units. last: the last row of src that there is: it stands in for those after it.
    whole: whether all rows are there, and `last` is not asked.
    shifted: whether vectors are written as many bytes further on as the row of dst lies in its cache line.
    """
    units = LANE // unit
    byte, word = ir.IntType(8), ir.IntType(64)
    lane, vector = ir.VectorType(byte, LANE), ir.VectorType(byte, VECTOR)

    def constant(sources: list[int]) -> Any:
        return ir.Constant(ir.VectorType(ir.IntType(32), len(sources)), sources)

    def interleaved(half: int) -> Any:
        """From each lane of two vectors in turn, the units of one half of it."""
        return constant(
            [
                source * VECTOR + first + (half * units // 2 + i) * unit + part
                for first in range(0, VECTOR, LANE)
                for i in range(units // 2)
                for source in range(2)
                for part in range(unit)
            ]
        )

    @intrinsic
    def transpose(
        typing_context: Any, tile: Any, tile_row: Any, dst: Any, dst_row: Any, src: Any, src_row: Any, last: Any
    ) -> Any:
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            tile, tile_row, dst, dst_row, src, src_row, last = args

            def lane_of(row: int) -> Any:
                place = word(row)
                if not whole:
                    place = builder.select(builder.icmp_signed("<", place, last), place, last)
                address = builder.add(src, builder.mul(place, src_row))
                return builder.load(builder.inttoptr(address, lane.as_pointer()), align=1)

            both = constant([*range(VECTOR)])
            rows = [
                builder.shuffle_vector(*(lane_of(i + k * units) for k in range(_LANES)), both) for i in range(units)
            ]
            if units > 1:
                halves = interleaved(0), interleaved(1)
                for _ in range(units.bit_length() - 1):
                    pairs = list(zip(rows[: units // 2], rows[units // 2 :], strict=True))
                    rows = [builder.shuffle_vector(*pair, half) for pair in pairs for half in halves]
            for i, row in enumerate(rows):
                address = builder.add(tile, builder.mul(word(i), tile_row))
                if shifted:
                    place = builder.add(dst, builder.mul(word(i), dst_row))
                    address = builder.add(address, builder.and_(place, word(_LINE - 1)))
                builder.store(row, builder.inttoptr(address, vector.as_pointer()), align=1)
            return context.get_dummy_value()

        return types.void(*[types.int64] * 7), generate

    return transpose
