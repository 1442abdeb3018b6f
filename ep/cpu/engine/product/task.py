"""The task of products: it multiplies blocks of c."""

from __future__ import annotations

from functools import cache
from typing import Any, Final

from ep.cpu.compile.compiler import compile_task
from ep.cpu.compile.conversion import HALVES
from ep.cpu.compile.jit import jit
from ep.cpu.compile.memory import allocate, load_word, loader, release, stack_words, storer
from ep.cpu.engine.context import CONTEXT, SOURCE_WORDS
from ep.cpu.engine.product.blas import CONJUGATE_TRANSPOSED, NOT_TRANSPOSED, TRANSPOSED, gemm_caller
from ep.cpu.engine.product.state import AXES, PRODUCT, PRODUCT_STATE
from ep.cpu.engine.product.vector import vector_multiplier
from ep.include.data_type import DataType
from ep.include.number_kind import COMPLEXES

_A, _B, _ALPHA, _BETA = (CONTEXT.sources + SOURCE_WORDS * number for number in range(4))
_NUMBER_WORDS: Final = 2  # of the largest type
_WIDENED: Final = 512  # of k that are widened at once


@jit
def _offsets(axes, index):
    """Where the operands of a matrix begin, in elements of a and of b; axes: the address of AXES."""
    a_offset, b_offset = 0, 0
    for axis in range(load_word(axes, AXES.num_axes) - 1, -1, -1):
        size = load_word(axes, AXES.dims + axis)
        place, index = index % size, index // size
        a_offset += place * load_word(axes, AXES.a_strides + axis)
        b_offset += place * load_word(axes, AXES.b_strides + axis)
    return a_offset, b_offset


@jit
def _block(product, piece):
    """The matrix of c that a block is part of, its first row, first column, rows and columns."""
    m, n = load_word(product, PRODUCT.m), load_word(product, PRODUCT.n)
    row_parts, column_parts = load_word(product, PRODUCT.row_parts), load_word(product, PRODUCT.column_parts)
    batch, part = piece // (row_parts * column_parts), piece % (row_parts * column_parts)
    row, column = part // column_parts, part % column_parts
    first_row, first_column = m * row // row_parts, n * column // column_parts
    rows, columns = m * (row + 1) // row_parts - first_row, n * (column + 1) // column_parts - first_column
    return batch, first_row, first_column, rows, columns


@cache
def product_task(data_type: DataType) -> int:
    """The address of the task (context, begin, end) that multiplies blocks of matrices of `data_type`."""
    multiply = (_widened if data_type in HALVES else _direct)(data_type)
    multiply_vector = multiply if data_type in COMPLEXES else vector_multiplier(data_type)
    scale, load = _scaler(data_type), loader(data_type)
    size = data_type.itemsize

    def product(context, begin, end):
        words = load_word(context, CONTEXT.plan)
        m, n, k = load_word(words, PRODUCT.m), load_word(words, PRODUCT.n), load_word(words, PRODUCT.k)
        alpha, beta = load_word(context, _ALPHA), load_word(context, _BETA)
        num_terms = load_word(words, PRODUCT.num_terms)
        nothing, has_vector = k == 0 or num_terms == 0 or load(alpha, 0) == 0, (m == 1 or n == 1) and num_terms == 1
        for piece in range(begin, end):
            batch, first_row, first_column, rows, columns = _block(words, piece)
            c = load_word(context, CONTEXT.dst) + ((batch * m + first_row) * n + first_column) * size
            if nothing:
                scale(c, rows, columns, n, beta)
            else:
                a_offset, b_offset = _offsets(words + 8 * PRODUCT.batches, batch)
                a = load_word(context, _A) + a_offset * size
                b = load_word(context, _B) + b_offset * size
                if has_vector:
                    multiply_vector(context, words, a, b, c, first_row, first_column, rows, columns)
                else:
                    multiply(context, words, a, b, c, first_row, first_column, rows, columns)

    return compile_task(f"product.{data_type.name}", product)


def _scaler(data_type: DataType) -> Any:
    """A function (c, rows, columns, ldc, beta): c becomes beta * c, and 0 where beta is, whatever c is."""
    load, store = loader(data_type), storer(data_type)

    @jit
    def scale(c, rows, columns, ldc, beta):
        factor = load(beta, 0)
        for row in range(rows):
            for place in range(row * ldc, row * ldc + columns):
                if factor == 0:
                    store(c, place, 0)
                else:
                    store(c, place, load(c, place) * factor)

    return scale


