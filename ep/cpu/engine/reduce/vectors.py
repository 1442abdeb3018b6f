"""What folds elements into lanes, as LLVM's vectors: along a row, and across rows.

LLVM keeps the order of floating-point sums, and so vectorises no loop that adds up. Here the order is that of lanes: it
follows from the number of elements alone, and not from where they lie. Vectors are longer than any register: LLVM takes
as many registers as they need.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, Final, NamedTuple

from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic

from ep.cpu.compile.conversion import widened
from ep.include.data_type import DataType
from ep.include.number_kind import FLOATS
from ep.include.primitive.reduce_op import ReduceOp

_WORD: Final = ir.IntType(64)
_FLOAT, _DOUBLE = ir.FloatType(), ir.DoubleType()
VECTOR_BYTES: Final = 64
_VECTORS: Final = 4  # that are folded at a time: sums wait for those before them
_PARTS: Final = {DataType.kComplex64: DataType.kFloat, DataType.kComplex128: DataType.kDouble}
_TRUTHS: Final = {ReduceOp.kAny: "or_", ReduceOp.kAll: "and_"}
_SUMS: Final = (ReduceOp.kSum, ReduceOp.kMean)


class Lanes(NamedTuple):
    """How elements of a data type are folded by an op.

    op: kSum for a mean.
    stored: the type of the numbers in memory, parts of a complex one.
    value: the type of what is carried along, of which an element has `parts`.
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
    def size(self) -> int:
        """Bytes of a value."""
        return {_FLOAT: 4, _DOUBLE: 8}.get(self.value) or self.value.width // 8

    @property
    def numba_type(self) -> Any:
        """Numba's type of a value."""
        if self.is_real:
            return types.float64 if self.value == _DOUBLE else types.float32
        signed = self.stored.dtype.kind == "i" and self.op not in _TRUTHS
        return getattr(types, f"{'' if signed else 'u'}int{self.value.width}")

    def vector(self, count: int) -> Any:
        """The type of so many values."""
        return ir.VectorType(self.value, count)


@cache
def lanes(op: ReduceOp, data_type: DataType) -> Lanes:
    """How elements of `data_type` are folded: sums and products of floating types in float64, all else as it is."""
    stored = _PARTS.get(data_type, data_type)
    op = ReduceOp.kSum if op is ReduceOp.kMean else op
    parts, bits = 2 if data_type in _PARTS else 1, ir.IntType(8 * stored.itemsize)
    if op in _TRUTHS:
        return Lanes(op, stored, bits, 1, parts == 2)
    if stored not in FLOATS:
        return Lanes(op, stored, bits, 1, False)
    return Lanes(
        op, stored, _DOUBLE if stored is DataType.kDouble or op in (*_SUMS, ReduceOp.kProd) else _FLOAT, parts, False
    )


def lanes_in_order(data_type: DataType) -> Lanes:
    """How numbers are added one after the other: in their own type, 16-bit floating types in float32."""
    real = _DOUBLE if data_type is DataType.kDouble else _FLOAT
    value = real if data_type in FLOATS else ir.IntType(8 * data_type.itemsize)
    return Lanes(ReduceOp.kSum, data_type, value, 1, False)


def _constant(kind: Any, number: Any) -> Any:
    return ir.Constant(kind, [number] * kind.count if isinstance(kind, ir.VectorType) else number)


def _identity(of: Lanes, kind: Any) -> Any:
    """What changes no value, of a type of values or of a vector of them."""
    real = of.is_real
    if of.op in (ReduceOp.kMin, ReduceOp.kMax):
        lowest = of.op is ReduceOp.kMax
        if real:
            return _constant(kind, float("-inf") if lowest else float("inf"))
        width, signed = of.value.width, of.stored.dtype.kind == "i"
        low, high = (-(2 ** (width - 1)), 2 ** (width - 1) - 1) if signed else (0, 2**width - 1)
        return _constant(kind, low if lowest else high)
    if of.op is ReduceOp.kProd and of.parts == 2:
        return ir.Constant(kind, [part for _ in range(0, kind.count, 2) for part in (1.0, 0.0)])
    one = {ReduceOp.kProd: 1.0 if real else 1, ReduceOp.kAll: -1}
    return _constant(kind, one.get(of.op, 0.0 if real else 0))


