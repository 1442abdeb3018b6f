"""The conversion of sums to elements of c."""

from __future__ import annotations

from functools import cache
from typing import Any

from ep.common.functor.math_library import Scalar
from ep.common.native.emitted import emitted
from ep.cpu.compile import vectors
from ep.cpu.compile.jit import jit, separate
from ep.cpu.compile.memory import loaded_type, loader, storer
from ep.cpu.engine.product.mapped import map_block, map_elements
from ep.cpu.engine.product.state import ProductBlock, ProductLaunch
from ep.cpu.engine.product.types import arithmetic_of
from ep.include.data_type import DataType


@jit
def _rounded_sum(x: Scalar, y: Scalar, z: Scalar) -> Scalar:
    return x * y + z


@cache
def _fma(arithmetic: DataType) -> Any:
    """Return the function x y + z, which is rounded once for real numbers."""
    if arithmetic.dtype.kind == "c":
        return _rounded_sum
    kind = loaded_type(arithmetic, wide=False)
    return emitted(kind, x=kind, y=kind, z=kind)(vectors.fma)


@cache
def results_writer(data_type: DataType) -> Any:
    """Return a function (launch, block, sums, step, c) that writes a block's sums as elements of c, or as partial sums.

    In a launch with a map, complete sums are mapped. step: sums from row to row.
    """
    load, store, arithmetic = loader(data_type), storer(data_type), arithmetic_of(data_type)
    load_wide, store_wide, fma = loader(arithmetic), storer(arithmetic), _fma(arithmetic)

    @separate
    def write(launch: ProductLaunch, block: ProductBlock, sums: int, step: int, c: int) -> None:
        n = launch.product.n
        alpha = load(launch.alpha, 0)
        beta = load(launch.beta, 0)
        partial, columns = block.partial, block.columns
        rows, maps = block.rows, partial == 0 and launch.map != 0
        if maps and launch.apart != 0:
            map_block(launch, block, sums, step, 0, rows)
            return
        for row in range(rows):
            for column in range(columns):
                total, place = load_wide(sums, row * step + column), row * n + column
                if partial != 0:
                    store_wide(partial, place, total)
                elif beta == 0:
                    store(c, place, alpha * total)
                else:
                    store(c, place, fma(alpha, total, beta * load(c, place)))
        if maps:
            map_block(launch, block, c, n, 0, rows)

    return write


@cache
def results_merger(data_type: DataType) -> Any:
    """Return a function (launch, begin, end) that adds up the parts of elements [begin, end) of c, in their order.

    In a launch with a map, the totals are mapped; if they are not in c, they replace the first part.
    """
    load, store, arithmetic = loader(data_type), storer(data_type), arithmetic_of(data_type)
    load_wide, store_wide, fma = loader(arithmetic), storer(arithmetic), _fma(arithmetic)

    @jit
    def merge(launch: ProductLaunch, begin: int, end: int) -> None:
        words, partials = launch.product, launch.partials
        c, parts = launch.c, words.depth_parts
        alpha = load(launch.alpha, 0)
        beta = load(launch.beta, 0)
        count = words.num_batches * words.m * words.n
        maps, apart = launch.map != 0, launch.apart != 0
        for place in range(begin, end):
            total = load_wide(partials, place)
            for part in range(1, parts):
                total += load_wide(partials, part * count + place)
            if apart:
                store_wide(partials, place, total)
            elif beta == 0:
                store(c, place, alpha * total)
            else:
                store(c, place, fma(alpha, total, beta * load(c, place)))
        if maps:
            map_elements(launch, partials if apart else c, begin, end)

    return merge


@cache
def results_narrower(data_type: DataType) -> Any:
    """Return a function (c, c_step, sums, rows, columns) that writes contiguous sums as rows of c, c_step apart."""
    store, load_wide = storer(data_type), loader(arithmetic_of(data_type))

    @separate
    def narrow(c: int, c_step: int, sums: int, rows: int, columns: int) -> None:
        for row in range(rows):
            for column in range(columns):
                store(c, row * c_step + column, load_wide(sums, row * columns + column))

    return narrow
