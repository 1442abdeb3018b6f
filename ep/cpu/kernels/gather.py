"""Gather and BatchGather: the entry that they share."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from ep.common.primitive.gather_view import MAX_OFFSET
from ep.cpu.kernels.compiler import compile_entry
from ep.cpu.kernels.gather_walk import NUM_WORDS
from ep.cpu.kernels.integers import multiply_sizes
from ep.cpu.kernels.jit import jit
from ep.cpu.kernels.memory import load_word, stack_words, store_words
from ep.cpu.kernels.ndarray import READABLE, WRITABLE, array_data, index_integer, object_address, word, words
from ep.cpu.kernels.parallel import run
from ep.cpu.launch_state import (
    GRAIN_BYTES,
    MOVERS,
    NDARRAY_TYPE,
    OPERANDS,
    SETTINGS,
    STREAMED_FROM,
    TASK,
    TASK_ARGUMENT,
)
from ep.cpu.row_class import row_class

_INDEX_COST = 40  # what an index costs, in bytes that could be moved meanwhile: 0.3 ns

_row_class = jit(row_class)


def _entry(state_, batch_, outer_, gather_, inner_, params_, num_indices_, indices_, out_, offset_):  # type: ignore[no-untyped-def]
    state, batch, outer, gather, inner = word(state_), word(batch_), word(outer_), word(gather_), word(inner_)
    num_indices, offset = word(num_indices_), word(offset_)
    if batch <= 0 or outer <= 0 or gather <= 0 or inner <= 0 or num_indices <= 0:
        return 1
    groups = multiply_sizes(batch, outer)
    rows = multiply_sizes(groups, num_indices)
    data_size, index_size = load_word(state, OPERANDS + 1), load_word(state, OPERANDS + 3)
    row_bytes = multiply_sizes(inner, data_size)
    params_count, out_count = multiply_sizes(multiply_sizes(groups, gather), inner), multiply_sizes(rows, inner)
    indices_count = multiply_sizes(batch, num_indices)
    ndarray_type = load_word(state, NDARRAY_TYPE)
    params = array_data(word(params_), ndarray_type, load_word(state, OPERANDS), params_count, READABLE)
    indices = array_data(word(indices_), ndarray_type, load_word(state, OPERANDS + 2), indices_count, READABLE)
    out = array_data(word(out_), ndarray_type, load_word(state, OPERANDS + 4), out_count, WRITABLE)
    if params == 0 or indices == 0 or out == 0:
        return 1
    # the counts are below the sizes of arrays, so that nothing overflows from here on
    out_end = out + out_count * data_size
    if out < params + params_count * data_size and params < out_end:
        return 1
    if out < indices + indices_count * index_size and indices < out_end:
        return 1
    if not -MAX_OFFSET <= offset <= MAX_OFFSET:
        return 1
    mover = load_word(state, MOVERS + _row_class(row_bytes))
    if mover == 0:
        return 1
    low = 0 if offset < 0 and load_word(state, TASK_ARGUMENT) != 0 else offset
    first_row = low - offset
    num_valid = gather - first_row if gather > first_row else 0
    # rows that are worth a second thread; a row that alone is worth several is cut into pieces
    row_cost, pieces, grain = 2 * row_bytes + _INDEX_COST, 1, 1
    if row_cost < GRAIN_BYTES:
        grain = GRAIN_BYTES // row_cost
    else:
        pieces = row_cost // GRAIN_BYTES
    context, params_bytes = stack_words(NUM_WORDS), params_count * data_size
    out_bytes = out_end - out
    streamed = np.int64(out_bytes + min(params_bytes, out_bytes) > load_word(load_word(state, SETTINGS), STREAMED_FROM))
    # in the order of the walk's words
    store_words(
        context, mover, params, indices, out, outer, gather, row_bytes, num_indices, index_size,
        low, num_valid, first_row, params_bytes, pieces, streamed,
    )  # fmt: skip
    run(state, load_word(state, TASK), context, rows * pieces, grain)
    return 0


@cache
def entry() -> Callable[..., int]:
    """The entry (state, batch, outer, gather, inner, params, num_indices, indices, out, offset).

    The task's argument is 1 where the type of the indices is unsigned. Where the state has no mover for rows of the
    size, that is not as expected.
    """
    size, buffer = index_integer, object_address
    arguments: tuple[Any, ...] = (words, size, size, size, size, buffer, size, buffer, buffer, size)
    return compile_entry("gather", _entry, arguments)
