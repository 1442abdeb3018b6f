"""Transposing tiles through shared memory, in elements of 1 to 16 bytes, for all data types."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from ep.common.loops import unrolled, written_out
from ep.cuda.compile.byte_permute import square_transposer
from ep.cuda.compile.compiler import KernelSource
from ep.cuda.compile.kernel_words import Words, num_walk_words
from ep.cuda.compile.memory import loader, storer, unit_type
from ep.cuda.compile.numba_cuda import (
    barrier,
    block_of_grid,
    blocks_of_grid,
    device_function,
    shared_array,
    thread_of_block,
)
from ep.cuda.compile.walk import walk
from ep.cuda.engine.move.tile import Tile

_OPERANDS = 4  # of the walk over tiles: src, dst, and the row and column of cells that a tile begins at


@cache
def kernel(tile: Tile, num_axes: int, bits: int) -> KernelSource:
    """The kernel (src, dst, num_tiles, height, width, src_step, dst_step, words) that transposes tile after tile.

    height, width: the cells of the axes that are exchanged. src_step: words of src from one element of dst's contiguous
    axis to the next; dst_step: words of dst from one element of src's to the next.
    words: the walk over the tiles, which steps through src and dst in words, and through height and width.
    """
    threads, tiles_per_block, columns, rows = tile.threads, tile.tiles_per_block, tile.columns, tile.rows
    cells, side, plane = tile.cells_per_thread, tile.side, tiles_per_block * tile.plane
    data_type, _ = unit_type(tile.word)
    numbers = shared_array(plane * tile.planes, data_type.dtype.type)
    offsets = walk(num_axes, _OPERANDS, bits)
    # in src, neighbouring threads read neighbouring rows of one column, then of the column `columns_apart` away
    columns_apart, rows_apart = threads // rows, threads // columns
    row_place, column_place, tile_plane = tile.place(0, 1), tile.place(1, 0), tile.plane
    load, transposed = _loader(tile, cells, columns_apart), _transposed(tile, cells)
    put, get = _shared(tile.planes, plane, columns_apart * column_place, rows_apart * row_place, cells)
    store = _storer(tile, cells, rows_apart)
    tile_bits, row_bits, column_bits = ((size.bit_length() - 1) for size in (threads, rows, columns))

    def transpose(
        src: int, dst: int, num_tiles: int, height: int, width: int, src_step: int, dst_step: int, words: Words
    ) -> None:
        place = thread_of_block()
        thread, tile_of_block = place & (threads - 1), place >> tile_bits if tiles_per_block > 1 else 0
        src_row, src_column = thread & (rows - 1), thread >> row_bits
        dst_row, dst_column = thread >> column_bits, thread & (columns - 1)
        memory, begin = numbers(), tile_of_block * tile_plane
        first = block_of_grid()[0] * tiles_per_block
        while first < num_tiles:  # for all threads of the block, because of the barriers
            exists = first + tile_of_block < num_tiles
            src_place, dst_place, top, left = offsets(first + tile_of_block if exists else first, words)

            from_place = src_place + src_row + src_column * side * src_step
            columns_left = width - left - src_column if exists and top + src_row < height else 0
            loaded = load(src, from_place, src_step, columns_apart * side * src_step, columns_left)
            put(memory, begin + src_row * row_place + src_column * column_place, transposed(loaded))
            barrier()
            to_place = dst_place + dst_row * side * dst_step + dst_column
            rows_left = height - top - dst_row if exists and left + dst_column < width else 0
            taken = get(memory, begin + dst_row * row_place + dst_column * column_place)
            store(dst, to_place, dst_step, rows_apart * side * dst_step, rows_left, taken)
            barrier()  # before the next tiles replace them
            first += blocks_of_grid()[0] * tiles_per_block

    name = f"transpose.{tile.unit}.{side}.{columns}.{rows}.{num_axes}.{bits}"
    return KernelSource(name, transpose, (num_walk_words(num_axes, _OPERANDS),))


def _existing(count: int, apart: int) -> Any:
    """existing(left) -> how many of `count` cells, `apart` from each other, are among those that are left; 0 or less if
    none is. It has 32 bits, so one instruction compares a cell with it."""
    shift = apart.bit_length() - 1
    return device_function(lambda left: np.int32(min((left + (apart - 1)) >> shift, count)))


def _loader(tile: Tile, count: int, apart: int) -> Any:
    """load(src, place, step, cell_step, left): the words of `count` cells, `cell_step` words apart.

    step: words between the words of a cell; left: the cells from the first one on, of which every `apart`-th is loaded.
    """
    data_type, elements = unit_type(tile.word)
    load, side = loader(data_type, elements), tile.side
    nothing, existing = (data_type.dtype.type(0),) * (elements * side), _existing(count, apart)

    @written_out(device_function)
    def load_cell(src: int, place: int, step: int, exists: bool) -> Any:
        return sum((load(src, place + line * step) for line in unrolled(range(side))), ()) if exists else nothing

    @written_out(device_function)
    def load_cells(src: int, place: int, step: int, cell_step: int, left: int) -> Any:
        cells = existing(left)
        return sum(
            (load_cell(src, place + cell * cell_step, step, cell < cells) for cell in unrolled(range(count))),
            (),
        )

    return load_cells


def _transposed(tile: Tile, count: int) -> Any:
    """Transpose each of `count` cells, given one after another."""
    transpose, side = square_transposer(tile.unit, tile.side), tile.side
    if side == 1:
        return transpose

    @written_out(device_function)
    def transposed(words: Words) -> Any:
        return sum((transpose(words[cell * side : (cell + 1) * side]) for cell in unrolled(range(count))), ())

    return transposed


def _shared(planes: int, plane: int, put_step: int, get_step: int, count: int) -> tuple[Any, Any]:
    """put(memory, place, numbers) and get(memory, place) of `count` cells, each with a number in every plane.

    Positions are converted to unsigned numbers: for signed ones, Numba adds instructions that count from the end.
    """

    @written_out(device_function)
    def put(memory: Any, place: int, numbers: Any) -> None:
        for n in unrolled(range(count * planes)):
            memory[np.uint64(place + (n % planes * plane + n // planes * put_step))] = numbers[n]

    @written_out(device_function)
    def get(memory: Any, place: int) -> Any:
        return tuple(
            memory[np.uint64(place + (n % planes * plane + n // planes * get_step))]
            for n in unrolled(range(count * planes))
        )

    return put, get


def _storer(tile: Tile, count: int, apart: int) -> Any:
    """store(dst, place, step, cell_step, left, numbers): like `_loader`, for the cells of dst."""
    data_type, elements = unit_type(tile.word)
    store, side, planes, existing = storer(data_type, elements), tile.side, tile.planes, _existing(count, apart)

    @written_out(device_function)
    def store_cell(dst: int, place: int, step: int, numbers: Any) -> None:
        for line in unrolled(range(side)):
            store(dst, place + line * step, numbers[line * elements : (line + 1) * elements])

    @written_out(device_function)
    def store_cells(dst: int, place: int, step: int, cell_step: int, left: int, numbers: Any) -> None:
        cells = existing(left)
        for cell in unrolled(range(count)):
            if cell < cells:
                store_cell(dst, place + cell * cell_step, step, numbers[cell * planes : (cell + 1) * planes])

    return store_cells
