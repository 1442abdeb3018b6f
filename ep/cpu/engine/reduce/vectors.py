"""Lanes, as LLVM vectors, that elements are folded into: along a row, and across rows.

LLVM keeps the order of floating-point sums, so it vectorises no loop that adds up. Here the order is that of lanes: it
depends on the number of elements only, not on their addresses. Vectors are longer than any register: LLVM uses as many
registers as they need.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, Final, NamedTuple

from llvmlite import ir

from ep.common.native.emitted import emitted
from ep.common.stored_types import carried_as
from ep.cpu.compile.conversion import widened
from ep.cpu.compile.vectors import (
    DOUBLE,
    FLOAT,
    INT,
    REALS,
    WORD,
    constant,
    counted_at_head,
    halves,
    joined,
    lanes_from,
    load,
    splat,
    store,
    stored_bits,
    taken,
)
from ep.cpu.engine.reduce.values import is_compensated, num_parts
from ep.include.data_type import DataType
from ep.include.number_kind import COMPLEXES, FLOATS, part_of
from ep.include.primitive.reduce_op import EXTREMES, SUMS, TRUTHS, ReduceOp

VECTOR_BYTES: Final = 64
_VECTORS: Final = 4  # vectors that are folded at a time: a sum depends on the one before it


class Lanes(NamedTuple):
    """The way that an op folds elements of a data type.

    op: kSum for a mean.
    stored: the type of the numbers in memory; for complex types, of their parts.
    value: the type of the carried values, of which an element has `parts`.
    pairs: whether two stored numbers make one value.
    """

    op: ReduceOp
    stored: DataType
    value: Any
    parts: int
    pairs: bool

    @property
    def is_real(self) -> bool:
        """Whether values are floating-point numbers."""
        return self.value in (FLOAT, DOUBLE)

    @property
    def widens(self) -> bool:
        """Whether numbers that are narrower in memory are carried in float64."""
        return self.value == DOUBLE and self.stored is not DataType.kDouble

    @property
    def chained(self) -> bool:
        """Whether a few numbers are added in float32 before they are carried in float64: in sums of 16-bit types."""
        return self.widens and self.op is ReduceOp.kSum and self.stored.itemsize == 2

    @property
    def compensated(self) -> bool:
        """Whether the rounding errors of values are kept, too."""
        return is_compensated(self.op, self.stored)

    @property
    def size(self) -> int:
        """The bytes of a value."""
        return {FLOAT: 4, DOUBLE: 8}.get(self.value) or self.value.width // 8

    @property
    def numba_type(self) -> str:
        """The name of the Numba type of a value, which NumPy's type has, too."""
        if self.is_real:
            return "float64" if self.value == DOUBLE else "float32"
        signed = self.stored.dtype.kind == "i" and self.op not in TRUTHS
        return f"{'' if signed else 'u'}int{self.value.width}"

    def vector(self, count: int) -> Any:
        """Return the type of a vector of `count` values."""
        return ir.VectorType(self.value, count)


@cache
def lanes(op: ReduceOp, data_type: DataType) -> Lanes:
    """Return the way that `op` folds elements of `data_type`."""
    stored, value = part_of(data_type), carried_as(op, data_type)
    kind = stored_bits(value) if op in TRUTHS else REALS.get(value) or stored_bits(value)
    pairs = op in TRUTHS and data_type in COMPLEXES
    return Lanes(ReduceOp.kSum if op in SUMS else op, stored, kind, num_parts(op, data_type), pairs)


def identity(of: Lanes, kind: Any) -> Any:
    """Return the neutral element of a value type, or of a vector of them."""
    real = of.is_real
    if of.op in EXTREMES:
        lowest = of.op is ReduceOp.kMax
        if real:
            return constant(kind, float("-inf") if lowest else float("inf"))
        width, signed = of.value.width, of.stored.dtype.kind == "i"
        low, high = (-(2 ** (width - 1)), 2 ** (width - 1) - 1) if signed else (0, 2**width - 1)
        return constant(kind, low if lowest else high)
    if of.op is ReduceOp.kProd and of.parts == 2:
        return constant(kind, 1.0, 0.0)
    one = {ReduceOp.kProd: 1.0 if real else 1, ReduceOp.kAll: -1}
    return constant(kind, one.get(of.op, -0.0 if real else 0))


def combined(builder: Any, of: Lanes, a: Any, b: Any) -> Any:
    """Combine two values, or vectors of them; NaN propagates."""
    real = of.is_real
    if of.op in TRUTHS:
        return getattr(builder, "or_" if of.op is ReduceOp.kAny else "and_")(a, b)
    if of.op is ReduceOp.kSum:
        return (builder.fadd if real else builder.add)(a, b)
    if of.op is ReduceOp.kProd and of.parts == 2:
        return _complex_product(builder, a, b)
    if of.op is ReduceOp.kProd:
        return (builder.fmul if real else builder.mul)(a, b)
    sign = ">" if of.op is ReduceOp.kMax else "<"
    if real:
        kept = builder.or_(builder.fcmp_ordered(sign, b, a), builder.fcmp_unordered("uno", b, b))
    else:
        kept = (builder.icmp_signed if of.stored.dtype.kind == "i" else builder.icmp_unsigned)(sign, b, a)
    return builder.select(kept, b, a)


