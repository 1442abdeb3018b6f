"""The task of products: it multiplies blocks of c."""

from __future__ import annotations

from functools import cache
from typing import Any, Final

from ep.cpu.compile.compiler import compile_task
from ep.cpu.compile.jit import jit
from ep.cpu.compile.memory import load_word, loader, stack_words, storer
from ep.cpu.engine.context import CONTEXT, SOURCE_WORDS
from ep.cpu.engine.product.blas import CONJUGATE_TRANSPOSED, NOT_TRANSPOSED, gemm
from ep.cpu.engine.product.state import PRODUCT, PRODUCT_STATE
from ep.cpu.engine.product.tiling import block_columns, block_multiplier
from ep.cpu.engine.product.vector import vector_multiplier
from ep.cpu.engine.product.walk import block, offsets
from ep.include.data_type import DataType
from ep.include.number_kind import COMPLEXES

_A, _B, _ALPHA, _BETA = (CONTEXT.sources + SOURCE_WORDS * number for number in range(4))
_NUMBER_WORDS: Final = 2  # of the largest type


@cache
def product_task(data_type: DataType) -> int:
    """The address of the task (context, begin, end) that multiplies blocks of matrices of `data_type`."""
    is_complex = data_type in COMPLEXES
    multiply = _by_blas(data_type) if is_complex else block_multiplier(data_type)
    multiply_vector = multiply if is_complex else vector_multiplier(data_type)
    full_unit = 1 if is_complex else block_columns(data_type)
    scale, load = _scaler(data_type), loader(data_type)
    size = data_type.itemsize

    def product(context, begin, end):
        words = load_word(context, CONTEXT.plan)
        m, n, k = load_word(words, PRODUCT.m), load_word(words, PRODUCT.n), load_word(words, PRODUCT.k)
        alpha, beta = load_word(context, _ALPHA), load_word(context, _BETA)
        num_terms = load_word(words, PRODUCT.num_terms)
        nothing, has_vector = k == 0 or num_terms == 0 or load(alpha, 0) == 0, (m == 1 or n == 1) and num_terms == 1
        unit = 1 if has_vector else full_unit
        for piece in range(begin, end):
            batch, first_row, first_column, rows, columns = block(words, piece, unit)
            c = load_word(context, CONTEXT.dst) + ((batch * m + first_row) * n + first_column) * size
            if nothing:
                scale(c, rows, columns, n, beta)
            else:
                a_offset, b_offset = offsets(words + 8 * PRODUCT.batches, batch)
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


def _by_blas(data_type: DataType) -> Any:
    """A function that multiplies a block of complex numbers in place, as the BLAS takes it."""
    store, size = storer(data_type), data_type.itemsize

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
            a_offset, b_offset = offsets(words + 8 * PRODUCT.terms, term)
            gemm(
                load_word(state, PRODUCT_STATE.gemm),
                CONJUGATE_TRANSPOSED if transpose_a else NOT_TRANSPOSED,
                CONJUGATE_TRANSPOSED if transpose_b else NOT_TRANSPOSED,
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
