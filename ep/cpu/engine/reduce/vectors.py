"""Lanes, as LLVM vectors, that elements are folded into: along a row, and across rows.

LLVM keeps the order of floating-point sums, so it vectorises no loop that adds up. Here the order is that of lanes: it
depends on the number of elements only, not on their addresses. Vectors are longer than any register: LLVM uses as many
registers as they need.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, Final, NamedTuple

from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic

from ep.cpu.compile.conversion import widened
from ep.cpu.compile.vectors import halves, pointer_to, splat
from ep.cpu.engine.reduce.values import is_compensated, num_parts, value_type
from ep.include.data_type import DataType
from ep.include.number_kind import COMPLEXES, FLOATS, part_of
from ep.include.primitive.reduce_op import EXTREMES, SUMS, TRUTHS, ReduceOp

_WORD: Final = ir.IntType(64)
_FLOAT, _DOUBLE = ir.FloatType(), ir.DoubleType()
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
        return self.value in (_FLOAT, _DOUBLE)

    @property
    def widens(self) -> bool:
        """Whether numbers that are narrower in memory are carried in float64."""
        return self.value == _DOUBLE and self.stored is not DataType.kDouble

    @property
    def chained(self) -> bool:
        """Whether a few numbers are added in float32 before they are carried in float64: in sums of 16-bit types."""
        return self.widens and self.op is ReduceOp.kSum and self.stored.itemsize == 2

    @property
    def compensated(self) -> bool:
        """Whether values have their rounding errors beside them."""
        return is_compensated(self.op, self.stored)

    @property
    def size(self) -> int:
        """The bytes of a value."""
        return {_FLOAT: 4, _DOUBLE: 8}.get(self.value) or self.value.width // 8

    @property
    def numba_type(self) -> Any:
        """The Numba type of a value."""
        if self.is_real:
            return types.float64 if self.value == _DOUBLE else types.float32
        signed = self.stored.dtype.kind == "i" and self.op not in TRUTHS
        return getattr(types, f"{'' if signed else 'u'}int{self.value.width}")

    def vector(self, count: int) -> Any:
        """Return the type of a vector of `count` values."""
        return ir.VectorType(self.value, count)


@cache
def lanes(op: ReduceOp, data_type: DataType) -> Lanes:
    """Return the way that `op` folds elements of `data_type`."""
    stored, value = part_of(data_type), value_type(op, data_type)
    real = {DataType.kDouble: _DOUBLE, DataType.kFloat: _FLOAT}
    kind = ir.IntType(8 * value.itemsize) if op in TRUTHS else real.get(value) or ir.IntType(8 * value.itemsize)
    pairs = op in TRUTHS and data_type in COMPLEXES
    return Lanes(ReduceOp.kSum if op in SUMS else op, stored, kind, num_parts(op, data_type), pairs)


def lanes_in_order(data_type: DataType) -> Lanes:
    """Return the way that numbers are added in sequence: in their own type, but 16-bit floating types in float32."""
    real = _DOUBLE if data_type is DataType.kDouble else _FLOAT
    value = real if data_type in FLOATS else ir.IntType(8 * data_type.itemsize)
    return Lanes(ReduceOp.kSum, data_type, value, 1, False)


def _constant(kind: Any, number: Any) -> Any:
    return ir.Constant(kind, [number] * kind.count if isinstance(kind, ir.VectorType) else number)


def identity(of: Lanes, kind: Any) -> Any:
    """Return the neutral element of a value type, or of a vector of them."""
    real = of.is_real
    if of.op in EXTREMES:
        lowest = of.op is ReduceOp.kMax
        if real:
            return _constant(kind, float("-inf") if lowest else float("inf"))
        width, signed = of.value.width, of.stored.dtype.kind == "i"
        low, high = (-(2 ** (width - 1)), 2 ** (width - 1) - 1) if signed else (0, 2**width - 1)
        return _constant(kind, low if lowest else high)
    if of.op is ReduceOp.kProd and of.parts == 2:
        return ir.Constant(kind, [part for _ in range(0, kind.count, 2) for part in (1.0, 0.0)])
    one = {ReduceOp.kProd: 1.0 if real else 1, ReduceOp.kAll: -1}
    return _constant(kind, one.get(of.op, -0.0 if real else 0))


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
    pairs = range(0, a.type.count, 2)
    kind = ir.VectorType(ir.IntType(32), a.type.count)

    def shuffled(value: Any, first: int, second: int) -> Any:
        return builder.shuffle_vector(
            value, value, ir.Constant(kind, [k + part for k in pairs for part in (first, second)])
        )

    signs = ir.Constant(a.type, [sign for _ in pairs for sign in (-1.0, 1.0)])
    crossed = builder.fmul(builder.fmul(shuffled(a, 1, 1), shuffled(b, 1, 0)), signs)
    return builder.fadd(builder.fmul(shuffled(a, 0, 0), b), crossed)


def read_values(builder: Any, of: Lanes, address: Any, index: Any, count: int, scale: Any) -> Any:
    """Return `count` values from value `index` on, read at `address`; multiply by `scale` unless it is None."""
    bits = ir.IntType(8 * of.stored.itemsize)
    numbers = count * (2 if of.pairs else 1)
    vector = ir.VectorType(bits, numbers)
    first = builder.mul(index, _WORD(2)) if of.pairs else index
    read = widened(builder, builder.load(pointer_to(builder, address, first, vector), align=1), of.stored)
    if of.op in TRUTHS:
        zero = _constant(read.type, 0.0 if of.stored in FLOATS else 0)
        true = (
            builder.fcmp_unordered("!=", read, zero) if of.stored in FLOATS else builder.icmp_unsigned("!=", read, zero)
        )
        if of.pairs:
            kind = ir.VectorType(ir.IntType(32), count)
            even, odd = (
                builder.shuffle_vector(true, true, ir.Constant(kind, [2 * lane + part for lane in range(count)]))
                for part in (0, 1)
            )
            true = builder.or_(even, odd)
        return builder.sext(true, of.vector(count))
    if of.widens:
        read = builder.fpext(read, of.vector(count))
    return read if scale is None else builder.fmul(read, splat(builder, scale, count))


def fold_loop(builder: Any, begin: Any, end: Any, step: int, carried: Any, body: Callable[[Any, Any], Any]) -> Any:
    """Carry a value, a tuple, or None: `body(index, value)` returns the next one, for begin <= index < end."""
    several = isinstance(carried, tuple)
    initial = carried if several else () if carried is None else (carried,)
    before = builder.block
    head, inside, done = (builder.append_basic_block(name) for name in ("head", "fold", "folded"))
    builder.branch(head)
    builder.position_at_end(head)
    index, values = builder.phi(_WORD), tuple(builder.phi(value.type) for value in initial)
    builder.cbranch(builder.icmp_signed("<", index, end), inside, done)
    builder.position_at_end(inside)
    following = body(index, values if several else values[0] if values else None)
    following = following if several else (following,)
    index.add_incoming(begin, before)
    index.add_incoming(builder.add(index, _WORD(step)), builder.block)
    for value, first, again in zip(values, initial, following, strict=False):
        value.add_incoming(first, before)
        value.add_incoming(again, builder.block)
    builder.branch(head)
    builder.position_at_end(done)
    return values if several else values[0] if values else None


def by_width(builder: Any, widths: tuple[int, ...], count: Any, do: Callable[[int], None]) -> None:
    """Call `do(width)` with the largest width that does not exceed `count`, or with the last if there is none."""
    width, *others = widths
    if not others:
        do(width)
        return
    with builder.if_else(builder.icmp_signed(">=", count, _WORD(width))) as (then, otherwise):
        with then:
            do(width)
        with otherwise:
            by_width(builder, tuple(others), count, do)


def widths_of(of: Lanes, least: int) -> tuple[int, ...]:
    """Return the widths of vectors, in values: for many values, for some, for few, and `least`."""
    one = VECTOR_BYTES // of.size
    return (*(width for width in (_VECTORS * one, one, one // 4) if width > least), least)


def place_of(builder: Any, of: Lanes, address: Any, index: Any, count: int) -> Any:
    """Return a pointer to `count` carried values, from value `index` on."""
    return pointer_to(builder, address, index, of.vector(count))


def joined(builder: Any, vectors: tuple[Any, ...]) -> Any:
    """Concatenate vectors, a power of two of them, into one."""
    while len(vectors) > 1:
        count = 2 * vectors[0].type.count
        places = ir.Constant(ir.VectorType(ir.IntType(32), count), list(range(count)))
        vectors = tuple(builder.shuffle_vector(a, b, places) for a, b in zip(vectors[::2], vectors[1::2], strict=True))
    return vectors[0]


def folded(builder: Any, of: Lanes, value: Any, lanes: int) -> Any:
    """Fold a vector, the upper half into the lower one, until `lanes` lanes are left."""
    while value.type.count > lanes:
        value = combined(builder, of, *halves(builder, value))
    return value


def lanes_behind(builder: Any, width: int, total: Any) -> Any:
    """Return the mask of the lanes, among the last `width` of `total` values, that come after the whole vectors."""
    bits32 = ir.IntType(32)
    twice = builder.sub(_WORD(width), builder.and_(total, _WORD(width - 1)))
    bound = splat(builder, builder.trunc(twice, bits32), width)
    return builder.icmp_signed(">=", ir.Constant(bound.type, list(range(width))), bound)


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

    @intrinsic
    def merge(typing_context: Any, total: Any, error: Any, more: Any, more_error: Any, count: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            *addresses, count = args

            def values(begin: Any, end: Any, width: int) -> None:
                def one(index: Any, _: Any) -> None:
                    places = [place_of(builder, of, address, index, width) for address in addresses]
                    a, b = (builder.load(places[place], align=1) for place in (0, 2))
                    result = combined(builder, of, a, b)
                    builder.store(result, places[0], align=1)
                    if of.compensated:
                        _, lost = two_sum(builder, a, b)
                        errors = [builder.load(places[place], align=1) for place in (1, 3)]
                        builder.store(builder.fadd(builder.fadd(*errors), lost), places[1], align=1)

                fold_loop(builder, begin, end, width, None, one)

            width = VECTOR_BYTES // of.size
            whole = builder.and_(count, _WORD(-width))
            values(_WORD(0), whole, width)
            values(whole, count, of.parts)
            return context.get_dummy_value()

        return types.void(*[types.int64] * 5), generate

    return merge


@cache
def value_loader(of: Lanes) -> Any:
    """Return a function load(address, index) that returns a value written by the other functions."""

    @intrinsic
    def load_value(typing_context: Any, address: Any, index: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            address, index = args
            return builder.load(builder.gep(builder.inttoptr(address, of.value.as_pointer()), [index]), align=1)

        return of.numba_type(types.int64, types.int64), generate

    return load_value
