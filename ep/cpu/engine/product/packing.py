"""Packing: operands copied into the order in which tiles read them, in the arithmetic type."""

from __future__ import annotations

from functools import cache
from typing import Any, Final

from llvmlite import ir

from ep.common.native.emitted import emitted
from ep.cpu.compile.conversion import extended
from ep.cpu.compile.target import has_avx512
from ep.cpu.compile.vectors import (
    BIT,
    INT,
    NUMBERS,
    WORD,
    call,
    constant,
    counted,
    counted_whole,
    every,
    joined,
    lanes_below,
    lanes_of,
    least,
    load,
    mangled,
    store,
    stored_bits,
    taken,
    with_masks_unless,
)
from ep.cpu.engine.product.types import arithmetic_of, as_summed
from ep.include.data_type import DataType

_LINE: Final = 64  # bytes
_HALF: Final = 16  # the bits of a number of a pair


@cache
def row_packer(data_type: DataType, width: int, paired: bool = False) -> Any:
    """Return a function (src, step, count, k, dst) that packs rows of src as contiguous rows of `width` numbers.

    src has k rows, `step` elements from row to row. The first `count` elements of each, from 1 to width, are read; the
    rest of a row of dst is 0.
    paired: whether two rows of src become one of dst, whose elements have those of the first one in their upper halves.
        If k is odd, the lower halves of the last row are 0.
    """

    has_masks = has_avx512() or data_type.itemsize >= 4

    @emitted()
    def pack(builder: Any, src: Any, step: Any, count: Any, k: Any, dst: Any) -> None:
        bits, real = kinds(data_type)
        src, dst = (builder.inttoptr(one, kind.as_pointer()) for one, kind in ((src, bits), (dst, real)))
        read, whole = lanes_below(builder, count, width), builder.icmp_signed("==", count, WORD(width))

        def loaded(source: Any) -> Any:
            def with_mask(masked: bool) -> list[Any]:
                return [load(builder, source, ir.VectorType(bits, width), mask=read if masked else None)]

            # masks of bytes are instructions of AVX-512; without it, LLVM reads one element after the other
            return with_mask(True)[0] if has_masks else with_masks_unless(builder, whole, with_mask)[0]

        def row(index: Any, nothing: Any, of_two: bool = paired) -> None:
            place = builder.shl(index, WORD(1)) if paired else index
            source = builder.gep(src, [builder.mul(place, step)])
            target = builder.gep(dst, [builder.mul(index, WORD(width))])
            number = loaded(source)
            if not paired:
                store(builder, as_summed(builder, number, data_type), target)
                return
            pair = _upper(builder, number, data_type)
            if of_two:
                other = loaded(builder.gep(source, [step]))
                pair = builder.or_(pair, builder.zext(extended(builder, other, data_type, _HALF), pair.type))
            store(builder, pair, target)

        if not paired:
            counted(builder, WORD(0), k, 1, [], row)
            return
        left, _ = counted(builder, WORD(0), builder.lshr(k, WORD(1)), 1, [], row)
        with builder.if_then(builder.trunc(k, BIT)):
            row(left, None, of_two=False)

    return pack


@cache
def column_packer(data_type: DataType, rows: int, lanes: int, paired: bool = False) -> Any:
    """Return a function (src, step, count, k, dst, width) that writes rows of src as columns of dst.

    src has `count` rows of k elements, from 1 to `rows`, with `step` elements from row to row. dst has rows of `width`
    numbers. Any others of its first `rows` columns are undefined.
    paired: whether two elements along k become one, as in `row_packer`.
    """

    @emitted()
    def pack(builder: Any, src: Any, step: Any, count: Any, k: Any, dst: Any, width: Any) -> None:
        bits, real = kinds(data_type)
        src, dst = (builder.inttoptr(one, kind.as_pointer()) for one, kind in ((src, bits), (dst, real)))
        last = builder.sub(count, WORD(1))
        sources = []
        for number in range(rows):
            row = least(builder, WORD(number), last)  # beyond the rows, the last one again: these columns are not used
            sources.append(builder.gep(src, [builder.mul(row, step)]))

        def block(index: Any, length: int, of_two: bool = paired) -> None:
            stored = stored_bits(data_type, length if length > 1 else None)
            loaded, place = [], builder.shl(index, WORD(1)) if paired else index
            for source in sources:
                if of_two:
                    loaded.append(_pairs(builder, builder.gep(source, [place]), data_type, length))
                    continue
                read = load(builder, source, stored, place)
                loaded.append((_upper if paired else as_summed)(builder, read, data_type))
            target = builder.gep(dst, [builder.mul(index, width)])
            if length == 1:
                for number, value in enumerate(loaded):
                    store(builder, value, target, WORD(number))
                return
            for number, piece in enumerate(_transposed(builder, loaded)):
                store(builder, piece, target, builder.mul(WORD(number), width))

        end = builder.lshr(k, WORD(1)) if paired else k
        left, _ = counted_whole(builder, WORD(0), end, lanes, [], lambda index, _: block(index, lanes))
        left, _ = counted(builder, left, end, 1, [], lambda index, _: block(index, 1))
        if paired:
            with builder.if_then(builder.trunc(k, BIT)):
                block(left, 1, of_two=False)

    return pack


