"""The passes over a row, vector by vector: those that fold it, and the one that maps it.

Which lane adds which element depends on the place in the row only, not on its address. On processors with shorter
registers, a vector occupies several of them.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from ep.common.loops import unrolled
from ep.cpu.compile.conversion import arithmetic
from ep.cpu.compile.jit import inlined
from ep.cpu.compile.vector import (
    all_lanes,
    any_lane,
    convert,
    fma,
    lanes_below,
    largest_lane,
    load,
    lower_half,
    mask,
    popcount,
    select,
    store,
    store_nontemporal,
    upper_half,
    vector,
)
from ep.cpu.compile.vector_class import Mask, Vector
from ep.cpu.engine.reduce.lane_sums import Sums, record_keeper
from ep.cpu.lines.ahead import AHEAD_BLOCK, fetch_ahead
from ep.cpu.vector_math.sets.packed_exponential import HEADROOM, VECTOR_BYTES, power
from ep.cpu.vector_math.sums import sum_of
from ep.include.data_type import DataType
from ep.include.number_kind import HALVES

_INFINITY, _NAN = float("inf"), float("nan")


def row_class(data_type: DataType) -> Any:
    """Return the class of the vectors that elements are computed in."""
    return _vectors(data_type)[1]


def _vectors(data_type: DataType) -> tuple[int, Any, Any]:
    """Return the elements of a vector, the class of vectors that are computed with, and that of vectors in memory."""
    real = arithmetic(data_type)
    width = VECTOR_BYTES // real.itemsize
    return width, vector(real, width), vector(data_type, width)


@cache
def largest_of(data_type: DataType) -> Any:
    """Return a function largest(src, count): the largest element in the arithmetic type, NaN if any is; count >= 1."""
    (width, Row, Stored), several = _vectors(data_type), 4
    Masks = mask(width)

    @inlined
    def add(src: int, index: int, used: Mask, maxima: Vector) -> Any:
        """Compare a vector of elements with the first maxima; return the mask of those that are NaN."""
        x = select(used, convert(Row, load(Stored, src, index, used)), -_INFINITY)
        maxima[0] = select(x > maxima[0], x, maxima[0])
        return x != x

    @inlined
    def largest(src: int, count: int) -> Any:
        xs, maxima = Row.array_on_stack(several), Row.array_on_stack(several)
        unknown, index = Masks.zero(), 0
        for k in unrolled(range(several)):
            maxima[k] = Row.splat(-_INFINITY)
        while index < count - (several * width - 1):
            for k in unrolled(range(several)):
                xs[k] = convert(Row, load(Stored, src, index + k * width))
                maxima[k] = select(xs[k] > maxima[k], xs[k], maxima[k])
            for k in unrolled(range(0, several, 2)):  # one instruction tests two vectors
                unknown = unknown | ((xs[k] != xs[k]) | (xs[several - 1 - k] != xs[several - 1 - k]))
            index += several * width
        while index < count - (width - 1):
            unknown = unknown | add(src, index, all_lanes(width), maxima)
            index += width
        if index < count:
            unknown = unknown | add(src, index, lanes_below(count - index, width), maxima)
        for step in unrolled((1, 2)):
            for k in unrolled(range(0, several, 2 * step)):
                maxima[k] = select(maxima[k] > maxima[k + step], maxima[k], maxima[k + step])
        return largest_lane(select(any_lane(unknown), _NAN, maxima[0]))

    return largest


@cache
def power_summer(data_type: DataType, keeps: bool, without_largest: bool) -> Any:
    """Return sum(src, out, count, padded, record, first, ahead, at, largest, c, shift, lowest) of a row's powers.

    The last four arguments are the numbers of the row. The function writes the sum of the powers of elements to the
    record, or adds it to the record if not `first`. It returns the number of elements equal to `largest`. Meanwhile it
    prefetches what the `AheadContext` at `ahead` asks for, unless that is 0 or there are less than `AHEAD_BLOCK`
    elements; the row's first element is number `at` of the task.
    keeps: whether powers are written to out, in the arithmetic type; if `padded`, in whole vectors.
    without_largest: whether elements equal to `largest` are left out of the sum; otherwise they are not counted.

    Except for 16-bit types, rounding errors are added up separately. The initial sum is so large that the error of each
    addition is known exactly; the remaining error is far below the last bit.
    """
    (width, Row, Stored), several = _vectors(data_type), 2
    narrow, double = data_type in HALVES, data_type is DataType.kDouble
    Wide, power_of, keep = vector(DataType.kDouble, width), power(arithmetic(data_type), narrow), record_keeper(double)
    initial = 0.0 if narrow else 2.0 ** (HEADROOM + (16 if double else 8))

    @inlined
    def add(src: int, index: int, used: Mask, row: Vector, sums: Vector) -> Any:
        """Add the powers of a vector of elements; return them, and how many elements are the largest."""
        x = select(used, convert(Row, load(Stored, src, index, used)), -_INFINITY)
        powers = power_of(x, row[1], row[2], row[3])
        term, equal = powers, 0
        if without_largest:
            equal = popcount(x == row[0])
            term = select(x == row[0], 0, powers)
        total = sums[0] + term
        if not narrow:
            sums[1] += term - (total - sums[0])
        sums[0] = total
        return powers, equal

    @inlined
    def power_sum(
        src: int,
        out: int,
        count: int,
        padded: bool,
        record: int,
        first: bool,
        ahead: int,
        at: int,
        largest: float,
        c: float,
        shift: float,
        lowest: float,
    ) -> int:
        row, sums, kept = Row.array_on_stack(4), Row.array_on_stack(2), Sums.array_on_stack(2)
        row[0], row[1], row[2], row[3] = Row.splat(largest), Row.splat(c), Row.splat(shift), Row.splat(lowest)
        sums[0], sums[1] = Row.splat(initial), Row.zero()
        index, number = 0, 0
        for part in range(0, count, AHEAD_BLOCK):
            end = min(part + AHEAD_BLOCK, count)
            if ahead != 0 and count >= AHEAD_BLOCK:
                fetch_ahead(ahead, at + part, at + end)
            while index < end - (several * width - 1):
                for k in unrolled(range(several)):
                    powers, equal = add(src, index + k * width, all_lanes(width), row, sums)
                    number += equal
                    if keeps:
                        store(out, index + k * width, powers)
                index += several * width
        while index < count - (width - 1):
            powers, equal = add(src, index, all_lanes(width), row, sums)
            number += equal
            if keeps:
                store(out, index, powers)
            index += width
        if index < count:
            used = lanes_below(count - index, width)
            powers, equal = add(src, index, used, row, sums)
            number += equal
            if keeps:
                if padded:  # processors do not forward part of a stored vector
                    store(out, index, powers)
                else:
                    store(out, index, powers, used)
        total = sums[0] - initial
        if double:
            kept[0], kept[1] = total, sums[1]
        else:
            wide = convert(Wide, total)
            if not narrow:
                wide += convert(Wide, sums[1])
            kept[0] = lower_half(wide) + upper_half(wide)
        keep(record, first, kept)
        return number

    return power_sum


@cache
def product_summer(data_type: DataType, factors: int) -> Any:
    """Return a function sum(src0, src1, count, record) of the products of two elements, or of the elements of src1.

    It writes a record. Four vectors are added in float32, and these sums in float64. For float64 two vectors are added,
    and the rounding errors of adding these sums are kept.
    """
    (width, Row, Stored), double = _vectors(data_type), data_type is DataType.kDouble
    several, Wide, keep = 2 if double else 4, vector(DataType.kDouble, width), record_keeper(double)

    def adder(vectors: int) -> Any:
        @inlined
        def add(src0: int, src1: int, index: int, used: Mask, sums: Vector) -> None:
            values = Row.array_on_stack(vectors)
            for k in unrolled(range(vectors)):
                values[k] = convert(Row, load(Stored, src1, index + k * width, used))
                if factors == 2:
                    factor = convert(Row, load(Stored, src0, index + k * width, used))
                    values[k] = fma(factor, values[k], values[k - 1]) if k > 0 else factor * values[0]
                elif k > 0:
                    values[k] += values[k - 1]
            value = values[vectors - 1]
            if double:
                total, lost = sum_of(sums[0], value)
                sums[0], sums[1] = total, sums[1] + lost
            else:
                sums[0] += convert(Wide, value)

        return add

    add_several, add_single = adder(several), adder(1)

    @inlined
    def sum_of_products(src0: int, src1: int, count: int, record: int) -> None:
        sums, kept, index = Wide.array_on_stack(2), Sums.array_on_stack(2), 0
        sums[0], sums[1] = Wide.zero(), Wide.zero()
        while index < count - (several * width - 1):
            add_several(src0, src1, index, all_lanes(width), sums)
            index += several * width
        while index < count - (width - 1):
            add_single(src0, src1, index, all_lanes(width), sums)
            index += width
        if index < count:
            add_single(src0, src1, index, lanes_below(count - index, width), sums)
        if double:
            kept[0], kept[1] = sums[0], sums[1]
        else:
            kept[0] = lower_half(sums[0]) + upper_half(sums[0])
        keep(record, True, kept)

    return sum_of_products


@cache
def row_mapper(function: Any, sources: tuple[DataType, ...], dst_type: DataType, several: int = 4) -> Any:
    """Return a function map(src0, src1, dst, count, streams, numbers) that writes a function's results of elements.

    function: compiled code (x, y, numbers) of a vector of each source, and an array of vectors of which each has one
        number in all lanes. If there is one source, y is x.
    several: the vectors that a turn of the loop writes.

    The last vector of a row is read before any is written, and may overlap the one before it: dst may be a source. If
    `streams`, vectors that are parts of whole cache lines are written with non-temporal stores.
    """
    (width, Row, Stored), itemsize = _vectors(dst_type), dst_type.itemsize
    First, Second = vector(sources[0], width), vector(sources[-1], width)
    has_two, vector_bytes = len(sources) == 2, width * itemsize

    @inlined
    def result(src0: int, src1: int, index: int, used: Mask, numbers: Vector) -> Vector:
        x = convert(Row, load(First, src0, index, used))
        y = convert(Row, load(Second, src1, index, used)) if has_two else x
        return convert(Stored, function(x, y, numbers))

    @inlined
    def map_row(src0: int, src1: int, dst: int, count: int, streams: bool, numbers: Vector) -> None:
        if streams:
            index = min((-dst & (vector_bytes - 1)) // itemsize, count)
            if index > 0:
                used = lanes_below(index, width)
                store(dst, 0, result(src0, src1, 0, used, numbers), used)
            while index < count - (width - 1):
                store_nontemporal(dst, index, result(src0, src1, index, all_lanes(width), numbers))
                index += width
            if index < count:
                used = lanes_below(count - index, width)
                store(dst, index, result(src0, src1, index, used, numbers), used)
        elif count >= width:
            last, begin = count - width, 0
            x = convert(Row, load(First, src0, last))
            y = convert(Row, load(Second, src1, last)) if has_two else x
            while begin < count - (several * width - 1):
                for k in unrolled(range(several)):
                    written = result(src0, src1, begin + k * width, all_lanes(width), numbers)
                    store(dst, begin + k * width, written)
                begin += several * width
            while begin < count - (width - 1):
                store(dst, begin, result(src0, src1, begin, all_lanes(width), numbers))
                begin += width
            if begin < count:
                store(dst, last, convert(Stored, function(x, y, numbers)))
        else:
            used = lanes_below(count, width)
            store(dst, 0, result(src0, src1, 0, used, numbers), used)

    return map_row