def _combined(builder: Any, of: Lanes, a: Any, b: Any) -> Any:
    real = of.is_real
    if of.op in _TRUTHS:
        return getattr(builder, _TRUTHS[of.op])(a, b)
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
    """Of vectors of real and imaginary parts in turns."""
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
    """`count` values from value `index` on, of what lies at `address`; a scale of None multiplies nothing."""
    bits = ir.IntType(8 * of.stored.itemsize)
    numbers = count * (2 if of.pairs else 1)
    vector = ir.VectorType(bits, numbers)
    first = builder.mul(index, _WORD(2)) if of.pairs else index
    place = builder.gep(builder.inttoptr(address, bits.as_pointer()), [first])
    read = widened(builder, builder.load(builder.bitcast(place, vector.as_pointer()), align=1), of.stored)
    if of.op in _TRUTHS:
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
    if of.value == _DOUBLE and of.stored is not DataType.kDouble:
        read = builder.fpext(read, of.vector(count))
    return read if scale is None else builder.fmul(read, _splat(builder, scale, count))


def _splat(builder: Any, value: Any, count: int) -> Any:
    kind = ir.VectorType(value.type, count)
    one = builder.insert_element(ir.Constant(kind, ir.Undefined), value, ir.IntType(32)(0))
    return builder.shuffle_vector(one, one, ir.Constant(ir.VectorType(ir.IntType(32), count), [0] * count))


