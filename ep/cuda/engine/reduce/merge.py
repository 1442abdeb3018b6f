"""How the threads of a row make one state of those that each of them has.

Threads of a warp exchange states by shuffles, warps through shared memory: always in the same order.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

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
    """(state, thread) -> the state of the row, in all of its threads or else in the first; in others anything.

    All threads of the block call it. merge: (state, state) -> the state of both; a state is a tuple of `num_parts`
    numbers. row_threads: a power of two, that of a part of a warp, or of whole warps.
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
        barrier()  # before the next rows' states take their place
        return state

    return device_function(merge_row)


def _warp_merger(merge: Any, num_parts: int, threads: int) -> Any:
    """Merge the states of neighbouring threads of a warp, in each of them."""
    if threads == 1:
        return device_function(lambda state, thread: state)
    half, rest, exchanged = threads // 2, _warp_merger(merge, num_parts, threads // 2), _exchanged(num_parts)
    return device_function(lambda state, thread: rest(merge(state, exchanged(state, half)), thread))


@cache
def _exchanged(num_parts: int) -> Any:
    """(state, mask) -> the state of the other thread, by `shuffle_xor`."""
    if num_parts == 1:
        return device_function(lambda state, mask: (shuffle_xor(state[0], mask),))
    first, rest = _exchanged(1), _exchanged(num_parts - 1)
    return device_function(lambda state, mask: first(state[:1], mask) + rest(state[1:], mask))


@cache
def _parts(num_parts: int, num_warps: int) -> tuple[Any, Any]:
    """put(states, warp, state) and get(states, warp), in an array with a row for each part of a state."""
    last = num_parts - 1
    if num_parts == 1:

        def put_one(states, warp, state):
            states[warp] = state[0]

        return device_function(put_one), device_function(lambda states, warp: (states[warp],))
    put_rest, get_rest = _parts(num_parts - 1, num_warps)

    def put(states, warp, state):
        put_rest(states, warp, state[:last])
        states[last * num_warps + warp] = state[last]

    return (
        device_function(put),
        device_function(lambda states, warp: (*get_rest(states, warp), states[last * num_warps + warp])),
    )
