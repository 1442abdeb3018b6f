"""Packing: operands copied into the order in which tiles read them, in the arithmetic type."""

from __future__ import annotations

from functools import cache
from typing import Any, Final

from ep.common.loops import unrolled
from ep.common.native.fields import AnyPointer, Int64
from ep.cpu.compile.jit import inlined
from ep.cpu.compile.target import has_avx512
from ep.cpu.compile.vector import bitcast, convert, elements, every, lanes_below, load, shuffle, store, vector
from ep.cpu.compile.vector_class import Mask, Vector
from ep.cpu.engine.product.types import arithmetic_of
from ep.include.data_type import DataType

_LINE: Final = 64  # bytes
_HALF: Final = 16  # the bits of a number of a pair


@cache
def row_reader(data_type: DataType, width: int) -> Any:
    """Return a function (source, used, whole) that reads a vector of `width` numbers.

    used: the mask of those that are read; the rest are 0. whole: whether these are all.
    """
    Stored, has_masks = vector(data_type, width), has_avx512() or data_type.itemsize >= 4

    @inlined
    def read(source: int, used: Mask, whole: bool) -> Vector:
        if has_masks:
            return load(Stored, source, 0, used)
        if whole:  # masks of bytes are instructions of AVX-512; without it, LLVM reads one element after the other
            return load(Stored, source)
        return load(Stored, source, 0, used)

    return read


@cache
def row_packer(data_type: DataType, width: int, paired: bool = False) -> Any:
    """Return a function (src, step, count, k, dst) that packs rows of src as contiguous rows of `width` numbers.

    src has k rows, `step` elements from row to row. The first `count` elements of each, from 1 to width, are read; the
    rest of a row of dst is 0.
    paired: whether two rows of src become one of dst, whose elements have those of the first one in their upper halves.
        If k is odd, the lower halves of the last row are 0.
    """
    Row, as_halves, read = vector(arithmetic_of(data_type), width), _as_halves(data_type), row_reader(data_type, width)
    Elements, Halves, Pairs = elements(data_type), vector(DataType.kUInt16, width), vector(DataType.kUInt32, width)

    @inlined
    def pack(src: int, step: int, count: int, k: int, dst: int) -> None:
        source, used, whole = Elements.at(src), lanes_below(count, width), count == width
        for index in range(k):
            store(dst, index * width, convert(Row, read(source[index * step :], used, whole)))

    @inlined
    def pack_pairs(src: int, step: int, count: int, k: int, dst: int) -> None:
        source, used, whole = Elements.at(src), lanes_below(count, width), count == width
        for index in range(k >> 1):
            first, second = source[2 * index * step :], source[(2 * index + 1) * step :]
            upper, lower = as_halves(Halves, read(first, used, whole)), as_halves(Halves, read(second, used, whole))
            store(dst, index * width, (convert(Pairs, upper) << _HALF) | convert(Pairs, lower))
        if k & 1:
            last = as_halves(Halves, read(source[(k - 1) * step :], used, whole))
            store(dst, (k >> 1) * width, convert(Pairs, last) << _HALF)

    return pack_pairs if paired else pack


def _as_halves(data_type: DataType) -> Any:
    """Return the function (Halves, x) that returns elements as integers of 16 bits."""
    return bitcast if data_type.itemsize == 2 else convert


@cache
def column_packer(data_type: DataType, rows: int, lanes: int, paired: bool = False) -> Any:
    """Return a function (src, step, count, k, dst, width) that writes rows of src as columns of dst.

    src has `count` rows of k elements, from 1 to `rows`, with `step` elements from row to row. dst has rows of `width`
    numbers. Any others of its first `rows` columns are undefined.
    paired: whether two elements along k become one, as in `row_packer`.
    """
    packed, as_halves = DataType.kUInt32 if paired else arithmetic_of(data_type), _as_halves(data_type)
    Elements, Numbers, Row, Single = elements(data_type), elements(packed), vector(packed, lanes), vector(packed, 1)
    One, Half = vector(data_type, 1), vector(DataType.kUInt16, 1)
    read, read_one = (_along_k(data_type, count, paired) for count in (lanes, 1))
    transpose, pieces = _transposer(packed, rows, lanes)

    @inlined
    def pack(src: int, step: int, count: int, k: int, dst: int, width: int) -> None:
        sources, columns, index = Int64.array_on_stack(rows), Row.array_on_stack(rows), 0
        end = k >> 1 if paired else k
        for row in unrolled(range(rows)):  # beyond the rows, the last one again: these columns are not used
            sources[row] = Elements.at(src)[min(row, count - 1) * step :]
        while index < end - (lanes - 1):
            for row in unrolled(range(rows)):
                columns[row] = read(sources[row], index)
            transpose(columns)
            target = Numbers.at(dst)[index * width :]
            for column, begin, number, take in unrolled(pieces):
                store(target, column * width + begin, take(columns[number]))
            index += lanes
        while index < end:
            for row in unrolled(range(rows)):
                store(dst, index * width + row, read_one(sources[row], index))
            index += 1
        if paired and k & 1:
            for row in unrolled(range(rows)):
                upper = convert(Single, as_halves(Half, load(One, sources[row], k - 1)))
                store(dst, index * width + row, upper << _HALF)

    return pack


