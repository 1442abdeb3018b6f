"""The merge of the states of all threads of a row into one.

Threads of a warp exchange states by shuffles, warps through shared memory: always in the same order.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from ep.common.loops import unrolled, written_out
from ep.cuda.compile.launch_config import BLOCK_THREADS, WARP_THREADS
from ep.cuda.compile.numba_cuda import barrier, device_function, shared_array, shuffle_xor


def merger(
    merge: Any,
    num_parts: int,
    scalar_type: type[np.generic],
    row_threads: int,
    *,
    to_all: bool,
    block_threads: int = BLOCK_THREADS,
) -> Any:
    """(state, thread) -> the state of the row, in all of its threads, or in the first only (undefined in others).

    All threads of the block call it. merge: (state, state) -> the state of both; a state is a tuple of `num_parts`
    numbers. row_threads: a power of two: the threads of a part of a warp, or of whole warps.
    """
    of_warp = _warp_merger(merge, num_parts, min(row_threads, WARP_THREADS))
    row_warps = row_threads // WARP_THREADS
    if row_warps <= 1:
        return of_warp

    num_warps = block_threads // WARP_THREADS
    kept = shared_array(num_parts * num_warps, scalar_type)
    put, get = _parts(num_parts, num_warps)

    def merge_row(state, thread):
        state, states = of_warp(state, thread), kept()
        if thread % WARP_THREADS == 0:
            put(states, thread // WARP_THREADS, state)
        barrier()
        if to_all or thread % row_threads == 0:
            first = thread // row_threads * row_warps
            state = get(states, first)
            for other in range(first + 1, first + row_warps):
                state = merge(state, get(states, other))
        barrier()  # before the states of the next rows replace them
        return state

    return device_function(merge_row)


def _warp_merger(merge: Any, num_parts: int, threads: int) -> Any:
    """Merge the states of neighbouring threads of a warp, in each of them."""
    shuffled = tuple(threads >> k for k in range(1, threads.bit_length()))

    @written_out(device_function)
    def merge_warp(state, thread):
        for mask in unrolled(shuffled):
            state = merge(state, tuple(shuffle_xor(state[k], mask) for k in unrolled(range(num_parts))))
        return state

    return merge_warp


@cache
def _parts(num_parts: int, num_warps: int) -> tuple[Any, Any]:
    """put(states, warp, state) and get(states, warp), in an array with a row for each part of a state."""

    @written_out(device_function)
    def put(states, warp, state):
        for part in unrolled(range(num_parts)):
            states[part * num_warps + warp] = state[part]

    @written_out(device_function)
    def get(states, warp):
        return tuple(states[part * num_warps + warp] for part in unrolled(range(num_parts)))

    return put, get