@cache
def plane_packer(data_type: DataType, planes: int) -> Any:
    """Return a function (src, count, dst, dst_step) that writes the columns of contiguous rows of src as rows of dst.

    src: `count` rows of `planes` elements. dst: `planes` rows of `count` numbers, dst_step numbers from row to row.
    """
    lanes = _LINE // arithmetic_of(data_type).itemsize

    @emitted()
    def pack(builder: Any, src: Any, count: Any, dst: Any, dst_step: Any) -> None:
        bits, real = kinds(data_type)
        src, dst = (builder.inttoptr(one, kind.as_pointer()) for one, kind in ((src, bits), (dst, real)))
        targets = [builder.gep(dst, [builder.mul(dst_step, WORD(number))]) for number in range(planes)]

        def rows(index: Any, length: int) -> None:
            stored = stored_bits(data_type, length if length > 1 else None)
            source = builder.gep(src, [builder.mul(index, WORD(planes))])
            loaded = []
            for number in range(planes):
                place = builder.gep(source, [WORD(number * length)])
                loaded.append(as_summed(builder, load(builder, place, stored), data_type))
            apart = taken_apart(builder, loaded) if length > 1 else loaded
            for target, value in zip(targets, apart, strict=True):
                store(builder, value, target, index)

        left, _ = counted_whole(builder, WORD(0), count, lanes, [], lambda index, _: rows(index, lanes))
        counted(builder, left, count, 1, [], lambda index, _: rows(index, 1))

    return pack


def _upper(builder: Any, bits: Any, data_type: DataType) -> Any:
    """Return stored bits, or a vector of them, as the upper halves of pairs whose lower halves are 0."""
    half = extended(builder, bits, data_type, _HALF)
    pair = ir.VectorType(INT, half.type.count) if isinstance(half.type, ir.VectorType) else INT
    return builder.shl(builder.zext(half, pair), constant(pair, _HALF))


def _pairs(builder: Any, source: Any, data_type: DataType, count: int) -> Any:
    """Return pairs of elements, a vector or one, with the first element in the upper half."""
    pair = INT if count == 1 else ir.VectorType(INT, count)
    halves = extended(builder, load(builder, source, stored_bits(data_type, 2 * count)), data_type, _HALF)
    read = builder.bitcast(halves, pair)
    return call(builder, f"llvm.fshl.{mangled(pair)}", pair, read, read, constant(pair, _HALF))


def kinds(data_type: DataType) -> tuple[Any, Any]:
    """Return the stored type of elements and the arithmetic type."""
    return stored_bits(data_type), NUMBERS[arithmetic_of(data_type)]


def _transposed(builder: Any, rows: list[Any]) -> list[Any]:
    """Return the columns of a matrix whose rows are vectors, a power of two of them."""
    lanes, count = rows[0].type.count, len(rows)
    sequences = [[row] for row in rows]
    while len(sequences) > 1:  # two sequences of vectors become one that alternates their elements
        half = len(sequences) // 2
        sequences = [
            _by_turns(builder, first, second) for first, second in zip(sequences[:half], sequences[half:], strict=True)
        ]
    columns = []
    for column in range(lanes):
        vector, first = divmod(column * count, lanes)
        if count <= lanes:
            columns.append(lanes_of(builder, sequences[0][vector], first, count))
        else:
            pieces = sequences[0][vector : vector + count // lanes]
            columns.append(joined(builder, pieces))
    return columns


def taken_apart(builder: Any, vectors: list[Any]) -> list[Any]:
    """Return one vector for each plane; in the given vectors, elements of the planes alternate."""
    planes = len(vectors)
    if planes == 1:
        return vectors
    ways = next(number for number in range(2, planes + 1) if planes % number == 0)
    result: list[Any] = [None] * planes
    for way in range(ways):  # every `ways`-th element from `way` on, split in the same way
        chosen = [every(builder, vectors[first : first + ways], way) for first in range(0, planes, ways)]
        result[way::ways] = taken_apart(builder, chosen)
    return result


def _by_turns(builder: Any, first: list[Any], second: list[Any]) -> list[Any]:
    lanes, result = first[0].type.count, []
    for x, y in zip(first, second, strict=True):
        for begin in (0, lanes // 2):
            places = [begin + number // 2 + lanes * (number % 2) for number in range(lanes)]
            result.append(taken(builder, places, x, y))
    return result