def _along_k(data_type: DataType, count: int, paired: bool) -> Any:
    """Return a function (source, index) that returns `count` elements of a row, or pairs, as they are multiplied."""
    Stored, Row = vector(data_type, count), vector(arithmetic_of(data_type), count)
    Both, Halves = vector(data_type, 2 * count), vector(DataType.kUInt16, 2 * count)
    Pairs, as_halves = vector(DataType.kUInt32, count), _as_halves(data_type)

    @inlined
    def read(source: int, index: int) -> Vector:
        return convert(Row, load(Stored, source, index))

    @inlined
    def read_pairs(source: int, index: int) -> Vector:
        pairs = bitcast(Pairs, as_halves(Halves, load(Both, source, 2 * index)))
        return (pairs << _HALF) | (pairs >> _HALF)  # the first element is in the upper half

    return read_pairs if paired else read


@cache
def deinterleaver(data_type: DataType, planes: int) -> Any:
    """Return a function (src, count, dst, dst_step) that writes the columns of contiguous rows of src as rows of dst.

    src: `count` rows of `planes` elements. dst: `planes` rows of `count` numbers, dst_step numbers from row to row.
    """
    arithmetic = arithmetic_of(data_type)
    lanes, Elements, Numbers = _LINE // arithmetic.itemsize, elements(data_type), elements(arithmetic)
    Row, read, read_one = vector(arithmetic, lanes), *(_along_k(data_type, count, False) for count in (lanes, 1))
    split = planes_splitter(arithmetic, lanes, planes)

    @inlined
    def pack(src: int, count: int, dst: int, dst_step: int) -> None:
        targets, parts, index = Int64.array_on_stack(planes), Row.array_on_stack(planes), 0
        for plane in unrolled(range(planes)):
            targets[plane] = Numbers.at(dst)[plane * dst_step :]
        while index < count - (lanes - 1):
            source = Elements.at(src)[index * planes :]
            for plane in unrolled(range(planes)):
                parts[plane] = read(source, plane * lanes)
            split(parts)
            for plane in unrolled(range(planes)):
                store(targets[plane], index, parts[plane])
            index += lanes
        while index < count:
            source = Elements.at(src)[index * planes :]
            for plane in unrolled(range(planes)):
                store(targets[plane], index, read_one(source, plane))
            index += 1

    return pack


def _transposer(data_type: DataType, rows: int, lanes: int) -> tuple[Any, tuple[tuple[int, int, int, Any], ...]]:
    """Return a function (columns) that transposes a matrix whose rows are vectors, a power of two of them.

    The second result says where its columns are then: (column, first row, number of a vector, function of its part).
    """
    Row, steps, half = vector(data_type, lanes), rows.bit_length() - 1, rows // 2
    lower, upper = (shuffle(*(first + k // 2 + lanes * (k % 2) for k in range(lanes))) for first in (0, lanes // 2))

    @inlined
    def transpose(columns: AnyPointer) -> None:
        following = Row.array_on_stack(rows)
        for _ in unrolled(range(steps)):  # the elements of the first half of the vectors, and of the second, alternate
            for number in unrolled(range(half)):
                x, y = columns[number], columns[half + number]
                following[2 * number], following[2 * number + 1] = lower(x, y), upper(x, y)
            for number in unrolled(range(rows)):
                columns[number] = following[number]

    pieces, length = [], min(rows, lanes)
    for column in range(lanes):
        for first in range(0, rows, length):
            number, lane = divmod(column * rows + first, lanes)
            pieces.append((column, first, number, shuffle(*range(lane, lane + length))))
    return transpose, tuple(pieces)


def planes_splitter(data_type: DataType, lanes: int, planes: int) -> Any:
    """Return a function (parts) of `planes` vectors in which elements of the planes alternate: it separates them."""
    if planes == 1:
        return _nothing
    ways = next(number for number in range(2, planes + 1) if planes % number == 0)
    Row, rest, takers = vector(data_type, lanes), planes // ways, tuple(every(ways, way, lanes) for way in range(ways))
    split_rest = planes_splitter(data_type, lanes, rest)

    @inlined
    def split(parts: AnyPointer) -> None:
        chosen = Row.array_on_stack(planes)
        for way, take in unrolled(enumerate(takers)):  # every `ways`-th element from `way` on, split in the same way
            for number in unrolled(range(rest)):
                chosen[way * rest + number] = take(*(parts[number * ways + k] for k in unrolled(range(ways))))
            split_rest(chosen[way * rest :])
        for plane in unrolled(range(planes)):
            parts[plane] = chosen[plane % ways * rest + plane // ways]

    return split


@inlined
def _nothing(parts: int) -> None:
    """Leave the vectors of a single plane."""
