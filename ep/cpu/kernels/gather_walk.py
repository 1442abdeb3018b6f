"""The task of Gather and BatchGather, one for each index type: it walks over batches and groups, or parts of rows."""

from __future__ import annotations

from functools import cache

from ep.cpu.kernels.compiler import compile_task
from ep.cpu.kernels.gather_rows import row_finder, row_mover
from ep.cpu.kernels.jit import jit
from ep.cpu.kernels.memory import copy_bytes, load_word, zero_bytes
from ep.include.data_type import DataType

# words of the task's context
PARAMS, INDICES, OUT = 0, 1, 2
OUTER, GATHER, ROW_BYTES, NUM_INDICES, INDEX_SIZE = 3, 4, 5, 6, 7
LOW, NUM_VALID = 8, 9  # the valid indices are [low, low + num_valid)
FIRST_ROW = 10  # the row that index `low` names
PIECES = 11  # into how many pieces a row is cut; the task's range counts pieces
AHEAD = 12  # how many rows before it is copied a row is fetched into the cache; 0 for not at all
NUM_WORDS = 13


@cache
def task(indices_type: DataType) -> int:
    """The address of the task (context, begin, end) that gathers pieces of rows of `out`, by indices of one type."""
    find, move_rows = row_finder(indices_type), row_mover(indices_type)

    @jit
    def whole_rows(context, begin, end, size):  # type: ignore[no-untyped-def]
        low, num_valid = load_word(context, LOW), load_word(context, NUM_VALID)
        first_row, ahead = load_word(context, FIRST_ROW), load_word(context, AHEAD)
        num_indices, outer = load_word(context, NUM_INDICES), load_word(context, OUTER)
        params_bytes = load_word(context, GATHER) * size
        indices_bytes = num_indices * load_word(context, INDEX_SIZE)
        group, first = begin // num_indices, begin % num_indices
        batch, group_of_batch = group // outer, group % outer
        params = load_word(context, PARAMS) + group * params_bytes
        indices = load_word(context, INDICES) + batch * indices_bytes
        out = load_word(context, OUT) + begin * size
        while begin < end:
            count = min(num_indices - first, end - begin)
            move_rows(params, indices, first, out, count, size, low, num_valid, first_row, ahead)
            begin += count
            first = 0
            out += count * size
            params += params_bytes
            group_of_batch += 1
            if group_of_batch == outer:
                group_of_batch = 0
                indices += indices_bytes

    @jit
    def parts_of_rows(context, begin, end, size):  # type: ignore[no-untyped-def]
        pieces = load_word(context, PIECES)
        part = (size + pieces - 1) // pieces
        num_indices = load_word(context, NUM_INDICES)
        while begin < end:
            row_of_out, piece = begin // pieces, begin % pieces
            stop = min(piece + end - begin, pieces)
            group = row_of_out // num_indices
            batch = group // load_word(context, OUTER)
            index = batch * num_indices + row_of_out % num_indices
            low, num_valid = load_word(context, LOW), load_word(context, NUM_VALID)
            row, valid = find(load_word(context, INDICES), index, low, num_valid, load_word(context, FIRST_ROW))
            first, count = min(piece * part, size), min(stop * part, size) - min(piece * part, size)
            params = load_word(context, PARAMS) + (group * load_word(context, GATHER) + row) * size
            out = load_word(context, OUT) + row_of_out * size
            if valid:
                copy_bytes(out + first, params + first, count)
            else:
                zero_bytes(out + first, count)
            begin += stop - piece

    def gather(context, begin, end):  # type: ignore[no-untyped-def]
        size = load_word(context, ROW_BYTES)
        if load_word(context, PIECES) > 1:
            parts_of_rows(context, begin, end, size)
        else:
            whole_rows(context, begin, end, size)

    return compile_task(f"gather.{indices_type.name}", gather)
