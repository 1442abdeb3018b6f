"""Products of integers, modulo the range of their type: a kernel whose blocks have tiles of c.

Tiles of both matrices go through shared memory, so that each element is read in a long row, whichever way it is stored.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Final

from ep.cuda.compile.compiler import KernelSource
from ep.cuda.compile.memory import loader, storer
from ep.cuda.compile.numba_cuda import (
    barrier,
    block_of_grid,
    blocks_of_grid,
    device_function,
    shared_array,
    thread_of_block,
)
from ep.cuda.engine.product.tiles import SIDE
from ep.include.data_type import DataType
from ep.include.number_kind import SUMS

_PITCH: Final = SIDE + 1
"""The numbers from row to row of a tile in shared memory: with SIDE, its columns would be in few banks."""


@cache
def kernel(data_type: DataType, transpose_a: bool, transpose_b: bool) -> KernelSource:
    """Return the kernel (a, b, c, m, n, k, matrices, a_step, b_step, c_step, alpha, beta) of an unsigned type.

    matrices: of c, with the steps in elements from one to the next. The axes of the grid are those of rows, columns and
    matrices. c is not read if beta is 0.
    """
    T = SUMS[data_type].dtype.type
    tile_of_a, tile_of_b = (shared_array(SIDE * _PITCH, T) for _ in range(2))
    read_a, read_b = _reader(data_type, T, transpose_a), _reader(data_type, T, transpose_b)
    load, store = loader(data_type, 1), storer(data_type, 1)

    def multiply(
        a: int,
        b: int,
        c: int,
        m: int,
        n: int,
        k: int,
        matrices: int,
        a_step: int,
        b_step: int,
        c_step: int,
        alpha: int,
        beta: int,
    ) -> None:
        left, right, thread = tile_of_a(), tile_of_b(), thread_of_block()
        row, column, first_row = thread // SIDE, thread % SIDE, block_of_grid()[0] * SIDE
        matrix = block_of_grid()[2]
        while matrix < matrices:
            first_column = block_of_grid()[1] * SIDE
            while first_column < n:
                total, first = T(0), 0
                while first < k:
                    read_a(left, a, matrix * a_step, first_row, first, m, k, row, column)
                    read_b(right, b, matrix * b_step, first, first_column, k, n, row, column)
                    barrier()
                    for place in range(SIDE):
                        total = T(total + T(left[row * _PITCH + place] * right[place * _PITCH + column]))
                    barrier()  # before the next tiles are written
                    first += SIDE
                if first_row + row < m and first_column + column < n:
                    place = matrix * c_step + (first_row + row) * n + first_column + column
                    result = T(T(alpha) * total)
                    if beta != 0:
                        result = T(result + T(beta) * T(load(c, place)[0]))
                    store(c, place, (result,))
                first_column += blocks_of_grid()[1] * SIDE
            matrix += blocks_of_grid()[2]

    ways = "".join("T" if transposed else "N" for transposed in (transpose_a, transpose_b))
    return KernelSource(f"integer_product.{data_type.name}.{ways}", multiply)


def _reader(data_type: DataType, T: Any, transposed: bool) -> Any:
    """Return a function (tile, src, start, first_row, first_column, rows, columns, row, column).

    It writes an element of the matrix [rows, columns], which begins at element `start` of src, to the tile in shared
    memory whose first element is (first_row, first_column); outside of the matrix, a 0. row, column: those of the
    thread, of which columns are adjacent.
    """
    load = loader(data_type, 1)

    @device_function
    def read(
        tile: Any,
        src: int,
        start: int,
        first_row: int,
        first_column: int,
        rows: int,
        columns: int,
        row: int,
        column: int,
    ) -> None:
        if transposed:
            row, column = column, row
        i, j, number = first_row + row, first_column + column, T(0)
        if i < rows and j < columns:
            number = T(load(src, start + (j * rows + i if transposed else i * columns + j))[0])
        tile[row * _PITCH + column] = number

    return read
