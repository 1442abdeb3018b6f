"""The launch of Gather and BatchGather, which makes the walk from the sizes."""

from __future__ import annotations

from typing import Final

from ep.common.checks import MAX_OFFSET
from ep.common.native.fields import Int64
from ep.cpu.compile.jit import jit
from ep.cpu.engine.move.gather_state import GatherState
from ep.cpu.engine.move.gather_walk import GatherContext
from ep.cpu.engine.move.size_class import size_class
from ep.cpu.shared.context import Context
from ep.cpu.shared.state import GRAIN_BYTES
from ep.cpu.threads.parallel import run

_INDEX_COST: Final = 40  # the cost of an index, in bytes that could be moved in that time: 0.3 ns

_row_class = jit(size_class)


@jit
def launch(context: Context, num_bytes: int, in_place: bool, sizes: Int64) -> int:
    """Launch Gather, after the compiled check; the state's task is that of `gather_walk`.

    If the state has no mover for rows of this size, do nothing and return 1.
    """
    batch, outer, gather = sizes[0], sizes[1], sizes[2]
    inner, num_indices, offset = sizes[3], sizes[4], sizes[5]
    if not -MAX_OFFSET <= offset <= MAX_OFFSET:
        return 1
    state, size = GatherState.at(context.state), context.dst_size
    row_bytes = inner * size
    mover = state.movers[_row_class(row_bytes)]
    if mover == 0:
        return 1
    low = 0 if offset < 0 and state.unsigned != 0 else offset
    first_row = low - offset
    num_valid = gather - first_row if gather > first_row else 0
    # the number of rows that makes a second thread worthwhile; a row that is enough for several is cut into pieces
    row_cost, pieces, grain = 2 * row_bytes + _INDEX_COST, 1, 1
    if row_cost < GRAIN_BYTES:
        grain = GRAIN_BYTES // row_cost
    else:
        pieces = row_cost // GRAIN_BYTES
    params, indices, walk = context.sources[0], context.sources[1], GatherContext.on_stack()
    params_bytes, out_bytes = params.count * size, context.dst_count * size
    most = state.settings.lines_from[1]  # as for a copy
    walk.mover, walk.params, walk.indices, walk.out = mover, params.data, indices.data, context.dst
    walk.outer, walk.gather, walk.row_bytes = outer, gather, row_bytes
    walk.num_indices, walk.index_size = num_indices, indices.size
    walk.low, walk.num_valid, walk.first_row = low, num_valid, first_row
    walk.params_bytes, walk.pieces = params_bytes, pieces
    walk.streamed = 1 if out_bytes + min(params_bytes, out_bytes) > most else 0
    run(state, state.task, walk, batch * outer * num_indices * pieces, grain)
    return 0