def fold_loop(builder: Any, begin: Any, end: Any, step: int, carried: Any, body: Callable[[Any, Any], Any]) -> Any:
    """Carry a value along, or a tuple, or None: `body(index, value)` gives the next one, for begin <= index < end."""
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
    """`do(width)` with the largest width that does not exceed `count`, else with the last."""
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
    """Of vectors, in values: for many, for some, for few, and `least`."""
    one = VECTOR_BYTES // of.size
    return (*(width for width in (_VECTORS * one, one, one // 4) if width > least), least)


def _place(builder: Any, of: Lanes, address: Any, index: Any, count: int) -> Any:
    """Where `count` values are kept, from value `index` on."""
    first = builder.gep(builder.inttoptr(address, of.value.as_pointer()), [index])
    return builder.bitcast(first, of.vector(count).as_pointer())


def _folded(builder: Any, of: Lanes, value: Any) -> Any:
    """A vector folded, the upper half with the lower one, until the parts of one value are left."""
    while value.type.count > of.parts:
        value = _combined(builder, of, *_halves(builder, value))
    return value


def _halves(builder: Any, value: Any) -> list[Any]:
    half = value.type.count // 2
    kind = ir.VectorType(ir.IntType(32), half)
    return [
        builder.shuffle_vector(value, value, ir.Constant(kind, list(range(first, first + half)))) for first in (0, half)
    ]


def _rest(builder: Any, of: Lanes, width: int, address: Any, total: Any, scale: Any) -> Any:
    """The last of `total` values, behind whole vectors, as a vector: what is there twice counts once."""
    last = read_values(builder, of, address, builder.sub(total, _WORD(width)), width, scale)
    if of.op in (ReduceOp.kSum, ReduceOp.kProd):
        bits32 = ir.IntType(32)
        twice = builder.sub(_WORD(width), builder.and_(total, _WORD(width - 1)))
        bound = _splat(builder, builder.trunc(twice, bits32), width)
        is_new = builder.icmp_signed(">=", ir.Constant(bound.type, list(range(width))), bound)
        last = builder.select(is_new, last, _identity(of, last.type))
    return last


def _two_sum(builder: Any, a: Any, b: Any) -> tuple[Any, Any]:
    """Knuth's two-sum: a + b rounded, and what that loses."""
    total = builder.fadd(a, b)
    part = builder.fsub(total, a)
    return total, builder.fadd(builder.fsub(a, builder.fsub(total, part)), builder.fsub(b, part))


@cache
def row_folder(of: Lanes, scaled: bool = False) -> Any:
    """A function fold(out, address, count, scale): writes the value of `count` >= 1 adjacent elements to `out`.

    scaled: whether each is multiplied by `scale` first; of float64 alone.
    """

    @intrinsic
    def fold_row(typing_context: Any, out: Any, address: Any, count: Any, scale: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            out, address, count, scale = args
            scale, total = scale if scaled else None, builder.mul(count, _WORD(of.parts))

            def do(width: int) -> None:
                def more(index: Any, value: Any) -> Any:
                    return _combined(builder, of, value, read_values(builder, of, address, index, width, scale))

                whole = builder.and_(total, _WORD(-width))
                first = read_values(builder, of, address, _WORD(0), width, scale)
                value = fold_loop(builder, _WORD(width), whole, width, first, more)
                if width > of.parts:
                    before, rest = builder.block, builder.append_basic_block("rest")
                    done = builder.append_basic_block("done")
                    builder.cbranch(builder.icmp_signed("<", whole, total), rest, done)
                    builder.position_at_end(rest)
                    with_rest = _combined(builder, of, value, _rest(builder, of, width, address, total, scale))
                    last = builder.block
                    builder.branch(done)
                    builder.position_at_end(done)
                    merged = builder.phi(value.type)
                    merged.add_incoming(value, before)
                    merged.add_incoming(with_rest, last)
                    value = merged
                builder.store(_folded(builder, of, value), _place(builder, of, out, _WORD(0), of.parts), align=1)

            by_width(builder, widths_of(of, of.parts), total, do)
            return context.get_dummy_value()

        return types.void(*[types.int64] * 3, types.float64), generate

    return fold_row


@cache
def column_folder(of: Lanes, scaled: bool = False) -> Any:
    """A function fold(out, address, stride, num_rows, count, scale): writes a value for each of `count` columns.

    stride: bytes from a row to the next. num_rows, count: at least 1. scale: as above.
    """

    @intrinsic
    def fold_columns(
        typing_context: Any, out: Any, address: Any, stride: Any, num_rows: Any, count: Any, scale: Any
    ) -> Any:
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            out, address, stride, num_rows, count, scale = args
            scale, total = scale if scaled else None, builder.mul(count, _WORD(of.parts))

            def do(width: int) -> None:
                def columns(index: Any, _: Any) -> None:
                    def more(row: Any, value: Any) -> Any:
                        place = builder.add(address, builder.mul(row, stride))
                        return _combined(builder, of, value, read_values(builder, of, place, index, width, scale))

                    first = read_values(builder, of, address, index, width, scale)
                    value = fold_loop(builder, _WORD(1), num_rows, 1, first, more)
                    builder.store(value, _place(builder, of, out, index, width), align=1)

                whole = builder.and_(total, _WORD(-width))
                fold_loop(builder, _WORD(0), whole, width, None, columns)
                if width > of.parts:
                    with builder.if_then(builder.icmp_signed("<", whole, total)):
                        columns(builder.sub(total, _WORD(width)), None)

            by_width(builder, widths_of(of, of.parts), total, do)
            return context.get_dummy_value()

        return types.void(*[types.int64] * 5, types.float64), generate

    return fold_columns


@cache
def merger(of: Lanes) -> Any:
    """A function merge(total, error, more, more_error, count): folds `count` values at `more` into those at `total`.

    error, more_error: of sums of floating types what rounding has lost, beside each value.
    """
    compensated = of.op is ReduceOp.kSum and of.is_real

    @intrinsic
    def merge(typing_context: Any, total: Any, error: Any, more: Any, more_error: Any, count: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            *addresses, count = args

            def values(begin: Any, end: Any, width: int) -> None:
                def one(index: Any, _: Any) -> None:
                    places = [_place(builder, of, address, index, width) for address in addresses]
                    a, b = (builder.load(places[place], align=1) for place in (0, 2))
                    result = _combined(builder, of, a, b)
                    builder.store(result, places[0], align=1)
                    if compensated:
                        _, lost = _two_sum(builder, a, b)
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
    """A function load(address, index): a value that the others have written."""

    @intrinsic
    def load_value(typing_context: Any, address: Any, index: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            address, index = args
            return builder.load(builder.gep(builder.inttoptr(address, of.value.as_pointer()), [index]), align=1)

        return of.numba_type(types.int64, types.int64), generate

    return load_value
