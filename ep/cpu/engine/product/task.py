"""The task of products: it multiplies blocks of c, and adds up sums that were cut."""

from __future__ import annotations

from functools import cache
from typing import Any, Final

from ep.common.native.words import load_word, stack_words, store_word
from ep.cpu.compile.compiler import compile_task
from ep.cpu.compile.conversion import HALVES
from ep.cpu.compile.jit import jit, separate
from ep.cpu.compile.memory import allocate, loader, release, storer
from ep.cpu.engine.product.blas import CONJUGATE_TRANSPOSED, NOT_TRANSPOSED, gemm
from ep.cpu.engine.product.mapped import map_block
from ep.cpu.engine.product.narrow import is_narrow, narrow_multiplier
from ep.cpu.engine.product.pairs import pair_multiplier
from ep.cpu.engine.product.results import results_merger
from ep.cpu.engine.product.shape import block_columns, tile_shape
from ep.cpu.engine.product.state import BLOCK, BLOCK_WORDS, PRODUCT, PRODUCT_LAUNCH, PRODUCT_STATE
from ep.cpu.engine.product.types import Types, arithmetic_of
from ep.cpu.engine.product.vector import for_one_row, vector_multiplier
from ep.cpu.engine.product.walk import offsets, set_block
from ep.cpu.engine.product.window_blocks import windows_multiplier
from ep.cpu.engine.product.window_row import window_row_multiplier
from ep.include.data_type import DataType
from ep.include.number_kind import COMPLEXES

_NUMBER_WORDS: Final = 2  # words of the largest type


@cache
def product_task(types: Types) -> int:
    """Return the address of the task (launch, begin, end) that multiplies blocks of matrices of these types.

    In a launch that merges, it adds up the parts of the sums of elements [begin, end) of c.
    """
    multiply = _by_blas(types.c) if types.c in COMPLEXES else _multiplier(types)
    return _task(f"product.{types.name}", types, multiply)


@cache
def windows_task(types: Types, step: int) -> int:
    """Return the address of the same task for products whose b is windows, most of them `step` elements apart."""
    multiply = for_one_row(window_row_multiplier(types, step), windows_multiplier(types, step))
    return _task(f"product.windows.{types.name}.{step}", types, multiply)


def _task(name: str, types: Types, multiply: Any) -> int:
    data_type = types.c
    full_unit = 1 if data_type in COMPLEXES else block_columns(data_type)
    scale, load, merge = _scaler(data_type), loader(data_type), results_merger(data_type)
    size_a, size_b, size = (one.itemsize for one in types)
    wide, map_zeros = types.arithmetic.itemsize, _zeros_mapper(data_type)

    def product(launch, begin, end):
        words, c = load_word(launch, PRODUCT_LAUNCH.product), load_word(launch, PRODUCT_LAUNCH.c)
        m, n, k = load_word(words, PRODUCT.m), load_word(words, PRODUCT.n), load_word(words, PRODUCT.k)
        alpha, beta = load_word(launch, PRODUCT_LAUNCH.alpha), load_word(launch, PRODUCT_LAUNCH.beta)
        partials, num_batches = load_word(launch, PRODUCT_LAUNCH.partials), load_word(words, PRODUCT.num_batches)
        nothing = k == 0 or load_word(words, PRODUCT.num_terms) == 0 or load(alpha, 0) == 0
        if load_word(launch, PRODUCT_LAUNCH.merges) != 0:
            if not nothing:  # otherwise c is complete
                merge(launch, begin, end)
            return
        block, unit = stack_words(BLOCK_WORDS), 1 if m == 1 or n == 1 else full_unit
        for piece in range(begin, end):
            set_block(block, words, piece, unit)
            batch, part = load_word(block, BLOCK.batch), load_word(block, BLOCK.part)
            rows, columns = load_word(block, BLOCK.rows), load_word(block, BLOCK.columns)
            place = (batch * m + load_word(block, BLOCK.first_row)) * n + load_word(block, BLOCK.first_column)
            if nothing:
                if part == 0 and load_word(launch, PRODUCT_LAUNCH.map) != 0:
                    map_zeros(launch, block, rows, columns)
                elif part == 0:
                    scale(c + place * size, rows, columns, n, beta)
                continue
            if load_word(words, PRODUCT.depth_parts) > 1:
                store_word(block, BLOCK.partial, partials + (part * num_batches * m * n + place) * wide)
            a_offset, b_offset = offsets(words + 8 * PRODUCT.batches, batch)
            a = load_word(launch, PRODUCT_LAUNCH.a) + a_offset * size_a
            b = load_word(launch, PRODUCT_LAUNCH.b) + b_offset * size_b
            multiply(launch, block, a, b, c + place * size)

    return compile_task(name, product)


