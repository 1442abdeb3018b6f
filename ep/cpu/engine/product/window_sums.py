"""Blocks of c in tiles, of products by transposed windows of an array, which tiles read in the array.

The sums along k go over the windows. A tile has a row for each of some places of a window, and a column for each row of
a: an element of the array is a factor, and a vector has elements of a. So only a is packed, and windows are nowhere
written. The sums of a block are transposed when they are complete.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Final

from llvmlite import ir

from ep.common.native.emitted import emitted
from ep.cpu.compile.jit import jit, separate
from ep.cpu.compile.memory import loader, release, set_bytes, storer
from ep.cpu.compile.vectors import (
    BYTE,
    L1_CACHE,
    REALS,
    WORD,
    add,
    counted,
    fma,
    least,
    load,
    loop,
    pointer_to,
    splat,
    store,
)
from ep.cpu.engine.product.memory import allocate_for
from ep.cpu.engine.product.packing import column_packer
from ep.cpu.engine.product.shape import lanes_of, rows_of
from ep.cpu.engine.product.state import ProductBlock, ProductLaunch, ProductLoops
from ep.cpu.engine.product.strip import SUMMED
from ep.cpu.engine.product.tile import prefetch_tile
from ep.cpu.engine.product.tiling import packer
from ep.cpu.engine.product.walk import offsets
from ep.cpu.lines.fetch import fetch_constant
from ep.include.data_type import DataType

_LINE: Final = 64  # bytes


@cache
def window_sums_multiplier(data_type: DataType, vectors: int, step: int) -> Any:
    """Return a function (launch, block, a, b, c) that multiplies a block, whose first element in c is at `c`.

    alpha is 1 and beta is 0. vectors: of columns of a tile. step: elements from window to window in most cases.
    """
    size, lanes, tile_rows = data_type.itemsize, lanes_of(data_type), rows_of(vectors)
    width = vectors * lanes
    pack, turn, tile = packer(data_type, width), _turner(data_type, lanes), _tile(data_type, vectors, step)

    @separate
    def multiply_strip(words: ProductLoops, first, last, b, first_place, places, strip, sums, sums_step):
        rows = words.window_rows + 8 * first_place
        columns, ends = words.window_columns, words.window_ends
        for place in range(0, places, tile_rows):
            count, to = min(tile_rows, places - place), sums + place * sums_step * size
            later = min(place + 2 * tile_rows - 1, places - 1)  # of the next tile
            tile(first, last, b, rows + 8 * place, count, rows + 8 * later, columns, ends, strip, to, sums_step)

    @jit
    def multiply(launch: ProductLaunch, block: ProductBlock, a, b, c):
        words, partial = launch.product, block.partial
        rows, places = block.rows, block.columns
        begin, end = block.first, block.last
        n, k = words.n, words.k
        pieces = (end - begin + SUMMED - 1) // SUMMED
        length = (end - begin + pieces - 1) // pieces
        sums_step = (rows + width - 1) // width * width
        strip_bytes = SUMMED * width * size
        sums_bytes = (places + tile_rows - 1) // tile_rows * tile_rows * sums_step * size
        memory = allocate_for(launch, strip_bytes + sums_bytes + _LINE)
        if memory == 0:
            return
        strip = (memory + _LINE - 1) // _LINE * _LINE
        sums = strip + strip_bytes
        set_bytes(sums, sums_bytes, 0)
        a += block.first_row * k * size
        for term in range(block.first_term, block.last_term):
            a_offset, b_offset = offsets(words.terms, term)
            for first in range(begin, end, length):
                last = min(first + length, end)
                for row in range(0, rows, width):
                    from_a = a + (a_offset + row * k + first) * size
                    pack(0, from_a, k, min(width, rows - row), last - first, strip)
                    multiply_strip(
                        *(words, first, last, b + b_offset * size, block.first_column, places),
                        *(strip, sums + row * size, sums_step),
                    )
        turn(sums, sums_step, places, rows, c if partial == 0 else partial, n)
        release(memory)

    return multiply


def _turner(data_type: DataType, lanes: int) -> Any:
    """Return a function (src, src_step, rows, columns, dst, dst_step) that writes rows of src as columns of dst."""
    size, load, store = data_type.itemsize, loader(data_type), storer(data_type)
    pack_columns = column_packer(data_type, lanes, lanes)

    @separate
    def turn(src, src_step, rows, columns, dst, dst_step):
        whole = rows // lanes * lanes
        for row in range(0, whole, lanes):
            pack_columns(src + row * src_step * size, src_step, lanes, columns, dst + row * size, dst_step)
        for row in range(whole, rows):
            for column in range(columns):
                store(dst, column * dst_step + row, load(src, row * src_step + column))

    return turn


def _tile(data_type: DataType, vectors: int, step: int) -> Any:
    """Return a function that adds the products of some windows to the sums of a tile.

    The arguments are (first, last, x, rows, num_rows, columns, ends, strip, sums, sums_step). first, last: the windows.
    x: the array. rows: the address of the places of the tile's rows, `num_rows` of which exist. columns, ends: those of
    the product. strip: `[last - first, vectors * lanes]` numbers. sums: the first of the tile's rows, sums_step apart.
    """
    real, lanes, count = REALS[data_type], lanes_of(data_type), rows_of(vectors)
    vector, width = ir.VectorType(real, lanes), vectors * lanes

    @emitted()
    def add_products(
        builder: Any,
        first: Any,
        last: Any,
        x: Any,
        rows: Any,
        num_rows: Any,
        later: Any,
        columns: Any,
        ends: Any,
        strip: Any,
        sums: Any,
        sums_step: Any,
    ) -> None:
        x, strip, sums = (pointer_to(builder, each, real) for each in (x, strip, sums))
        prefetch_tile(builder, sums, sums_step, count, width * data_type.itemsize)
        last_row = builder.sub(num_rows, WORD(1))
        factors = [
            builder.gep(x, [load(builder, pointer_to(builder, rows, WORD), WORD, least(builder, WORD(row), last_row))])
            for row in range(count)
        ]

        later = builder.gep(x, [load(builder, pointer_to(builder, later, WORD), WORD)])

        def add_run(begin: Any, *found: Any) -> list[Any]:
            """Add the products of windows from `begin` on that are `step` elements apart."""
            end = least(builder, load(builder, pointer_to(builder, ends, WORD), WORD, begin), last)
            column = load(builder, pointer_to(builder, columns, WORD), WORD, begin)

            def add_window(number: Any, carried: list[Any]) -> list[Any]:
                place, *found = carried
                row = builder.gep(strip, [builder.mul(builder.sub(number, first), WORD(width))])
                elements = [load(builder, row, vector, WORD(number * lanes)) for number in range(vectors)]
                fetch_constant(builder, pointer_to(builder, builder.gep(later, [place]), BYTE), 1, L1_CACHE)
                following = []
                for tile_row, factor in enumerate(factors):
                    value = splat(builder, load(builder, factor, real, place), lanes)
                    for number, element in enumerate(elements):
                        following.append(fma(builder, value, element, found[tile_row * vectors + number]))
                return [builder.add(place, WORD(step)), *following]

            _, (_, *found) = counted(builder, begin, end, 1, [column, *found], add_window)
            return [end, *found]

        _, *found = loop(builder, last, [first, *[vector(None)] * (count * vectors)], add_run)
        for row in range(count):
            to = builder.gep(sums, [builder.mul(sums_step, WORD(row))])
            for number in range(vectors):
                before = load(builder, to, vector, WORD(number * lanes))
                store(builder, add(builder, before, found[row * vectors + number]), to, WORD(number * lanes))

    return add_products
