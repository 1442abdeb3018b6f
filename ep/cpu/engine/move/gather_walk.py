"""The task of Gather and BatchGather: it walks over batches and groups, or parts of rows, and calls a mover on them.

It is compiled once for all. Only the mover, which it calls by its address, depends on the index type and the row size.
"""

from __future__ import annotations

from functools import cache
from typing import Final

from ep.common.native.words import load_word
from ep.cpu.compile.compiler import compile_task
from ep.cpu.compile.jit import jit
from ep.cpu.lines.streaming import finish_streams
from ep.cpu.shared.layout import layout
from ep.cpu.threads.parallel import call_task

GATHER: Final = layout(
    "Gather",
    mover=1,
    params=1,
    indices=1,
    out=1,
    outer=1,
    gather=1,
    row_bytes=1,
    num_indices=1,
    index_size=1,
    low=1,  # the valid indices are [low, low + num_valid)
    num_valid=1,
    first_row=1,  # the row of index `low`
    params_bytes=1,  # the bytes of params, for all groups
    pieces=1,  # the number of pieces that a row is cut into; the task's range counts pieces
    streamed=1,  # whether rows are written with non-temporal stores
)
"""The context of the task."""

GATHER_WORDS: Final[int] = GATHER.num_words


@jit
def _whole_rows(context, begin, end, size):
    mover = load_word(context, GATHER.mover)
    num_indices, outer = load_word(context, GATHER.num_indices), load_word(context, GATHER.outer)
    index_size, params_bytes = load_word(context, GATHER.index_size), load_word(context, GATHER.gather) * size
    group, first = begin // num_indices, begin % num_indices
    batch, group_of_batch = group // outer, group % outer
    params = load_word(context, GATHER.params) + group * params_bytes
    indices = load_word(context, GATHER.indices) + batch * num_indices * index_size
    out = load_word(context, GATHER.out) + begin * size
    while begin < end:
        count = min(num_indices - first, end - begin)
        call_task(mover, context, params, indices + first * index_size, out, count, size)
        begin += count
        first = 0
        out += count * size
        params += params_bytes
        group_of_batch += 1
        if group_of_batch == outer:
            group_of_batch = 0
            indices += num_indices * index_size


@jit
def _parts_of_rows(context, begin, end, size):
    pieces = load_word(context, GATHER.pieces)
    part = (size + pieces - 1) // pieces
    num_indices = load_word(context, GATHER.num_indices)
    while begin < end:
        row_of_out, piece = begin // pieces, begin % pieces
        stop = min(piece + end - begin, pieces)
        group = row_of_out // num_indices
        index = group // load_word(context, GATHER.outer) * num_indices + row_of_out % num_indices
        first, last = min(piece * part, size), min(stop * part, size)
        params = load_word(context, GATHER.params) + group * load_word(context, GATHER.gather) * size + first
        indices = load_word(context, GATHER.indices) + index * load_word(context, GATHER.index_size)
        out = load_word(context, GATHER.out) + row_of_out * size + first
        call_task(load_word(context, GATHER.mover), context, params, indices, out, 1, last - first)
        begin += stop - piece


def _gather(context, begin, end):
    size = load_word(context, GATHER.row_bytes)
    if load_word(context, GATHER.pieces) > 1:
        _parts_of_rows(context, begin, end, size)
    else:
        _whole_rows(context, begin, end, size)
    if load_word(context, GATHER.streamed) != 0:
        finish_streams()


@cache
def task() -> int:
    """Return the address of the task (context, begin, end) that gathers pieces of rows of `out`."""
    return compile_task("gather.walk", _gather)