def _multiplier(types: Types) -> Any:
    """Return a function (launch, block, a, b, c) for a block of real numbers; it chooses the kernel by the sizes."""
    multiply_block, multiply_vector = pair_multiplier(types), vector_multiplier(types)
    multiply_narrow, lanes = narrow_multiplier(types), tile_shape().vector_bytes // types.arithmetic.itemsize
    is_half = types.c in HALVES

    @jit
    def multiply(launch, block, a, b, c):
        state, words = load_word(launch, PRODUCT_LAUNCH.state), load_word(launch, PRODUCT_LAUNCH.product)
        m, n, k = load_word(words, PRODUCT.m), load_word(words, PRODUCT.n), load_word(words, PRODUCT.k)
        transpose_a, transpose_b = (
            load_word(state, PRODUCT_STATE.transpose_a),
            load_word(state, PRODUCT_STATE.transpose_b),
        )
        if is_narrow(m, n, k, transpose_a, transpose_b, lanes, is_half):
            multiply_narrow(launch, block, a, b, c)
        elif m == 1 or n == 1:
            multiply_vector(launch, block, a, b, c)
        else:
            multiply_block(launch, block, a, b, c)

    return multiply


def _scaler(data_type: DataType) -> Any:
    """Return a function (c, rows, columns, ldc, beta) that scales c by beta; if beta is 0, c becomes 0 in any case."""
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


def _zeros_mapper(data_type: DataType) -> Any:
    """Return a function (launch, block, rows, columns) that maps a block of products without terms, which are 0."""
    arithmetic = arithmetic_of(data_type)
    store_wide, wide = storer(arithmetic), arithmetic.itemsize

    @separate
    def map_zeros(launch, block, rows, columns):
        zeros = allocate(rows * columns * wide)
        for place in range(rows * columns):
            store_wide(zeros, place, 0)
        map_block(launch, block, zeros, columns, 0, rows)
        release(zeros)

    return map_zeros


def _by_blas(data_type: DataType) -> Any:
    """Return a function (launch, block, a, b, c) that multiplies a block of complex numbers by calling the BLAS."""
    store, size = storer(data_type), data_type.itemsize

    @jit
    def multiply(launch, block, a, b, c):
        state, words = load_word(launch, PRODUCT_LAUNCH.state), load_word(launch, PRODUCT_LAUNCH.product)
        m, n, k = load_word(words, PRODUCT.m), load_word(words, PRODUCT.n), load_word(words, PRODUCT.k)
        transpose_a, transpose_b = (
            load_word(state, PRODUCT_STATE.transpose_a),
            load_word(state, PRODUCT_STATE.transpose_b),
        )
        first, partial = load_word(block, BLOCK.first), load_word(block, BLOCK.partial)
        first_row, first_column = load_word(block, BLOCK.first_row), load_word(block, BLOCK.first_column)
        a += (first_row + first * m if transpose_a else first_row * k + first) * size
        b += (first_column * k + first if transpose_b else first_column + first * n) * size
        one, zero = stack_words(_NUMBER_WORDS), stack_words(_NUMBER_WORDS)
        store(one, 0, 1)
        store(zero, 0, 0)
        alpha, beta = load_word(launch, PRODUCT_LAUNCH.alpha), load_word(launch, PRODUCT_LAUNCH.beta)
        c_step, rows, columns = n, load_word(block, BLOCK.rows), load_word(block, BLOCK.columns)
        maps, memory = partial == 0 and load_word(launch, PRODUCT_LAUNCH.map) != 0, 0
        if partial != 0:
            c, alpha, beta = partial, one, zero
        elif maps and load_word(launch, PRODUCT_LAUNCH.apart) != 0:
            c = memory = allocate(rows * columns * size)
            c_step = columns
        for term in range(load_word(block, BLOCK.first_term), load_word(block, BLOCK.last_term)):
            a_offset, b_offset = offsets(words + 8 * PRODUCT.terms, term)
            gemm(
                load_word(state, PRODUCT_STATE.gemm),
                CONJUGATE_TRANSPOSED if transpose_a else NOT_TRANSPOSED,
                CONJUGATE_TRANSPOSED if transpose_b else NOT_TRANSPOSED,
                rows,
                columns,
                load_word(block, BLOCK.last) - first,
                alpha,
                a + a_offset * size,
                m if transpose_a else k,
                b + b_offset * size,
                k if transpose_b else n,
                beta,
                c,
                c_step,
            )
            beta = one
        if maps:
            map_block(launch, block, c, c_step, 0, rows)
            if memory != 0:
                release(memory)

    return multiply