def _complex_product(builder: Any, a: Any, b: Any) -> Any:
    """Return the product of two vectors of alternating real and imaginary parts."""

    def shuffled(value: Any, *parts: int) -> Any:
        return taken(builder, [first + part for first in range(0, a.type.count, 2) for part in parts], value)

    crossed = builder.fmul(builder.fmul(shuffled(a, 1, 1), shuffled(b, 1, 0)), constant(a.type, -1.0, 1.0))
    return builder.fadd(builder.fmul(shuffled(a, 0, 0), b), crossed)


def read_values(builder: Any, of: Lanes, address: Any, index: Any, count: int, scale: Any) -> Any:
    """Return `count` values from value `index` on, read at `address`; multiply by `scale` unless it is None."""
    per_value = 2 if of.pairs else 1
    first = builder.mul(index, WORD(2)) if of.pairs else index
    read = widened(builder, load(builder, address, stored_bits(of.stored, per_value * count), first), of.stored)
    if of.op in TRUTHS:
        zero = constant(read.type, 0.0 if of.stored in FLOATS else 0)
        true = (
            builder.fcmp_unordered("!=", read, zero) if of.stored in FLOATS else builder.icmp_unsigned("!=", read, zero)
        )
        if of.pairs:
            true = builder.or_(*(taken(builder, range(part, 2 * count, 2), true) for part in (0, 1)))
        return builder.sext(true, of.vector(count))
    if of.widens:
        read = builder.fpext(read, of.vector(count))
    return read if scale is None else builder.fmul(read, splat(builder, scale, count))


def by_width(builder: Any, widths: tuple[int, ...], count: Any, do: Callable[[int], None]) -> None:
    """Call `do(width)` with the largest width that does not exceed `count`, or with the last if there is none."""
    width, *others = widths
    if not others:
        do(width)
        return
    with builder.if_else(builder.icmp_signed(">=", count, WORD(width))) as (then, otherwise):
        with then:
            do(width)
        with otherwise:
            by_width(builder, tuple(others), count, do)


def widths_of(of: Lanes, least: int) -> tuple[int, ...]:
    """Return the widths of vectors, in values: for many values, for some, for few, and `least`."""
    one = VECTOR_BYTES // of.size
    return (*(width for width in (_VECTORS * one, one, one // 4) if width > least), least)


def folded(builder: Any, of: Lanes, values: Sequence[Any], lanes: int) -> Any:
    """Fold the upper half of all lanes into the lower one, until one vector of `lanes` lanes is left."""
    while len(values) > 1 and len(values) * values[0].type.count > lanes:
        half = len(values) // 2
        values = [combined(builder, of, a, b) for a, b in zip(values[:half], values[half:], strict=True)]
    value = joined(builder, values)
    while value.type.count > lanes:
        value = combined(builder, of, *halves(builder, value))
    return value


def lanes_behind(builder: Any, width: int, total: Any, first: int = 0, count: int | None = None) -> Any:
    """Return the mask of the lanes, among the last `width` of `total` values, that come after the whole vectors.

    first, count: the lanes for which the mask is wanted, by default all.
    """
    twice = builder.sub(WORD(width - first), builder.and_(total, WORD(width - 1)))
    return lanes_from(builder, builder.trunc(twice, INT), width if count is None else count)


def two_sum(builder: Any, a: Any, b: Any) -> tuple[Any, Any]:
    """Return the rounded sum a + b and its rounding error (Knuth's two-sum)."""
    total = builder.fadd(a, b)
    part = builder.fsub(total, a)
    return total, builder.fadd(builder.fsub(a, builder.fsub(total, part)), builder.fsub(b, part))


@cache
def merger(of: Lanes) -> Any:
    """Return a function merge(total, error, more, more_error, count) of `count` values at `more` into those at `total`.

    error, more_error: for sums of floating types, the rounding error of each value.
    """

    @emitted()
    def merge(builder: Any, total: Any, error: Any, more: Any, more_error: Any, count: Any) -> None:
        def values(begin: Any, end: Any, width: int) -> None:
            def one(index: Any, _: Any) -> None:
                def read(address: Any) -> Any:
                    return load(builder, address, of.vector(width), index)

                a, b = read(total), read(more)
                store(builder, combined(builder, of, a, b), total, index)
                if of.compensated:
                    _, lost = two_sum(builder, a, b)
                    errors = builder.fadd(read(error), read(more_error))
                    store(builder, builder.fadd(errors, lost), error, index)

            counted_at_head(builder, begin, end, width, [], one)

        width = VECTOR_BYTES // of.size
        whole = builder.and_(count, WORD(-width))
        values(WORD(0), whole, width)
        values(whole, count, of.parts)

    return merge


@cache
def value_loader(of: Lanes) -> Any:
    """Return a function load(address, index) that returns a value written by the other functions."""

    @emitted(of.numba_type)
    def load_value(builder: Any, address: Any, index: Any) -> Any:
        return load(builder, address, of.value, index)

    return load_value
