"""Products of few rows, or of few columns and long rows of a: the larger operand is read once, in full vectors.

Both operands are multiplied with the summed elements contiguous (`dots.py`). If these are not contiguous in memory, or
numbers must be widened, a piece of the operand is first split into rows, which stay in a cache. A matrix times a vector
needs no rows: it is read once, in place (`columns.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, Final

from ep.cpu.compile.jit import jit, separate
from ep.cpu.compile.memory import release, storer
from ep.cpu.engine.product.columns import dots_of_columns
from ep.cpu.engine.product.cut import FEW_ROWS, NARROW
from ep.cpu.engine.product.dots import dots_of_matrices
from ep.cpu.engine.product.memory import allocate_for
from ep.cpu.engine.product.packing import deinterleaver
from ep.cpu.engine.product.results import results_writer
from ep.cpu.engine.product.state import ProductBlock, ProductLaunch
from ep.cpu.engine.product.types import Types, arithmetic_of, is_narrow
from ep.cpu.engine.product.walk import offsets
from ep.include.data_type import DataType

_PIECE: Final = 1024  # the most of k that is processed at once
_ROW: Final = _PIECE + 16  # elements from row to row of a piece: without the 16, all rows would map to one set of L1


@cache
def narrow_multiplier(types: Types) -> Any:
    """Return a function (launch, block, a, b, c) for products that `way_of` computes in this way."""
    widens_a, widens_b, _ = map(is_narrow, types)
    size_a, size_b, arithmetic = types.a.itemsize, types.b.itemsize, types.arithmetic
    add, write, wide, store_wide = (
        dots_of_matrices(arithmetic),
        results_writer(types.c),
        arithmetic.itemsize,
        storer(arithmetic),
    )
    pack_a, multiply_column = _packer(types.a), _vector_multiplier(types.a, types.b)
    pack_b, multiply_row = pack_a, multiply_column
    if types.a is not types.b:
        pack_b, multiply_row = _packer(types.b), _vector_multiplier(types.b, types.a)

    @jit
    def multiply(launch: ProductLaunch, block: ProductBlock, a: int, b: int, c: int) -> None:
        state, words = launch.state, launch.product
        m, n, k = words.m, words.n, words.k
        a_below = state.transpose_a != 0 and m > 1
        b_below = state.transpose_b == 0 and n > 1
        first_row, rows = block.first_row, block.rows
        first_column, columns = block.first_column, block.columns
        begin, end = block.first, block.last
        memory = allocate_for(launch, ((FEW_ROWS + NARROW) * _ROW + rows * columns) * wide)
        if memory == 0:
            return
        packs_a, packs_b = a_below or widens_a, b_below or widens_b
        group = NARROW if a_below else FEW_ROWS if packs_a else rows
        across = NARROW if packs_b else columns
        packed_b = memory + FEW_ROWS * _ROW * wide
        sums = packed_b + NARROW * _ROW * wide
        for place in range(rows * columns):
            store_wide(sums, place, 0)
        for term in range(block.first_term, block.last_term):
            a_offset, b_offset = offsets(words.terms, term)
            for first in range(begin, end, _PIECE):
                length = min(_PIECE, end - first)
                from_a = a + (a_offset + (first * m + first_row if a_below else first_row * k + first)) * size_a
                from_b = b + (b_offset + (first * n + first_column if b_below else first_column * k + first)) * size_b
                if m == 1:
                    multiply_row(columns, from_b, from_a, length, sums, memory)
                    continue
                if n == 1:
                    multiply_column(rows, from_a, from_b, length, sums, memory)
                    continue
                for row in range(0, rows, group):
                    count, part, a_step = min(group, rows - row), from_a + row * k * size_a, k
                    if packs_a:
                        pack_a(a_below, part, m if a_below else k, count, length, memory)
                        part, a_step = memory, _ROW
                    for column in range(0, columns, across):
                        others, other, b_step = min(across, columns - column), from_b + column * k * size_b, k
                        to = sums + (row * columns + column) * wide
                        if packs_b:
                            if row == 0 or across < columns:
                                pack_b(b_below, other, n if b_below else k, others, length, packed_b)
                            other, b_step = packed_b, _ROW
                        if rows < columns:
                            add(other, b_step, others, part, a_step, count, length, to, 1, columns)
                        else:
                            add(part, a_step, count, other, b_step, others, length, to, columns, 1)
        write(launch, block, sums, columns, c)
        release(memory)

    return multiply


def _vector_multiplier(of_matrix: DataType, of_vector: DataType) -> Any:
    """Return a function (count, matrix, vector, k, sums, memory) that adds to each sum its column times the vector.

    memory: for the vector, if it is widened.
    """
    add_columns = _by_count(lambda columns: dots_of_columns(of_matrix, columns), NARROW)
    widen, widens = deinterleaver(of_vector, 1), is_narrow(of_vector)

    @jit
    def multiply(count: int, matrix: int, vector: int, k: int, sums: int, memory: int) -> None:
        if widens:
            widen(vector, k, memory, 0)
            vector = memory
        add_columns(count, matrix, vector, k, sums)

    return multiply


def _packer(data_type: DataType) -> Any:
    """Return a function (below, src, step, count, k, dst) that writes `count` rows of k numbers, `_ROW` apart.

    below: whether src has k rows of `step` elements, whose first `count` columns are split into rows; otherwise src has
        the rows themselves.
    """
    size, wide = data_type.itemsize, arithmetic_of(data_type).itemsize
    copy = deinterleaver(data_type, 1)
    take_apart = _by_count(lambda planes: deinterleaver(data_type, planes), NARROW)

    @separate
    def pack(below: int, src: int, step: int, count: int, k: int, dst: int) -> None:
        if below:
            take_apart(count, src, k, dst, _ROW)
        else:
            for row in range(count):
                copy(src + row * step * size, k, dst + row * _ROW * wide, _ROW)

    return pack


def _by_count(make: Callable[[int], Any], most: int) -> Any:
    """Return a function (count, ...) of four more words that calls `make(count)`'s function; count: 2 to `most`."""
    own = make(most)
    if most == 2:

        @jit
        def choose_own(count: int, first: int, second: int, third: int, fourth: int) -> None:
            own(first, second, third, fourth)

        return choose_own
    others = _by_count(make, most - 1)

    @jit
    def choose(count: int, first: int, second: int, third: int, fourth: int) -> None:
        if count == most:
            own(first, second, third, fourth)
        else:
            others(count, first, second, third, fourth)

    return choose
