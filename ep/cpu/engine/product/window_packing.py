"""Packing of windows: strips of a matrix of windows, read in the array by tables of places."""

from __future__ import annotations

from functools import cache
from typing import Any, Final

from ep.common.loops import unrolled
from ep.common.native.fields import Int64
from ep.cpu.compile.jit import inlined, separate
from ep.cpu.compile.vector import (
    Mask,
    all_lanes,
    convert,
    elements,
    every,
    lanes_below,
    load,
    mask,
    mask_of_bits,
    store,
    vector,
)
from ep.cpu.compile.vectors import L2_CACHE
from ep.cpu.engine.product.shape import VECTORS
from ep.cpu.engine.product.state import ProductLoops
from ep.cpu.engine.product.types import arithmetic_of
from ep.cpu.lines.fetch import constant_fetch
from ep.include.data_type import DataType

_MOST_OF_WORD: Final = 24  # bits of a word of 32 behind the first byte's
_AHEAD: Final = 2  # prefetch distance in strips: each row is in another plane, which no processor prefetches


def windows_packer(
    data_type: DataType, lanes: int, step: int, vectors: int = VECTORS, wide: DataType | None = None
) -> Any:
    """Return a function (product, src, first_row, first, count, k, dst) that packs a strip of windows.

    Element (i, j) of the strip [k, vectors * lanes] is that of row first_row + i and column first + j of the matrix
    that `product`, a `ProductLoops`, describes. The first `count` columns are written, and any numbers into the rest of
    their vectors.
    step: that of `read_step`. wide: the type of the strip; by default that in which products are summed.
    """
    width, size, row = vectors * lanes, data_type.itemsize, wide or arithmetic_of(data_type)
    size_of_row = row.itemsize
    whole, padded, part, padded_part = (
        _run_packer(data_type, row, lanes, width, several, step, padded=padded)
        for several in (vectors, 1)
        for padded in (False, True)
    )

    @separate
    def pack(product: ProductLoops, src: int, first_row: int, first: int, count: int, k: int, dst: int) -> None:
        rows = product.window_rows + 8 * first_row
        columns, ends = product.window_columns, product.window_ends
        inside, outside = product.window_inside, product.window_outside
        of_rows, place, last = inside + 8 * first_row, first, first + count
        while place < last:
            end, source = min(ends[place], last), src + columns[place] * size
            lacks = inside != 0 and outside[end] > outside[place]
            if place == first and end - place > lanes and lacks:
                padded(source, rows, of_rows, place, end - place, k, dst)
            elif end - place == width:
                whole(source, rows, of_rows, place, width, k, dst)
            else:
                end, target = min(end, place + lanes), dst + (place - first) * size_of_row
                if lacks:
                    padded_part(source, rows, of_rows, place, end - place, k, target)
                else:
                    part(source, rows, of_rows, place, end - place, k, target)
            place = end

    return pack


@cache
def inside_mask(lanes: int) -> Any:
    """Return a function (bits, first) that returns a mask of `lanes` bits of a row, from bit `first` on.

    bits: the address of the bits of the row.
    """
    Words = elements(DataType.kUInt32 if lanes <= _MOST_OF_WORD else DataType.kUInt64)

    @inlined
    def inside(bits: int, first: int) -> Mask:
        return mask_of_bits(Words.at(bits + (first >> 3))[0] >> (first & 7), lanes)

    return inside


def _run_packer(
    data_type: DataType, row: DataType, lanes: int, width: int, vectors: int, step: int, padded: bool
) -> Any:
    """Return a function (src, rows, inside, column, count, k, dst) that packs runs of columns of a strip.

    Row i of dst, `width` elements of type `row`, gets `count` elements of src: the first is src[rows[i]], each other
    one `step` elements after the one before. count: from 1 to the elements of the vectors. If there are several
    vectors, all of them are written, and `count` is that number unless `padded`; src is prefetched for later columns.
    padded: whether some elements are not in src, but 0. inside[i] is the address of a bit for each element of a row,
        set if it is in src; `column` is the number of the first column of dst, of `step` bits each.
    """
    Stored, Row, Masks, number_of_loads = vector(data_type, lanes), vector(row, lanes), mask(lanes), vectors * step
    Elements, Numbers, several = elements(data_type), elements(row), vectors > 1
    whole = tuple(several and lanes * (number + 1) <= (width - 1) * step + 1 for number in range(number_of_loads))
    take, inside_of, span_elements = every(step, 0, lanes), inside_mask(lanes), width * step
    fetch = constant_fetch(span_elements * data_type.itemsize, L2_CACHE)

    @inlined
    def pack(src: int, rows: Int64, inside: Int64, column: int, count: int, k: int, dst: int) -> None:
        read, pieces = Masks.array_on_stack(number_of_loads), Stored.array_on_stack(number_of_loads)
        for number, is_whole in unrolled(enumerate(whole)):
            read[number] = lanes_below((count - 1) * step + 1, lanes, lanes * number)
            if is_whole and not padded:
                read[number] = all_lanes(lanes)
        written = all_lanes(lanes) if several else lanes_below(count, lanes)
        for index in range(k):
            source, target = Elements.at(src)[rows[index] :], Numbers.at(dst)[index * width :]
            if several:
                fetch(source[_AHEAD * span_elements :])
            for number in unrolled(range(number_of_loads)):
                used = read[number]
                if padded:
                    used = used & inside_of(inside[index], column * step + lanes * number)
                pieces[number] = load(Stored, source, lanes * number, used)
            for number in unrolled(range(vectors)):
                taken = take(*(pieces[number * step + part] for part in unrolled(range(step))))
                store(target, number * lanes, convert(Row, taken), written)

    return pack
