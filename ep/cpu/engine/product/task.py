"""The task of products: it has blocks of c multiplied, and adds up sums that were cut."""

from __future__ import annotations

from functools import cache
from typing import Any

from ep.cpu.compile.compiler import compile_task
from ep.cpu.compile.jit import jit, separate
from ep.cpu.compile.memory import loader, release, storer
from ep.cpu.engine.product.byte_tiles import group
from ep.cpu.engine.product.mapped import map_block
from ep.cpu.engine.product.memory import allocate_for
from ep.cpu.engine.product.results import results_merger
from ep.cpu.engine.product.shape import block_columns
from ep.cpu.engine.product.state import ProductBlock, ProductLaunch
from ep.cpu.engine.product.types import Types, arithmetic_of, multiplies_bytes
from ep.cpu.engine.product.walk import offsets, set_block
from ep.cpu.threads.parallel import call_task
from ep.include.data_type import DataType
from ep.include.number_kind import COMPLEXES


@cache
def product_task(types: Types) -> int:
    """Return the address of the task (launch, begin, end) that computes blocks of c, of matrices of these types.

    What multiplies a block is called by its address, which the launch has. In a launch that merges, the task adds up
    the parts of the sums of elements [begin, end) of c.
    """
    data_type = types.c
    full_unit = 1 if data_type in COMPLEXES else block_columns(data_type)
    if multiplies_bytes(types):
        full_unit = group().columns
    scale, load, merge = _scaler(data_type), loader(data_type), results_merger(data_type)
    size_a, size_b, size = (one.itemsize for one in types)
    wide, map_zeros = types.arithmetic.itemsize, _zeros_mapper(data_type)

    def product(launch: ProductLaunch, begin: int, end: int) -> None:
        words, c = launch.product, launch.c
        m, n, k = words.m, words.n, words.k
        alpha, beta = launch.alpha, launch.beta
        partials, num_batches = launch.partials, words.num_batches
        nothing = k == 0 or words.num_terms == 0 or load(alpha, 0) == 0
        if launch.merges != 0:
            if not nothing:  # otherwise c is complete
                merge(launch, begin, end)
            return
        multiply = launch.multiply
        block, unit = ProductBlock.on_stack(), 1 if m == 1 or n == 1 else full_unit
        for piece in range(begin, end):
            set_block(block, words, piece, unit)
            batch, part = block.batch, block.part
            rows, columns = block.rows, block.columns
            place = (batch * m + block.first_row) * n + block.first_column
            if nothing:
                if part == 0 and launch.map != 0:
                    map_zeros(launch, block, rows, columns)
                elif part == 0:
                    scale(c + place * size, rows, columns, n, beta)
                continue
            if words.depth_parts > 1:
                block.partial = partials + (part * num_batches * m * n + place) * wide
            a_offset, b_offset = offsets(words.batches, batch)
            a = launch.a + a_offset * size_a
            b = launch.b + b_offset * size_b
            call_task(multiply, launch, block, a, b, c + place * size)

    return compile_task(f"product.{types.name}", product)


def _scaler(data_type: DataType) -> Any:
    """Return a function (c, rows, columns, ldc, beta) that scales c by beta; if beta is 0, c becomes 0 in any case."""
    load, store = loader(data_type), storer(data_type)

    @jit
    def scale(c: int, rows: int, columns: int, ldc: int, beta: int) -> None:
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
    def map_zeros(launch: ProductLaunch, block: int, rows: int, columns: int) -> None:
        zeros = allocate_for(launch, rows * columns * wide)
        if zeros == 0:
            return
        for place in range(rows * columns):
            store_wide(zeros, place, 0)
        map_block(launch, block, zeros, columns, 0, rows)
        release(zeros)

    return map_zeros
