"""The merge of the states of all threads of a row into one.

Threads of a warp exchange states by shuffles, warps through shared memory: always in the same order. All merges of a
kernel use the same static shared memory, one after the other.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from ep.common.functor.math_library import ScalarType
from ep.common.loops import unrolled, written_out
from ep.cuda.compile.launch_config import BLOCK_THREADS, WARP_THREADS
from ep.cuda.compile.memory import SHARED, loader, storer
from ep.cuda.compile.numba_cuda import barrier, device_function, shared_address, shuffle_xor
from ep.cuda.engine.reduce.row_plan import MERGE_BYTES
from ep.include.data_type import as_data_type

merge_memory = shared_address(MERGE_BYTES // 8)
"""() -> the address of the memory through which warps exchange states."""


def merger(
    merge: Any,
    num_parts: int,
    scalar_type: ScalarType,
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
    assert num_parts * num_warps * np.dtype(scalar_type).itemsize <= MERGE_BYTES
    put, get = _parts(num_parts, num_warps, scalar_type)

    def merge_row(state: Any, thread: int) -> Any:
        state, states = of_warp(state, thread), merge_memory()
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
    def merge_warp(state: Any, thread: int) -> Any:
        for mask in unrolled(shuffled):
            state = merge(state, tuple(shuffle_xor(state[k], mask) for k in unrolled(range(num_parts))))
        return state

    return merge_warp


@cache
def _parts(num_parts: int, num_warps: int, scalar_type: ScalarType) -> tuple[Any, Any]:
    """put(states, warp, state) and get(states, warp), at an address, with a row for each part of a state."""
    number = as_data_type(np.dtype(scalar_type))
    load, store = loader(number, 1, space=SHARED), storer(number, 1, space=SHARED)

    @written_out(device_function)
    def put(states: Any, warp: int, state: Any) -> None:
        for part in unrolled(range(num_parts)):
            store(states, part * num_warps + warp, (state[part],))

    @written_out(device_function)
    def get(states: Any, warp: int) -> Any:
        return tuple(load(states, part * num_warps + warp)[0] for part in unrolled(range(num_parts)))

    return put, get
