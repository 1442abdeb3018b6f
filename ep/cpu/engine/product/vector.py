"""Products of a matrix and a vector: each element of the matrix is used once, so reading it determines the speed.

If summed elements are contiguous, several rows are processed at once (`dots.py`). Otherwise several rows are added to
sums that stay in L1: the matrix is read in runs of this length, which processors prefetch, and not by columns, whose
elements are on different pages. Narrow numbers are widened when they are read.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Final

from ep.common.functor.math_library import Scalar
from ep.common.loops import unrolled
from ep.common.native.fields import AnyPointer
from ep.cpu.compile.jit import inlined, jit, separate
from ep.cpu.compile.memory import release, storer
from ep.cpu.compile.vector import Mask, all_lanes, convert, elements, fma, lanes_below, load, mask, store, vector
from ep.cpu.engine.product.cut import SHORT_ROW_BYTES
from ep.cpu.engine.product.dots import dots_of_rows
from ep.cpu.engine.product.memory import allocate_for
from ep.cpu.engine.product.packing import deinterleaver
from ep.cpu.engine.product.results import results_writer
from ep.cpu.engine.product.state import ProductBlock, ProductLaunch
from ep.cpu.engine.product.types import Types, arithmetic_of, is_narrow
from ep.cpu.engine.product.walk import offsets
from ep.include.data_type import DataType

_ADDED_ROWS: Final = 8  # rows that are added to the sums at once
_WIDTH_BYTES: Final = 64  # bytes of the numbers that are added up in parallel lanes
_SUMS_BYTES: Final = 16384  # the most bytes of the sums that rows are added to
_SUMS_AT_ONCE: Final = 8  # independent vectors of sums that stay in registers
_PIECE: Final = 4096  # the most of k that is added up at once, so that sums lose fewer digits


@cache
def vector_multiplier(types: Types) -> Any:
    """Return a function (launch, block, a, b, c) for one row or one column of c."""
    of_column = _multiplier(types.a, types.b, types.c)
    if types.a is types.b:
        return of_column
    return for_one_row(_multiplier(types.b, types.a, types.c), of_column)


def for_one_row(of_row: Any, of_others: Any) -> Any:
    """Return a function (launch, block, a, b, c) that calls `of_row` if c has one row, else `of_others`."""

    @jit
    def multiply(launch: ProductLaunch, block: int, a: int, b: int, c: int) -> None:
        if launch.product.m == 1:
            of_row(launch, block, a, b, c)
        else:
            of_others(launch, block, a, b, c)

    return multiply


def _multiplier(of_matrix: DataType, of_vector: DataType, of_c: DataType) -> Any:
    """Return the same function for a matrix and a vector of these types, whichever of them is a."""
    size, vector_size, widens, arithmetic = (
        of_matrix.itemsize,
        of_vector.itemsize,
        is_narrow(of_vector),
        arithmetic_of(of_c),
    )
    wide, store_wide, widen = arithmetic.itemsize, storer(arithmetic), deinterleaver(of_vector, 1)
    add_dots, add_columns, write = dots_of_rows(of_matrix), _column_adder(of_matrix), results_writer(of_c)

    @jit
    def multiply(launch: ProductLaunch, block: ProductBlock, a: int, b: int, c: int) -> None:
        state, words = launch.state, launch.product
        m, n, k = words.m, words.n, words.k
        is_row = m == 1
        first = block.first_column if is_row else block.first_row
        count = block.columns if is_row else block.rows
        begin, end = block.first, block.last
        transposed = (state.transpose_b if is_row else state.transpose_a) != 0
        side_by_side, ld = transposed == is_row or m == n, n if is_row else m
        results = allocate_for(launch, wide * (count + (_PIECE if widens else 0)))
        if results == 0:
            return
        for place in range(count):
            store_wide(results, place, 0)
        for term in range(block.first_term, block.last_term):
            a_offset, b_offset = offsets(words.terms, term)
            if is_row:
                vector, matrix = a + a_offset * vector_size, b + b_offset * size
            else:
                vector, matrix = b + b_offset * vector_size, a + a_offset * size
            for piece in range(begin, end, _PIECE):
                length, part = min(_PIECE, end - piece), vector + piece * vector_size
                if widens:
                    widen(part, length, results + count * wide, 0)
                    part = results + count * wide
                if side_by_side:
                    add_dots(matrix + (first * k + piece) * size, k, count, part, length, results)
                else:
                    add_columns(matrix + (piece * ld + first) * size, ld, count, part, length, results)
        write(launch, block, results, count if is_row else 1, c)
        release(results)

    return multiply


def _column_adder(data_type: DataType) -> Any:
    """Return a function (matrix, ld, count, vector, rows, sums) that adds rows, each times its number of the vector.

    matrix: rows of `count` elements, ld elements from row to row. vector, sums: in the arithmetic type.
    """
    arithmetic = arithmetic_of(data_type)
    size, wide, most_sums = data_type.itemsize, arithmetic.itemsize, _SUMS_BYTES // arithmetic.itemsize
    width, short = _WIDTH_BYTES // wide, SHORT_ROW_BYTES // wide
    add_many, add_one = (_row_adder(data_type, arithmetic, rows) for rows in (_ADDED_ROWS, 1))
    add_short, add_shorter = (
        _short_row_adder(data_type, arithmetic, vectors) for vectors in (SHORT_ROW_BYTES // _WIDTH_BYTES, 1)
    )

    @separate
    def add_rows(matrix: int, ld: int, count: int, vector: int, rows: int, sums: int) -> None:
        if count <= width:
            add_shorter(matrix, ld, count, vector, rows, sums)
            return
        if count <= short:
            add_short(matrix, ld, count, vector, rows, sums)
            return
        for place in range(0, count, most_sums):
            row, columns = 0, min(most_sums, count - place)
            while row < rows:
                source, target = matrix + (row * ld + place) * size, sums + place * wide
                if rows - row >= _ADDED_ROWS:
                    add_many(source, columns, ld, vector + row * wide, target)
                    row += _ADDED_ROWS
                else:
                    add_one(source, columns, ld, vector + row * wide, target)
                    row += 1

    return add_rows


def _short_row_adder(data_type: DataType, arithmetic: DataType, vectors: int) -> Any:
    """Return the same function for rows of at most `vectors` vectors: their sums stay in registers."""
    width, at_once = _WIDTH_BYTES // arithmetic.itemsize, _SUMS_AT_ONCE // vectors
    Stored, Row, Masks = vector(data_type, width), vector(arithmetic, width), mask(width)
    Elements, Numbers = elements(data_type), elements(arithmetic)

    @inlined
    def add_row(source: int, factor: Scalar, used: AnyPointer, totals: AnyPointer) -> None:
        number = Row.splat(factor)
        for place in unrolled(range(vectors)):
            x = load(Stored, source, place * width, used[place])
            totals[place] = fma(convert(Row, x), number, totals[place])

    @inlined
    def add_rows(matrix: int, ld: int, count: int, weights: int, rows: int, sums: int) -> None:
        from_rows, factors, row = Elements.at(matrix), Numbers.at(weights), 0
        used, totals = Masks.array_on_stack(vectors), Row.array_on_stack(vectors * at_once)
        for place in unrolled(range(vectors)):
            used[place] = lanes_below(count, width, place * width)
        for place in unrolled(range(vectors * at_once)):
            totals[place] = Row.zero()
        while row < rows - (at_once - 1):
            for number in unrolled(range(at_once)):
                add_row(from_rows[(row + number) * ld :], factors[row + number], used, totals[number * vectors :])
            row += at_once
        for place in unrolled(range(vectors, vectors * at_once)):
            totals[place % vectors] += totals[place]
        while row < rows:
            add_row(from_rows[row * ld :], factors[row], used, totals)
            row += 1
        for place in unrolled(range(vectors)):
            total = totals[place] + load(Row, sums, place * width, used[place])
            store(sums, place * width, total, used[place])

    return add_rows


def _row_adder(data_type: DataType, arithmetic: DataType, rows: int) -> Any:
    """Return a function (matrix, columns, ld, weights, sums) that adds `rows` rows, each times its own number."""
    width = _WIDTH_BYTES // arithmetic.itemsize
    Stored, Row = vector(data_type, width), vector(arithmetic, width)
    Elements, Numbers = elements(data_type), elements(arithmetic)

    @inlined
    def add_vector(matrix: int, ld: int, factors: AnyPointer, sums: int, index: int, used: Mask) -> None:
        total = load(Row, sums, index, used)
        for row in unrolled(range(rows)):
            x = load(Stored, Elements.at(matrix)[row * ld :], index, used)
            total = fma(convert(Row, x), factors[row], total)
        store(sums, index, total, used)

    @inlined
    def add_rows(matrix: int, columns: int, ld: int, weights: int, sums: int) -> None:
        factors, index = Row.array_on_stack(rows), 0
        for row in unrolled(range(rows)):
            factors[row] = Row.splat(Numbers.at(weights)[row])
        while index < columns - (width - 1):
            add_vector(matrix, ld, factors, sums, index, all_lanes(width))
            index += width
        add_vector(matrix, ld, factors, sums, index, lanes_below(columns - index, width))

    return add_rows
