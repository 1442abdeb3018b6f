"""The launch of Gather and BatchGather, which makes the walk from the sizes."""

from __future__ import annotations

from typing import Final

import numpy as np

from ep.common.checks import MAX_OFFSET
from ep.common.native.words import load_word, stack_words, store_words
from ep.cpu.compile.jit import jit
from ep.cpu.engine.move.gather_state import GATHER_STATE
from ep.cpu.engine.move.gather_walk import GATHER_WORDS
from ep.cpu.engine.move.size_class import size_class
from ep.cpu.shared.context import CONTEXT, SOURCE_WORDS
from ep.cpu.shared.state import GRAIN_BYTES, SETTINGS, STATE
from ep.cpu.threads.parallel import run

_INDEX_COST: Final = 40  # the cost of an index, in bytes that could be moved in that time: 0.3 ns

# places in the context of the launch
_PARAMS: Final = CONTEXT.sources
_INDICES: Final = CONTEXT.sources + SOURCE_WORDS

_row_class = jit(size_class)


@jit
def launch(context, num_bytes, in_place, sizes):
    """Launch Gather, after the compiled check; the state's task is that of `gather_walk`.

    If the state has no mover for rows of this size, do nothing and return 1.
    """
    batch, outer, gather = load_word(sizes, 0), load_word(sizes, 1), load_word(sizes, 2)
    inner, num_indices, offset = load_word(sizes, 3), load_word(sizes, 4), load_word(sizes, 5)
    if not -MAX_OFFSET <= offset <= MAX_OFFSET:
        return 1
    state, size = load_word(context, CONTEXT.state), load_word(context, CONTEXT.dst_size)
    row_bytes = inner * size
    mover = load_word(state, GATHER_STATE.movers + _row_class(row_bytes))
    if mover == 0:
        return 1
    low = 0 if offset < 0 and load_word(state, GATHER_STATE.unsigned) != 0 else offset
    first_row = low - offset
    num_valid = gather - first_row if gather > first_row else 0
    # the number of rows that makes a second thread worthwhile; a row that is enough for several is cut into pieces
    row_cost, pieces, grain = 2 * row_bytes + _INDEX_COST, 1, 1
    if row_cost < GRAIN_BYTES:
        grain = GRAIN_BYTES // row_cost
    else:
        pieces = row_cost // GRAIN_BYTES
    params_bytes, out_bytes = load_word(context, _PARAMS + 1) * size, load_word(context, CONTEXT.dst_count) * size
    most = load_word(load_word(state, STATE.settings), SETTINGS.lines_from + 1)  # as for a copy
    walk, streamed = stack_words(GATHER_WORDS), np.int64(out_bytes + min(params_bytes, out_bytes) > most)
    # in the order of the walk's words
    store_words(
        walk, mover, load_word(context, _PARAMS), load_word(context, _INDICES), load_word(context, CONTEXT.dst),
        outer, gather, row_bytes, num_indices, load_word(context, _INDICES + 2),
        low, num_valid, first_row, params_bytes, pieces, streamed,
    )  # fmt: skip
    run(state, load_word(state, STATE.task), walk, batch * outer * num_indices * pieces, grain)
    return 0
