"""The engine that computes a row from each row, its maximum and its sum.

A short row is kept in the registers of a part of a warp, a longer one in the shared memory of a block, as it was loaded
or in the type of arithmetic; a row that does not fit there is read again. If there are few long rows, several blocks
share each: see `row_parts`. The order of all additions depends only on the shape.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, Final

import numpy as np

from ep.cuda.compile.arithmetic import storage_arithmetic
from ep.cuda.compile.compiler import KernelSource
from ep.cuda.compile.kernel_words import Words
from ep.cuda.compile.launch_config import BLOCK_THREADS
from ep.cuda.compile.numba_cuda import (
    block_of_grid,
    blocks_of_grid,
    device_function,
    next_index,
    thread_of_block,
)
from ep.cuda.engine.reduce.row_parts import stage
from ep.cuda.engine.reduce.row_passes import RowFunction, functions_of, maximum_and_sum, thread_tile
from ep.cuda.engine.reduce.row_plan import PartVariant, RowStorage, RowWords, SoftmaxVariant
from ep.cuda.engine.reduce.row_slots import Functions, ThreadTile, row_begins, shared_tiles
from ep.include.data_type import DataType, as_data_type


@cache
def kernel(
    make: Callable[[DataType], RowFunction], data_type: DataType, variant: SoftmaxVariant | PartVariant
) -> KernelSource:
    """Return the kernel of a variant."""
    function, how = make(data_type), (variant.elements, variant.aligned, variant.row_threads)
    slots = variant.packs if isinstance(variant, SoftmaxVariant) else 0
    tile = thread_tile(function, data_type, *how, slots)
    functions = functions_of(function, tile)
    if isinstance(variant, PartVariant):
        return stage(function, data_type, variant, functions)
    make_run = _MAKERS[variant.storage]
    run = make_run(function, tile, functions)
    storage, elements, aligned, row_threads, packs = variant
    name = f"rows.{function.name}.{data_type.name}.{storage.name}.{elements}.{aligned:d}.{row_threads}.{packs}"
    return KernelSource(name, run, (function.num_operands,), is_contracted=True)


def _in_registers(function: RowFunction, tile: ThreadTile, functions: Functions) -> Callable[..., None]:
    num_operands, data_type, elements, _, row_threads, _ = tile
    rows_per_block, size, from_maximum = BLOCK_THREADS // row_threads, data_type.itemsize, function.from_maximum
    _, read, _, highest, keep, add, write, scale, sums, highest_of_row, sum_of_row, lowest = functions
    empty, begins_of = sums.empty, row_begins(num_operands)

    def rows_in_registers(words: RowWords) -> None:
        dst, rows, cols = words.dst, words.rows, words.cols
        thread, packs = thread_of_block(), cols // elements
        i, first = thread % row_threads, block_of_grid()[0] * rows_per_block
        while first < rows:  # for all threads of a warp, because of the shuffles
            row = first + thread // row_threads
            begin, end = row * cols * size, packs if row < rows else 0
            slots = read(begins_of(words.operands, begin), i, end)
            top = highest_of_row((highest(lowest, slots),), thread)[0] if from_maximum else lowest
            slots = keep(slots, i, end, top)
            number = scale(sum_of_row(add(empty(), slots, i, end, top), thread))
            write(dst + begin, i, end, slots, top, number)
            first += blocks_of_grid()[0] * rows_per_block

    return rows_in_registers


def _in_shared_memory(function: RowFunction, tile: ThreadTile, functions: Functions) -> Callable[..., None]:
    num_operands, data_type, elements, *_ = tile
    size, from_maximum, changes = data_type.itemsize, function.from_maximum, function.keep is not None
    step, read, fill, highest, keep, add, write, scale, sums, highest_of_row, sum_of_row, lowest = functions
    empty, begins_of = sums.empty, row_begins(num_operands)
    put, get = shared_tiles(tile, as_data_type(np.dtype(storage_arithmetic(data_type))), fill)

    def rows_in_shared_memory(words: RowWords) -> None:
        dst, rows, cols = words.dst, words.rows, words.cols
        thread, row, packs = thread_of_block(), block_of_grid()[0], cols // elements
        while row < rows:
            begin, top, i = row * cols * size, lowest, thread
            begins = begins_of(words.operands, begin)
            while i < packs:  # each thread always has the same slots, so it need not wait
                slots = read(begins, i, packs)
                put(i, packs, slots)
                if from_maximum:
                    top = highest(top, slots)
                i = next_index(i, step)
            if from_maximum:
                top = highest_of_row((top,), thread)[0]
            state, i = empty(), thread
            while i < packs:
                slots = keep(get(i, packs), i, packs, top)
                if changes:
                    put(i, packs, slots)
                state = add(state, slots, i, packs, top)
                i = next_index(i, step)
            number, i = scale(sum_of_row(state, thread)), thread
            while i < packs:
                write(dst + begin, i, packs, get(i, packs), top, number)
                i = next_index(i, step)
            row += blocks_of_grid()[0]

    return rows_in_shared_memory


def _as_loaded(function: RowFunction, tile: ThreadTile, functions: Functions) -> Callable[..., None]:
    """Return the kernel that keeps rows in shared memory as they were loaded.

    So those of 16-bit types take half of it, and more blocks have room; exponentials are computed while others load,
    and again while others store.
    """
    read, (put, get) = functions.read, shared_tiles(tile, tile.data_type, functions.fill)

    @device_function
    def read_and_keep(begins: Words, i: int, end: int) -> Any:
        packs = read(begins, i, end)
        put(i, end, packs)
        return packs

    get_again = device_function(lambda begins, i, end: get(i, end))
    return _in_two_passes(function, tile, functions._replace(read=read_and_keep), get_again)


def _read_again(function: RowFunction, tile: ThreadTile, functions: Functions) -> Callable[..., None]:
    return _in_two_passes(function, tile, functions, functions.read)


def _in_two_passes(
    function: RowFunction, tile: ThreadTile, functions: Functions, read_again: Any
) -> Callable[..., None]:
    """Return the kernel that reads a row for its maximum and its sum, and again, by `read_again`, for the results."""
    num_operands, data_type, elements, *_ = tile
    size, step, keep, write = data_type.itemsize, functions.step, functions.keep, functions.write
    scale, sum_of_row, begins_of = functions.scale, functions.sum_of_row, row_begins(num_operands)
    of_row = maximum_and_sum(function, data_type, functions)

    def rows_in_two_passes(words: RowWords) -> None:
        dst, rows, cols = words.dst, words.rows, words.cols
        thread, row, packs = thread_of_block(), block_of_grid()[0], cols // elements
        while row < rows:
            begin, i = row * cols * size, thread
            begins = begins_of(words.operands, begin)
            top, state = of_row(begins, i, packs, thread)
            number = scale(sum_of_row(state, thread))
            while i < packs:
                write(dst + begin, i, packs, keep(read_again(begins, i, packs), i, packs, top), top, number)
                i = next_index(i, step)
            row += blocks_of_grid()[0]

    return rows_in_two_passes


_MAKERS: Final = {
    RowStorage.REGISTERS: _in_registers,
    RowStorage.SHARED: _in_shared_memory,
    RowStorage.LOADED: _as_loaded,
    RowStorage.NOWHERE: _read_again,
}
