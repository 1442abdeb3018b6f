"""The engine of reductions: each row of a matrix becomes one value.

A row is read by `row_threads` neighbouring threads, each of which adds every `row_threads`-th pack of it to a state of
its own. The states of a warp are merged by shuffles, those of the warps of a row through shared memory. So the order
of all additions follows from the shape of the data alone.

A row is the work of one block at most: where rows are few and very long, most of a GPU stands idle.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Final, NamedTuple

import numpy as np

from ep.common.functor.reduction import Reduction, states
from ep.cuda.arithmetic import storage_arithmetic
from ep.cuda.kernels.compiler import Kernel
from ep.cuda.kernels.math_library import cuda_math_library
from ep.cuda.kernels.memory import loader, storer
from ep.cuda.kernels.numba_cuda import (
    WARP_THREADS,
    barrier,
    block_of_grid,
    blocks_of_grid,
    device_function,
    next_index,
    shared_array,
    shuffle_down,
    thread_of_block,
)
from ep.cuda.launch_config import BLOCK_THREADS, MAX_BLOCKS, Grid, pack_elements
from ep.include.data_type import DataType

_PACKS_PER_THREAD: Final = 4  # of a row, before a second thread is worth its part of the merging


class Variant(NamedTuple):
    """What a kernel is compiled for: whether packs lie at multiples of their bytes, and the threads of a row."""

    aligned: bool
    row_threads: int

    @property
    def rows_per_block(self) -> int:
        """How many rows a block takes at once."""
        return BLOCK_THREADS // self.row_threads


def variant(src_type: DataType, src: int, cols: int) -> Variant:
    """The variant for rows of `cols` elements at address `src`.

    The threads of a row follow from `cols` alone: what the address allows must not change the bits of a result.
    """
    elements = pack_elements(src_type)
    aligned = not (cols % elements or src % (elements * src_type.itemsize))
    wanted = max(-(-cols // (elements * _PACKS_PER_THREAD)), 1)
    return Variant(aligned, min(1 << (wanted - 1).bit_length(), BLOCK_THREADS))


def grid(variant: Variant, rows: int, resident_blocks: int) -> Grid:
    """The blocks of a launch over `rows` > 0 rows, of which the device holds `resident_blocks` at a time."""
    return Grid((min(-(-rows // variant.rows_per_block), resident_blocks, MAX_BLOCKS), 1, 1))


@cache
def row_kernel(reduction: Reduction, src_type: DataType, dst_type: DataType, variant: Variant) -> Kernel:
    """The kernel (src, dst, rows, cols): dst[r] is the reduction of src[r, 0 .. cols - 1]."""
    aligned, row_threads = variant
    elements, size, rows_per_block = pack_elements(src_type), src_type.itemsize, variant.rows_per_block
    scalar_type = _state_type(src_type)
    num_parts, empty, add_one, merge, value = states(reduction, cuda_math_library(scalar_type))
    load, load_one, store = loader(src_type, elements, aligned), loader(src_type, 1, aligned=False), storer(dst_type, 1)
    add = _add_pack(add_one, elements)
    merge_threads = _merger(merge, num_parts, row_threads, scalar_type)

    def reduce_rows(src, dst, rows, cols):
        thread, packs = thread_of_block(), cols // elements
        lane = thread % row_threads
        first = block_of_grid()[0] * rows_per_block
        while first < rows:  # all threads of the block together: they meet at barriers
            row = first + thread // row_threads
            state = empty()
            if row < rows:
                begin, i = src + row * cols * size, lane
                while i < packs:
                    state = add(state, load(begin, i))
                    i = next_index(i, row_threads)
                if lane == packs % row_threads:
                    for last in range(packs * elements, cols):
                        state = add_one(state, load_one(begin, last)[0])
            state = merge_threads(state, thread)
            if lane == 0 and row < rows:
                store(dst, row, (value(state, cols),))
            first += blocks_of_grid()[0] * rows_per_block

    name = f"reduce_rows.{reduction.name}.{src_type.name}.{dst_type.name}.{aligned:d}.{row_threads}"
    return Kernel(name, reduce_rows, 4)


def _state_type(data_type: DataType) -> type[np.generic]:
    """The type that rows are reduced in. Integers have 64 bits, of which storing keeps the lower ones."""
    if data_type.dtype.kind in "iu":
        return np.int64 if data_type.dtype.kind == "i" else np.uint64
    return storage_arithmetic(data_type)


def _add_pack(add: Any, count: int) -> Any:
    """(state, pack) -> the state with the pack's elements, one after the other."""
    if count == 1:
        return device_function(lambda state, pack: add(state, pack[0]))
    half, rest = count // 2, _add_pack(add, count // 2)
    return device_function(lambda state, pack: rest(rest(state, pack[:half]), pack[half:]))


def _merger(merge: Any, num_parts: int, row_threads: int, scalar_type: type[np.generic]) -> Any:
    """(state, thread) -> in the first thread of each row the state of the whole row, in others anything."""
    row_warps = row_threads // WARP_THREADS
    num_warps = BLOCK_THREADS // WARP_THREADS
    shuffled, first_distance = _shuffled(num_parts), min(row_threads, WARP_THREADS) // 2

    def merge_warp(state, thread):
        distance = first_distance
        while distance > 0:
            state = merge(state, shuffled(state, distance))
            distance //= 2
        return state

    of_warp = device_function(merge_warp)
    if row_warps <= 1:
        return of_warp

    kept = shared_array(num_parts * num_warps, scalar_type)
    put, get = _parts(num_parts, num_warps)

    def merge_row(state, thread):
        state, states, warp = of_warp(state, thread), kept(), thread // WARP_THREADS
        if thread % WARP_THREADS == 0:
            put(states, warp, state)
        barrier()
        if thread % row_threads == 0:
            for other in range(warp + 1, warp + row_warps):
                state = merge(state, get(states, other))
        barrier()  # before the next rows' states take their place
        return state

    return device_function(merge_row)


@cache
def _shuffled(num_parts: int) -> Any:
    """(state, distance) -> the state of the thread that is `distance` further on in the warp."""
    if num_parts == 1:
        return device_function(lambda state, distance: (shuffle_down(state[0], distance),))
    first, rest = _shuffled(1), _shuffled(num_parts - 1)
    return device_function(lambda state, distance: first(state[:1], distance) + rest(state[1:], distance))


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
