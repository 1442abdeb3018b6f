"""The task of Gather and BatchGather: it walks over batches and groups, or parts of rows, and has a mover write them.

It is compiled once for all. What depends on the type of the indices and on the size of the rows is the mover, which it
calls by its address.
"""

from __future__ import annotations

from functools import cache

from ep.cpu.kernels.compiler import compile_task
from ep.cpu.kernels.jit import jit
from ep.cpu.kernels.memory import load_word
from ep.cpu.kernels.parallel import call_task
from ep.cpu.kernels.streaming import finish_streams

# words of the task's context
MOVER, PARAMS, INDICES, OUT = 0, 1, 2, 3
OUTER, GATHER, ROW_BYTES, NUM_INDICES, INDEX_SIZE = 4, 5, 6, 7, 8
LOW, NUM_VALID = 9, 10  # the valid indices are [low, low + num_valid)
FIRST_ROW = 11  # the row that index `low` names
PARAMS_BYTES = 12  # of all groups
PIECES = 13  # into how many pieces a row is cut; the task's range counts pieces
STREAMED = 14  # whether rows are written past the caches
NUM_WORDS = 15


@jit
def _whole_rows(context, begin, end, size):  # type: ignore[no-untyped-def]
    mover = load_word(context, MOVER)
    num_indices, outer = load_word(context, NUM_INDICES), load_word(context, OUTER)
    index_size, params_bytes = load_word(context, INDEX_SIZE), load_word(context, GATHER) * size
    group, first = begin // num_indices, begin % num_indices
    batch, group_of_batch = group // outer, group % outer
    params = load_word(context, PARAMS) + group * params_bytes
    indices = load_word(context, INDICES) + batch * num_indices * index_size
    out = load_word(context, OUT) + begin * size
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
def _parts_of_rows(context, begin, end, size):  # type: ignore[no-untyped-def]
    pieces = load_word(context, PIECES)
    part = (size + pieces - 1) // pieces
    num_indices = load_word(context, NUM_INDICES)
    while begin < end:
        row_of_out, piece = begin // pieces, begin % pieces
        stop = min(piece + end - begin, pieces)
        group = row_of_out // num_indices
        index = group // load_word(context, OUTER) * num_indices + row_of_out % num_indices
        first, last = min(piece * part, size), min(stop * part, size)
        params = load_word(context, PARAMS) + group * load_word(context, GATHER) * size + first
        indices = load_word(context, INDICES) + index * load_word(context, INDEX_SIZE)
        out = load_word(context, OUT) + row_of_out * size + first
        call_task(load_word(context, MOVER), context, params, indices, out, 1, last - first)
        begin += stop - piece


def _gather(context, begin, end):  # type: ignore[no-untyped-def]
    size = load_word(context, ROW_BYTES)
    if load_word(context, PIECES) > 1:
        _parts_of_rows(context, begin, end, size)
    else:
        _whole_rows(context, begin, end, size)
    if load_word(context, STREAMED) != 0:
        finish_streams()


@cache
def task() -> int:
    """The address of the task (context, begin, end) that gathers pieces of rows of `out`."""
    return compile_task("gather.walk", _gather)
