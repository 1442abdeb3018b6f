"""Blocks of c in tiles, of products by transposed windows of an array, which tiles read in the array.

The sums along k go over the windows. A tile has a row for each of some places of a window, and a column for each row of
a: an element of the array is a factor, and a vector has elements of a. So only a is packed, and windows are nowhere
written. The sums of a block are transposed when they are complete.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Final

from ep.common.loops import unrolled
from ep.common.native.fields import Int64
from ep.cpu.compile.jit import inlined, jit, separate
from ep.cpu.compile.memory import loader, release, set_bytes, storer
from ep.cpu.compile.vector import elements, fma, load, store, vector
from ep.cpu.compile.vectors import L1_CACHE
from ep.cpu.engine.product.memory import allocate_for
from ep.cpu.engine.product.packing import column_packer
from ep.cpu.engine.product.shape import lanes_of, rows_of
from ep.cpu.engine.product.state import ProductBlock, ProductLaunch, ProductLoops
from ep.cpu.engine.product.strip import SUMMED
from ep.cpu.engine.product.tile import tile_fetch
from ep.cpu.engine.product.tiling import packer
from ep.cpu.engine.product.walk import offsets
from ep.cpu.lines.fetch import constant_fetch
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
    def multiply_strip(
        words: ProductLoops, first: int, last: int, b: int, first_place: int, places: int, strip: int, sums: int,
        sums_step: int,
    ) -> None:  # fmt: skip
        rows = words.window_rows + 8 * first_place
        columns, ends = words.window_columns, words.window_ends
        for place in range(0, places, tile_rows):
            count, to = min(tile_rows, places - place), sums + place * sums_step * size
            later = min(place + 2 * tile_rows - 1, places - 1)  # of the next tile
            tile(first, last, b, rows + 8 * place, count, rows + 8 * later, columns, ends, strip, to, sums_step)

    @jit
    def multiply(launch: ProductLaunch, block: ProductBlock, a: int, b: int, c: int) -> None:
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
    def turn(src: int, src_step: int, rows: int, columns: int, dst: int, dst_step: int) -> None:
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
    lanes, count, width = lanes_of(data_type), rows_of(vectors), vectors * lanes_of(data_type)
    Row, Numbers = vector(data_type, lanes), elements(data_type)
    fetch_tile, fetch_line = tile_fetch(data_type, count, width), constant_fetch(1, L1_CACHE)

    @inlined
    def add_products(
        first: int, last: int, x: int, rows: Int64, num_rows: int, later: Int64, columns: Int64, ends: Int64,
        strip: int, sums: int, sums_step: int,
    ) -> None:  # fmt: skip
        factors, found, of_strip = (
            Int64.array_on_stack(count),
            Row.array_on_stack(count * vectors),
            Row.array_on_stack(vectors),
        )
        fetch_tile(sums, sums_step)
        for row in unrolled(range(count)):
            factors[row] = Numbers.at(x)[rows[min(row, num_rows - 1)] :]
            for number in unrolled(range(vectors)):
                found[row * vectors + number] = Row.zero()
        ahead, begin = Numbers.at(x)[later[0] :], first
        while begin < last:
            end, place = min(ends[begin], last), columns[begin]
            while begin < end:  # windows that are `step` elements apart
                for number in unrolled(range(vectors)):
                    of_strip[number] = load(Row, Numbers.at(strip)[(begin - first) * width :], number * lanes)
                fetch_line(ahead[place:])
                for row in unrolled(range(count)):
                    factor = Row.splat(Numbers.at(factors[row])[place])
                    for number in unrolled(range(vectors)):
                        found[row * vectors + number] = fma(factor, of_strip[number], found[row * vectors + number])
                place += step
                begin += 1
        for row in unrolled(range(count)):
            to = Numbers.at(sums)[row * sums_step :]
            for number in unrolled(range(vectors)):
                store(to, number * lanes, load(Row, to, number * lanes) + found[row * vectors + number])

    return add_products
