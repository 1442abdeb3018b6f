"""Packing: what tiles read, written out in the order in which they read it, in the type of arithmetic."""

from __future__ import annotations

from functools import cache
from typing import Any, Final

from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic

from ep.cpu.compile.conversion import HALVES, widened
from ep.cpu.compile.vectors import lanes_below, load_lanes
from ep.cpu.engine.product.instructions import REALS, WORD, at, loop
from ep.include.data_type import DataType

_LINE: Final = 64  # bytes


@cache
def row_packer(data_type: DataType, width: int) -> Any:
    """A function (src, step, count, k, dst): rows of src become rows of `width` numbers, adjacent.

    src has k rows, `step` elements from row to row, of which `count` elements are read, from 1 to width; what follows
    them in dst is 0.
    """

    @intrinsic
    def pack(typing_context: Any, src: Any, step: Any, count: Any, k: Any, dst: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            src, step, count, k, dst = args
            bits, real, size = _kinds(data_type)
            src, dst = (builder.inttoptr(one, kind.as_pointer()) for one, kind in ((src, bits), (dst, real)))
            read = lanes_below(builder, count, width)

            def row(index: Any, nothing: list[Any]) -> list[Any]:
                source = builder.gep(src, [builder.mul(index, step)])
                target = at(builder, builder.gep(dst, [builder.mul(index, WORD(width))]), 0, ir.VectorType(real, width))
                stored = load_lanes(builder, source, ir.VectorType(bits, width), data_type.itemsize, read)
                builder.store(widened(builder, stored, data_type), target, align=size)
                return nothing

            loop(builder, WORD(0), k, 1, [], row)
            return context.get_dummy_value()

        return types.void(*[types.int64] * 5), generate

    return pack


@cache
def column_packer(data_type: DataType, rows: int, lanes: int) -> Any:
    """A function (src, step, count, k, dst, width): rows of src become columns of dst, which has `width` in a row.

    src has `count` rows of k elements, from 1 to `rows`, with `step` elements from row to row. What follows them in
    the first `rows` columns of dst is anything.
    """

    @intrinsic
    def pack(typing_context: Any, src: Any, step: Any, count: Any, k: Any, dst: Any, width: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            src, step, count, k, dst, width = args
            bits, real, size = _kinds(data_type)
            src, dst = (builder.inttoptr(one, kind.as_pointer()) for one, kind in ((src, bits), (dst, real)))
            last = builder.sub(count, WORD(1))
            sources = []
            for number in range(rows):
                there = builder.icmp_signed("<", WORD(number), last)
                row = builder.select(there, WORD(number), last)  # the last one again: these columns are not used
                sources.append(builder.gep(src, [builder.mul(row, step)]))

            def block(index: Any, length: int) -> None:
                stored = bits if length == 1 else ir.VectorType(bits, length)
                loaded = []
                for source in sources:
                    pointer = at(builder, builder.gep(source, [index]), 0, stored)
                    loaded.append(widened(builder, builder.load(pointer, align=data_type.itemsize), data_type))
                target = builder.gep(dst, [builder.mul(index, width)])
                if length == 1:
                    for number, value in enumerate(loaded):
                        builder.store(value, builder.gep(target, [WORD(number)]), align=size)
                    return
                for number, piece in enumerate(_transposed(builder, loaded)):
                    place = at(builder, builder.gep(target, [builder.mul(WORD(number), width)]), 0, piece.type)
                    builder.store(piece, place, align=size)

            def vector(index: Any, nothing: list[Any]) -> list[Any]:
                block(index, lanes)
                return nothing

            def single(index: Any, nothing: list[Any]) -> list[Any]:
                block(index, 1)
                return nothing

            (left,) = loop(builder, WORD(0), k, lanes, [], vector)
            loop(builder, left, k, 1, [], single)
            return context.get_dummy_value()

        return types.void(*[types.int64] * 6), generate

    return pack


@cache
def plane_packer(data_type: DataType, planes: int) -> Any:
    """A function (src, count, dst, dst_step): `count` rows of `planes` elements, adjacent in src, become its columns.

    dst: `planes` rows of `count` numbers, dst_step numbers from row to row.
    """
    lanes = _LINE // (DataType.kFloat if data_type in HALVES else data_type).itemsize

    @intrinsic
    def pack(typing_context: Any, src: Any, count: Any, dst: Any, dst_step: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            src, count, dst, dst_step = args
            bits, real, size = _kinds(data_type)
            src, dst = (builder.inttoptr(one, kind.as_pointer()) for one, kind in ((src, bits), (dst, real)))
            targets = [builder.gep(dst, [builder.mul(dst_step, WORD(number))]) for number in range(planes)]

            def rows(index: Any, nothing: list[Any], length: int = lanes) -> list[Any]:
                stored = bits if length == 1 else ir.VectorType(bits, length)
                source = builder.gep(src, [builder.mul(index, WORD(planes))])
                loaded = []
                for number in range(planes):
                    value = builder.load(at(builder, source, number * length, stored), align=data_type.itemsize)
                    loaded.append(widened(builder, value, data_type))
                apart = taken_apart(builder, loaded) if length > 1 else loaded
                for target, value in zip(targets, apart, strict=True):
                    builder.store(value, at(builder, builder.gep(target, [index]), 0, value.type), align=size)
                return nothing

            (left,) = loop(builder, WORD(0), count, lanes, [], rows)
            loop(builder, left, count, 1, [], lambda index, nothing: rows(index, nothing, 1))
            return context.get_dummy_value()

        return types.void(*[types.int64] * 4), generate

    return pack


def _kinds(data_type: DataType) -> tuple[Any, Any, int]:
    """How elements are stored, the type of arithmetic, and its bytes."""
    arithmetic = DataType.kFloat if data_type in HALVES else data_type
    return ir.IntType(8 * data_type.itemsize), REALS[arithmetic], arithmetic.itemsize


def _transposed(builder: Any, rows: list[Any]) -> list[Any]:
    """The columns of a matrix whose rows are vectors, a power of two of them."""
    lanes, count = rows[0].type.count, len(rows)
    sequences = [[row] for row in rows]
    while len(sequences) > 1:  # two sequences of vectors become one, with elements of both by turns
        half = len(sequences) // 2
        sequences = [
            _by_turns(builder, first, second) for first, second in zip(sequences[:half], sequences[half:], strict=True)
        ]
    columns = []
    for column in range(lanes):
        vector, first = divmod(column * count, lanes)
        if count <= lanes:
            columns.append(_part(builder, sequences[0][vector], first, count))
        else:
            pieces = sequences[0][vector : vector + count // lanes]
            columns.append(_joined(builder, pieces))
    return columns


def taken_apart(builder: Any, vectors: list[Any]) -> list[Any]:
    """Vectors of the elements of each plane, which take turns in as many vectors."""
    planes = len(vectors)
    if planes == 1:
        return vectors
    ways = next(number for number in range(2, planes + 1) if planes % number == 0)
    result: list[Any] = [None] * planes
    for way in range(ways):  # every one of so many elements, beginning with this one, and of these again
        chosen = [_every(builder, vectors[first : first + ways], way) for first in range(0, planes, ways)]
        result[way::ways] = taken_apart(builder, chosen)
    return result


def _every(builder: Any, vectors: list[Any], begin: int) -> Any:
    """The vector of element `begin` and of each that follows it by the number of vectors."""
    lanes, result = vectors[0].type.count, vectors[0]
    sources = [divmod(begin + place * len(vectors), lanes) for place in range(lanes)]
    for number in range(1, len(vectors)):  # what comes from the vectors so far stays, the rest is taken from one
        chosen = [
            lanes + element if source == number else (element if number == 1 else place)
            for place, (source, element) in enumerate(sources)
        ]
        result = builder.shuffle_vector(result, vectors[number], _places(chosen))
    return result


def _by_turns(builder: Any, first: list[Any], second: list[Any]) -> list[Any]:
    lanes, result = first[0].type.count, []
    for x, y in zip(first, second, strict=True):
        for begin in (0, lanes // 2):
            places = [begin + number // 2 + lanes * (number % 2) for number in range(lanes)]
            result.append(builder.shuffle_vector(x, y, _places(places)))
    return result


def _part(builder: Any, vector: Any, first: int, count: int) -> Any:
    return builder.shuffle_vector(vector, vector, _places(range(first, first + count)))


def _joined(builder: Any, vectors: list[Any]) -> Any:
    while len(vectors) > 1:
        pairs = zip(vectors[::2], vectors[1::2], strict=True)
        vectors = [builder.shuffle_vector(x, y, _places(range(2 * x.type.count))) for x, y in pairs]
    return vectors[0]


def _places(places: Any) -> Any:
    numbers = list(places)
    return ir.Constant(ir.VectorType(ir.IntType(32), len(numbers)), numbers)
