"""Packing of windows: strips of a matrix of windows, read in the array by tables of places."""

from __future__ import annotations

from typing import Any, Final

from llvmlite import ir

from ep.common.native.emitted import emitted
from ep.cpu.compile.conversion import widened
from ep.cpu.compile.jit import separate
from ep.cpu.compile.vectors import BYTE, L2_CACHE, WORD, counted, every, lanes_below, load, pointer_to, store
from ep.cpu.engine.product.packing import kinds
from ep.cpu.engine.product.shape import VECTORS
from ep.cpu.engine.product.state import ProductLoops
from ep.cpu.engine.product.types import arithmetic_of
from ep.cpu.lines.fetch import fetch_constant
from ep.include.data_type import DataType

_AHEAD: Final = 2  # prefetch distance in strips: each row is in another plane, which no processor prefetches
_BITS: Final = ir.IntType(32)


def windows_packer(data_type: DataType, lanes: int, step: int) -> Any:
    """Return a function (product, src, first_row, first, count, k, dst) that packs a strip of windows.

    Element (i, j) of the strip [k, VECTORS * lanes] is that of row first_row + i and column first + j of the matrix
    that `product`, a `ProductLoops`, describes. The first `count` columns are written, and any numbers into the rest of
    their vectors.
    step: that of `read_step`.
    """
    width, size, wide = VECTORS * lanes, data_type.itemsize, arithmetic_of(data_type).itemsize
    whole, padded = (_run_packer(data_type, lanes, VECTORS, step, padded=padded) for padded in (False, True))
    part, padded_part = (_run_packer(data_type, lanes, 1, step, padded=padded) for padded in (False, True))

    @separate
    def pack(product: ProductLoops, src, first_row, first, count, k, dst):
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
                end, target = min(end, place + lanes), dst + (place - first) * wide
                if lacks:
                    padded_part(source, rows, of_rows, place, end - place, k, target)
                else:
                    part(source, rows, of_rows, place, end - place, k, target)
            place = end

    return pack


def inside_bits(builder: Any, of_row: Any, first_bit: Any, number: int, lanes: int) -> Any:
    """Return a mask of `lanes` bits of a row, from bit first_bit + number on. of_row: the address of its bits."""
    byte, bit = divmod(number, 8)
    address = builder.add(builder.add(of_row, builder.lshr(first_bit, WORD(3))), WORD(byte))
    shift = builder.add(builder.trunc(builder.and_(first_bit, WORD(7)), _BITS), _BITS(bit))
    word = builder.load(pointer_to(builder, address, _BITS), align=1)
    found = builder.trunc(builder.lshr(word, shift), ir.IntType(lanes))
    return builder.bitcast(found, ir.VectorType(ir.IntType(1), lanes))


def _run_packer(data_type: DataType, lanes: int, vectors: int, step: int, padded: bool) -> Any:
    """Return a function (src, rows, inside, column, count, k, dst) that packs runs of columns of a strip.

    Row i of dst gets `count` elements of src: the first is src[rows[i]], each other one `step` elements after the one
    before. count: from 1 to the elements of the vectors. If there are several vectors, all of them are written, and
    `count` is that number unless `padded`; src is prefetched for later columns.
    padded: whether some elements are not in src, but 0. inside[i] is the address of a bit for each element of a row,
        set if it is in src; `column` is the number of the first column of dst, of `step` bits each.
    """
    bits, real = kinds(data_type)
    stored, width, number_of_loads = ir.VectorType(bits, lanes), VECTORS * lanes, vectors * step
    several = vectors > 1
    span_bytes = width * step * data_type.itemsize

    @emitted()
    def pack(builder: Any, src: Any, rows: Any, inside: Any, column: Any, count: Any, k: Any, dst: Any) -> None:
        src, dst = pointer_to(builder, src, bits), pointer_to(builder, dst, real)
        rows, inside = pointer_to(builder, rows, WORD), pointer_to(builder, inside, WORD)
        first_bit = builder.mul(column, WORD(step))
        span = builder.add(builder.mul(builder.sub(count, WORD(1)), WORD(step)), WORD(1))
        read = [lanes_below(builder, span, lanes, lanes * number) for number in range(number_of_loads)]
        written = None if several else lanes_below(builder, count, lanes)

        def mask_of(number: int, of_row: Any) -> Any:
            if not padded:
                is_whole = several and lanes * (number + 1) <= (width - 1) * step + 1
                return None if is_whole else read[number]
            return builder.and_(read[number], inside_bits(builder, of_row, first_bit, lanes * number, lanes))

        def row(index: Any, nothing: Any) -> None:
            source = builder.gep(src, [load(builder, rows, WORD, index, align=8)])
            target = builder.gep(dst, [builder.mul(index, WORD(width))])
            if several:
                later = builder.gep(pointer_to(builder, source, BYTE), [WORD(_AHEAD * span_bytes)])
                fetch_constant(builder, later, span_bytes, L2_CACHE)
            of_row = load(builder, inside, WORD, index, align=8) if padded else None
            pieces = [
                load(builder, source, stored, WORD(lanes * number), mask_of(number, of_row))
                for number in range(number_of_loads)
            ]
            for number in range(vectors):
                elements = every(builder, pieces[number * step : (number + 1) * step], 0)
                value = widened(builder, elements, data_type)
                store(builder, value, target, WORD(number * lanes), mask=written)

        counted(builder, WORD(0), k, 1, [], row)

    return pack
