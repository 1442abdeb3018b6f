"""The task of Gather and BatchGather: it walks over batches and groups, or parts of rows, and calls a mover on them.

It is compiled once for all. Only the mover, which it calls by its address, depends on the index type and the row size.
"""

from __future__ import annotations

from functools import cache
from typing import Final

from ep.common.native.fields import Int64, word
from ep.common.native.record import Record
from ep.cpu.compile.compiler import compile_task
from ep.cpu.compile.jit import jit
from ep.cpu.compile.memory import unit_functions
from ep.cpu.lines.inline_copy import copy_short_row
from ep.cpu.lines.sizes import LEAST_STREAMED_ROW, LINE
from ep.cpu.lines.streaming import finish_streams, stream_lines
from ep.cpu.threads.parallel import call_task


class GatherContext(Record):
    """The context of the task."""

    mover = word()
    params = word()
    indices = word()
    out = word()
    outer = word()
    gather = word()
    row_bytes = word()
    num_indices = word()
    index_size = word()
    low = word()  # the valid indices are [low, low + num_valid)
    num_valid = word()
    first_row = word()  # the row of index `low`
    params_bytes = word()  # the bytes of params, for all groups
    pieces = word()  # the number of pieces that a row is cut into; the task's range counts pieces
    streamed = word()  # whether rows are written with non-temporal stores


_TILE: Final = 2048  # bytes of rows that are written to L1, then streamed
_TILE_WORDS: Final = (_TILE + 2 * LINE) // 8
_copy_line = unit_functions(LINE)[0]


@jit
def _whole_rows(context: GatherContext, begin: int, end: int, size: int) -> None:
    mover = context.mover
    num_indices, outer = context.num_indices, context.outer
    index_size, params_bytes = context.index_size, context.gather * size
    group, first = begin // num_indices, begin % num_indices
    batch, group_of_batch = group // outer, group % outer
    params = context.params + group * params_bytes
    indices = context.indices + batch * num_indices * index_size
    out, at_once, tile, held, skipped = context.out + begin * size, end - begin, 0, 0, 0
    if context.streamed != 0 and size < LEAST_STREAMED_ROW:
        # rows that are cut by lines are written to a tile in L1, from which whole lines are streamed
        at_once, memory = _TILE // size, Int64.array_on_stack(_TILE_WORDS)
        tile = memory + (-(memory + 0) & (LINE - 1))
        held = skipped = out & (LINE - 1)  # bytes in the tile, and of these the ones before `out`
        out -= held
    while begin < end:
        left = min(num_indices - first, end - begin)
        count = min(left, at_once)
        to = out if tile == 0 else tile + held
        call_task(mover, context, params, indices + first * index_size, to, count, size, left - count)
        written = count * size
        if tile != 0:
            written = _stream_lines_of_tile(out, tile, skipped, held + written)
            held += count * size - written
            skipped = 0 if written != 0 else skipped
        out += written
        begin += count
        first += count
        if first < num_indices:
            continue
        first = 0
        params += params_bytes
        group_of_batch += 1
        if group_of_batch == outer:
            group_of_batch = 0
            indices += num_indices * index_size
    if held > skipped:
        copy_short_row(out + skipped, tile + skipped, held - skipped)


@jit
def _stream_lines_of_tile(out: int, tile: int, skipped: int, held: int) -> int:
    """Stream the complete lines of `held` bytes of a tile, whose first `skipped` ones are not to be written.

    The rest moves to the start of the tile. out: the line that the first one goes to. Returns the bytes of the lines.
    """
    size, first = held & -LINE, 0
    if size != 0:
        if skipped != 0:
            copy_short_row(out + skipped, tile + skipped, LINE - skipped)
            first = LINE
        stream_lines(out + first, tile + first, size - first)
        _copy_line(tile, 0, tile + size, 0)
    return size


@jit
def _parts_of_rows(context: GatherContext, begin: int, end: int, size: int) -> None:
    pieces = context.pieces
    part = (size + pieces - 1) // pieces
    num_indices = context.num_indices
    while begin < end:
        row_of_out, piece = begin // pieces, begin % pieces
        stop = min(piece + end - begin, pieces)
        group = row_of_out // num_indices
        index = group // context.outer * num_indices + row_of_out % num_indices
        first, last = min(piece * part, size), min(stop * part, size)
        params = context.params + group * context.gather * size + first
        indices = context.indices + index * context.index_size
        out = context.out + row_of_out * size + first
        call_task(context.mover, context, params, indices, out, 1, last - first, 0)
        begin += stop - piece


def _gather(context: GatherContext, begin: int, end: int) -> None:
    size = context.row_bytes
    if context.pieces > 1:
        _parts_of_rows(context, begin, end, size)
    else:
        _whole_rows(context, begin, end, size)
    if context.streamed != 0:
        finish_streams()


@cache
def task() -> int:
    """Return the address of the task (context, begin, end) that gathers pieces of rows of `out`."""
    return compile_task("gather.walk", _gather)