def _direct(data_type: DataType) -> Any:
    """A function that multiplies a block in place, as the BLAS takes it."""
    gemm, store, size = gemm_caller(data_type), storer(data_type), data_type.itemsize
    transposed = CONJUGATE_TRANSPOSED if data_type in COMPLEXES else TRANSPOSED

    @jit
    def multiply(context, words, a, b, c, first_row, first_column, rows, columns):
        state = load_word(context, CONTEXT.state)
        m, n, k = load_word(words, PRODUCT.m), load_word(words, PRODUCT.n), load_word(words, PRODUCT.k)
        transpose_a, transpose_b = (
            load_word(state, PRODUCT_STATE.transpose_a),
            load_word(state, PRODUCT_STATE.transpose_b),
        )
        a += first_row * size * (1 if transpose_a else k)
        b += first_column * size * (k if transpose_b else 1)
        one = stack_words(_NUMBER_WORDS)
        store(one, 0, 1)
        beta = load_word(context, _BETA)
        for term in range(load_word(words, PRODUCT.num_terms)):
            a_offset, b_offset = _offsets(words + 8 * PRODUCT.terms, term)
            gemm(
                load_word(state, PRODUCT_STATE.gemm),
                transposed if transpose_a else NOT_TRANSPOSED,
                transposed if transpose_b else NOT_TRANSPOSED,
                rows,
                columns,
                k,
                load_word(context, _ALPHA),
                a + a_offset * size,
                m if transpose_a else k,
                b + b_offset * size,
                k if transpose_b else n,
                beta,
                c,
                n,
            )
            beta = one

    return multiply


def _widened(data_type: DataType) -> Any:
    """A function that multiplies a block of a 16-bit type: float32 copies of what it takes, and of c."""
    gemm, size = gemm_caller(DataType.kFloat), data_type.itemsize
    load, store = loader(data_type), storer(data_type)
    load_float, store_float = loader(DataType.kFloat), storer(DataType.kFloat)

    @jit
    def widen(wide, src, rows, columns, ld):
        for row in range(rows):
            for column in range(columns):
                store_float(wide, row * columns + column, load(src, row * ld + column))

    @jit
    def multiply(context, words, a, b, c, first_row, first_column, rows, columns):
        state = load_word(context, CONTEXT.state)
        m, n, k = load_word(words, PRODUCT.m), load_word(words, PRODUCT.n), load_word(words, PRODUCT.k)
        transpose_a, transpose_b = (
            load_word(state, PRODUCT_STATE.transpose_a),
            load_word(state, PRODUCT_STATE.transpose_b),
        )
        numbers = stack_words(_NUMBER_WORDS)
        alpha, beta = numbers, numbers + 4
        store_float(alpha, 0, load(load_word(context, _ALPHA), 0))
        store_float(beta, 0, load(load_word(context, _BETA), 0))
        depth = min(k, _WIDENED)
        wide_c = allocate(4 * (rows * columns + depth * (rows + columns)))
        wide_a = wide_c + 4 * rows * columns
        wide_b = wide_a + 4 * rows * depth
        if load_float(beta, 0) != 0:
            widen(wide_c, c, rows, columns, n)
        for term in range(load_word(words, PRODUCT.num_terms)):
            a_offset, b_offset = _offsets(words + 8 * PRODUCT.terms, term)
            for first in range(0, k, depth):
                length = min(depth, k - first)
                if transpose_a:
                    widen(wide_a, a + (a_offset + first * m + first_row) * size, length, rows, m)
                else:
                    widen(wide_a, a + (a_offset + first_row * k + first) * size, rows, length, k)
                if transpose_b:
                    widen(wide_b, b + (b_offset + first_column * k + first) * size, columns, length, k)
                else:
                    widen(wide_b, b + (b_offset + first * n + first_column) * size, length, columns, n)
                gemm(
                    load_word(state, PRODUCT_STATE.gemm),
                    TRANSPOSED if transpose_a else NOT_TRANSPOSED,
                    TRANSPOSED if transpose_b else NOT_TRANSPOSED,
                    rows,
                    columns,
                    length,
                    alpha,
                    wide_a,
                    rows if transpose_a else length,
                    wide_b,
                    length if transpose_b else columns,
                    beta,
                    wide_c,
                    columns,
                )
                store_float(beta, 0, 1)
        for row in range(rows):
            for column in range(columns):
                store(c, row * n + column, load_float(wide_c, row * columns + column))
        release(wide_c)

    return multiply
