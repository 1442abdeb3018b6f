"""The passes over a row, vector by vector: those that fold it, and the one that maps it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, Final

import numpy as np
from llvmlite import ir

from ep.common.native.emitted import emitted, numba_type
from ep.common.native.on_demand import types
from ep.cpu.compile.conversion import HALVES
from ep.cpu.compile.packed import Before, Packed
from ep.cpu.compile.vectors import BIT, DOUBLE, WORD, constant, least
from ep.cpu.engine.reduce.lane_sums import keep_sums
from ep.cpu.engine.reduce.vectors import two_sum
from ep.cpu.lines.ahead import AHEAD_BLOCK, fetch_ahead
from ep.cpu.vector_math.sets import packed_exponential
from ep.include.data_type import DataType

_REAL = {False: "float32", True: "float64"}
_TWO: Final = 2
_FOUR: Final = 4


def arithmetic(data_type: DataType) -> DataType:
    """Return the data type that elements are computed in."""
    return DataType.kFloat if data_type in HALVES else data_type


def _fetching(v: Packed, ahead: Any, at: Any) -> Before:
    """Return the prefetches before the parts of a row, which an `AheadContext` at address `ahead` asks for; 0 for none.

    at: the number of the row's first element in the task. There are none for rows of less than `AHEAD_BLOCK` elements.
    """

    def fetch(begin: Any, end: Any) -> None:
        builder = v.builder
        with builder.if_then(builder.icmp_unsigned("!=", ahead, WORD(0))):
            fetch_ahead.write(builder, ahead, builder.add(at, begin), builder.add(at, end))

    return AHEAD_BLOCK, fetch


@cache
def largest_of(data_type: DataType) -> Any:
    """Return a function largest(src, count): the largest element in the arithmetic type, NaN if any is; count >= 1."""

    @emitted(_REAL[data_type is DataType.kDouble])
    def largest(builder: Any, src: Any, count: Any) -> Any:
        v = Packed(builder, data_type)

        def larger(a: Any, b: Any) -> Any:
            return builder.select(builder.fcmp_ordered(">", a, b), a, b)

        def pair(index: Any, masks: Any, carried: list[Any]) -> list[Any]:
            *maxima, nan = carried
            xs = [v.load(src, i, mask, -np.inf) for i, mask in zip(index, masks, strict=True)]
            found = [builder.fcmp_unordered("uno", a, b) for a, b in zip(xs[::2], xs[-1::-2], strict=False)]
            for one in found[: (len(xs) + 1) // 2]:
                nan = builder.or_(nan, one)
            maxima = [larger(x, m) for x, m in zip(xs, maxima, strict=False)] + maxima[len(xs) :]
            return [*maxima, nan]

        unknown = constant(ir.VectorType(BIT, v.count), 0)
        *maxima, nan = v.row(count, [*[v.constant(-np.inf)] * _FOUR, unknown], pair, _FOUR)
        value = v.folded(larger(larger(maxima[0], maxima[1]), larger(maxima[2], maxima[3])), larger)
        lanes = builder.bitcast(nan, ir.IntType(v.count))
        return builder.select(builder.icmp_unsigned("!=", lanes, lanes.type(0)), constant(v.real, np.nan), value)

    return largest


class _Sum:
    """The carried sums of numbers up to 1.5 times 2^HEADROOM.

    exact: whether rounding errors are added up separately. The initial value is so large that the error of each
        addition is known exactly; the remaining error is far below the last bit.
    """

    def __init__(self, v: Packed, exact: bool) -> None:
        self.v, self.exact = v, exact
        self.begin = 2.0 ** (packed_exponential.HEADROOM + (16 if v.double else 8)) if exact else 0.0

    def initial(self) -> list[Any]:
        return [self.v.constant(self.begin), *[self.v.constant(0.0)] * self.exact]

    def added(self, carried: Sequence[Any], term: Any) -> list[Any]:
        builder = self.v.builder
        total = builder.fadd(carried[0], term)
        if not self.exact:
            return [total]
        lost = builder.fsub(term, builder.fsub(total, carried[0]))
        return [total, builder.fadd(carried[1], lost)]

    def record(self, carried: Sequence[Any]) -> list[Any]:
        """Return the vectors of a record (`lane_sums.py`)."""
        v = self.v
        total = v.builder.fsub(carried[0], v.constant(self.begin))
        if v.double:
            return [total, carried[1]]
        wide = ir.VectorType(DOUBLE, v.count)
        total = v.builder.fpext(total, wide)
        if self.exact:
            total = v.builder.fadd(total, v.builder.fpext(carried[1], wide))
        return [v.builder.fadd(*v.halves(total))]


@cache
def power_summer(data_type: DataType, keeps: bool, without_largest: bool) -> Any:
    """Return sum(src, out, count, padded, record, first, ahead, at, largest, c, shift, lowest) of a row's powers.

    The last four arguments are the numbers of the row. The function writes the sum of the powers of elements to the
    record, or adds it to the record if not `first`. It returns the number of elements equal to `largest`, and
    prefetches by `ahead` and `at` (`_fetching`) meanwhile.
    keeps: whether powers are written to out, in the arithmetic type; if `padded`, in whole vectors.
    without_largest: whether elements equal to `largest` are left out of the sum; otherwise they are not counted.
    """
    real = _REAL[data_type is DataType.kDouble]
    narrow = data_type in HALVES

    @emitted("int64", padded="boolean", first="boolean", largest=real, c=real, shift=real, lowest=real)
    def power_sum(
        builder: Any, src: Any, out: Any, count: Any, padded: Any, record: Any, first: Any,
        ahead: Any, at: Any, largest: Any, c: Any, shift: Any, lowest: Any,
    ) -> Any:  # fmt: skip
        v = Packed(builder, data_type)
        largest, *row = map(v.splat, (largest, c, shift, lowest))
        total = _Sum(v, exact=not narrow)

        def keep(e: Any, index: Any, mask: Any) -> None:
            if mask is None:
                v.store(e, out, index, None, arithmetic(data_type))
                return
            with builder.if_else(padded) as (then, otherwise):  # processors do not forward part of a stored vector
                with then:
                    v.store(e, out, index, None, arithmetic(data_type))
                with otherwise:
                    v.store(e, out, index, mask, arithmetic(data_type))

        def vectors(index: Any, masks: Any, carried: list[Any]) -> list[Any]:
            for i, mask in zip(index, masks, strict=True):
                x = v.load(src, i, mask, -np.inf)
                e = packed_exponential.power(v, x, row, narrow)
                if keeps:
                    keep(e, i, mask)
                *sums, equal = carried
                if without_largest:
                    is_largest = builder.fcmp_ordered("==", x, largest)
                    found = builder.ctpop(builder.bitcast(is_largest, ir.IntType(v.count)))
                    equal = builder.add(equal, builder.zext(found, WORD))
                    e = builder.select(is_largest, v.constant(0.0), e)
                carried = [*total.added(sums, e), equal]
            return carried

        initial = [*total.initial(), WORD(0)]
        *sums, equal = v.row(count, initial, vectors, _TWO, before=_fetching(v, ahead, at))
        keep_sums(builder, record, first, total.record(sums))
        return equal

    return power_sum


@cache
def product_summer(data_type: DataType, factors: int) -> Any:
    """Return a function sum(src0, src1, count, record) of the products of two elements, or of the elements of src1.

    It writes a record. Four vectors are added in float32, and these sums in float64. For float64 two vectors are added,
    and the rounding errors of adding these sums are kept.
    """

    @emitted()
    def sum_of(builder: Any, src0: Any, src1: Any, count: Any, record: Any) -> None:
        v, sources = Packed(builder, data_type), (src0, src1)[-factors:]
        zero = constant(ir.VectorType(DOUBLE, v.count), 0.0)

        def vectors(index: Any, masks: Any, carried: list[Any]) -> list[Any]:
            value = None
            for i, mask in zip(index, masks, strict=True):
                *factor, x = [v.load(src, i, mask) for src in sources]
                if value is None:
                    value = builder.fmul(factor[0], x) if factor else x
                else:
                    value = v.fma(factor[0], x, value) if factor else builder.fadd(value, x)
            if not v.double:
                return [builder.fadd(carried[0], builder.fpext(value, zero.type))]
            total, lost = two_sum(builder, carried[0], value)
            return [total, builder.fadd(carried[1], lost)]

        sums = v.row(count, [zero] * (1 + v.double), vectors, _TWO if v.double else _FOUR)
        keep_sums(builder, record, BIT(1), sums if v.double else [builder.fadd(*v.halves(sums[0]))])

    return sum_of


Functor = Callable[..., Any]
"""`functor(v, loaded vectors, splat numbers)` returns a vector of results."""


@cache
def row_mapper(functor: Functor, sources: tuple[DataType, ...], dst_type: DataType, numbers: int) -> Any:
    """Return a function map(src0, src1, dst, count, streams, numbers) that writes the results of `functor` on elements.

    The last vector of a row is read before any is written, and may overlap the one before it: dst may be a source. If
    `streams`, vectors that are parts of whole cache lines are written with non-temporal stores.
    """
    real = _REAL[dst_type is DataType.kDouble]

    @emitted(streams="boolean", row=lambda: types.UniTuple(numba_type(real), numbers))
    def map_row(builder: Any, src0: Any, src1: Any, dst: Any, count: Any, streams: Any, row: Any) -> None:
        v = Packed(builder, dst_type)
        splats = [v.splat(builder.extract_value(row, place)) for place in range(numbers)]

        def read(index: Any, mask: Any = None) -> list[Any]:
            return [v.load(a, index, mask, stored=each) for a, each in zip((src0, src1), sources, strict=False)]

        def write(read: list[Any], index: Any, mask: Any = None, past_caches: bool = False) -> None:
            v.store(functor(v, read, splats), dst, index, mask, past_caches=past_caches)

        def through(index: Any, masks: Any, carried: list[Any]) -> list[Any]:
            for i in index:
                write(read(i), i)
            return []

        def past(index: Any, masks: Any, carried: list[Any]) -> list[Any]:
            for i, mask in zip(index, masks, strict=True):
                write(read(i, mask), i, mask, past_caches=mask is None)
            return []

        with builder.if_else(streams) as (then, otherwise):
            with then:
                to_line = builder.and_(builder.neg(dst), WORD(v.count * dst_type.itemsize - 1))
                before = least(builder, builder.udiv(to_line, WORD(dst_type.itemsize)), count)
                with builder.if_then(builder.icmp_signed(">", before, WORD(0))):
                    past([WORD(0)], [v.lanes_below(before)], [])
                v.row(count, [], past, begin=before)
            with otherwise, builder.if_else(builder.icmp_signed(">=", count, WORD(v.count))) as (long, short):
                with long:
                    place = builder.sub(count, WORD(v.count))
                    last = read(place)
                    end, _ = v.whole(WORD(0), count, [], through, _TWO)
                    with builder.if_then(builder.icmp_signed("<", end, count)):
                        write(last, place)
                with short:
                    mask = v.lanes_below(count)
                    write(read(WORD(0), mask), WORD(0), mask)

    return map_row
