"""Vectors: values of compiled code that have several numbers of one data type, in lanes.

    Row = vector(DataType.kFloat, 16)

    @jit
    def add_scaled(x, scale, y, count):
        for index in range(0, count & -Row.lanes, Row.lanes):
            store(y, index, fma(load(Row, x, index), scale, load(Row, y, index)))

A vector may be longer than a register: LLVM uses as many registers as it needs. Operators compute on each lane, and
comparisons return masks, whose lanes are booleans. A number beside a vector stands for a vector of copies of it.
Integers wrap. Elements of 16-bit floating types and bools are the bits that store them, until `convert` widens them.

`Row` is a class of elements, like `Int64`: `Row.at(address)[2]` is the third vector from an address on, without any
alignment. `Row.array_on_stack(8)` is an array, whose vectors are in registers if all indices are constants. For these,
`for row in unrolled(range(8))` is a loop that is written out.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Final

from llvmlite import ir

from ep.common.native.emitted import intrinsic
from ep.common.native.on_demand import OnDemand, types
from ep.cpu.compile import vectors
from ep.cpu.compile.conversion import converted
from ep.cpu.compile.vector_class import Mask, Vector, elements, mask, vector
from ep.cpu.compile.vectors import WORD, constant

__all__ = [
    "Mask",
    "Vector",
    "add_pairs",
    "add_quads",
    "all_lanes",
    "bitcast",
    "convert",
    "elements",
    "every",
    "fma",
    "joined",
    "lanes_below",
    "load",
    "lower_half",
    "mask",
    "mask_of_bits",
    "select",
    "shuffle",
    "shuffle_several",
    "smallest",
    "store",
    "store_nontemporal",
    "sum_in_any_order",
    "upper_half",
    "vector",
]

_kinds: Final[Any] = OnDemand("ep.cpu.compile.vector_types")


def _written(result: Any, write: Any, *kinds: Any) -> Any:
    """Return the signature and the code of a call of Numba's types. write: `write(builder, *arguments)`."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        value = write(builder, *arguments)
        return context.get_dummy_value() if value is None else value

    return result(*kinds), generate


@intrinsic
def load(typing_context: Any, kind: Any, address: Any, index: Any = None, mask: Any = None) -> Any:
    """Return the vector of class `kind` that begins with element `index` of those at an address, or with the first.

    mask: the lanes that are read; the others are 0.
    """
    cls, mask = _kinds.class_of(kind), mask or types.none
    index = types.none if index in (None, types.none) else types.int64

    def write(builder: Any, kind: Any, address: Any, *place: Any) -> Any:
        return vectors.load(builder, address, cls.llvm_type, *_given((index, mask), place))

    return _written(_kinds.value_type(cls), write, kind, types.int64, index, mask)


@intrinsic
def store(typing_context: Any, address: Any, index: Any, value: Any, mask: Any = None) -> Any:
    """Write a vector, beginning with element `index` of those at an address. mask: the lanes that are written."""
    if not _kinds.is_vector(value):
        return None
    mask = mask or types.none

    def write(builder: Any, address: Any, index: Any, numbers: Any, lanes: Any) -> None:
        vectors.store(builder, numbers, address, index, *_given((mask,), (lanes,)))

    return _written(types.void, write, types.int64, types.int64, value, mask)


@intrinsic
def store_nontemporal(typing_context: Any, address: Any, index: Any, value: Any) -> Any:
    """Write a vector past the caches; the place is aligned to its size, or to 64 bytes if it is longer."""
    if not _kinds.is_vector(value):
        return None
    align = min(64, value.element.lanes * value.element.data_type.itemsize)

    def write(builder: Any, address: Any, index: Any, numbers: Any) -> None:
        vectors.store_nontemporal(builder, numbers, address, index, align)

    return _written(types.void, write, types.int64, types.int64, value)


def _given(kinds: tuple[Any, ...], values: tuple[Any, ...]) -> list[Any]:
    """Return values, with None in place of those whose type is that of None."""
    return [None if kind == types.none else value for kind, value in zip(kinds, values, strict=True)]


@intrinsic
def fma(typing_context: Any, x: Any, y: Any, z: Any) -> Any:
    """Return x y + z, rounded once; of integers modulo the range."""
    return _of_same(vectors.fma, x, y, z)


@intrinsic
def add_pairs(typing_context: Any, x: Any, y: Any, z: Any) -> Any:
    """Return z plus the products of pairs, which are the halves of each lane of x and y.

    Halves of integers are signed, and sums are modulo the range. Others are bfloat16: the product of the upper halves
    is added first, sums are rounded each time, and subnormal numbers count as 0.
    """
    return _of_same(vectors.add_pairs, x, y, z)


@intrinsic
def add_quads(typing_context: Any, x: Any, y: Any, z: Any) -> Any:
    """Return z plus the products of the four bytes of each lane of x, which are unsigned, and of y, which are signed.

    Sums are modulo the range.
    """
    return _of_same(vectors.add_quads, x, y, z)


@intrinsic
def select(typing_context: Any, condition: Any, x: Any, y: Any) -> Any:
    """Return the lanes of x where the condition, a mask or a boolean, holds, and those of y elsewhere."""
    common = _kinds.common(x, y)
    if common is None:
        return None
    return _written(common, lambda builder, *args: builder.select(*args), condition, common, common)


def _of_same(write: Any, *given: Any) -> Any:
    """Return what `intrinsic` needs for a function of vectors of one type, and of numbers, with a result of it."""
    common = _kinds.common(*given)
    return None if common is None else _written(common, write, *[common] * len(given))


@intrinsic
def convert(typing_context: Any, kind: Any, x: Any) -> Any:
    """Return a vector with the values of another one in the type of class `kind`, with as many lanes.

    Integers are extended or cut off; floating-point numbers are rounded to nearest even.
    """
    cls = _kinds.class_of(kind)
    if not _kinds.is_vector(x) or x.element.lanes != cls.lanes:
        return None

    def write(builder: Any, kind: Any, value: Any) -> Any:
        return converted(builder, value, x.element.data_type, cls.data_type)

    return _written(_kinds.value_type(cls), write, kind, x)


@intrinsic
def bitcast(typing_context: Any, kind: Any, x: Any) -> Any:
    """Return the bits of a vector as one of class `kind`, which has as many bits."""
    cls = _kinds.class_of(kind)
    if not _kinds.is_vector(x):
        return None
    return _written(_kinds.value_type(cls), lambda builder, _, value: builder.bitcast(value, cls.llvm_type), kind, x)


@intrinsic
def lanes_below(typing_context: Any, bound: Any, lanes: Any, first: Any = None) -> Any:
    """Return the mask of the lanes below a bound, an integer. lanes: their number, a constant.

    first: the number of the first lane, a constant: 0 if it is not given.
    """
    first = first or types.literal(0)
    if not all(isinstance(one, types.IntegerLiteral) for one in (lanes, first)):
        return None
    count, begin = lanes.literal_value, first.literal_value
    return _written(
        _kinds.value_type(mask(count)),
        lambda builder, bound, *_: vectors.lanes_below(builder, bound, count, begin),
        *(types.unliteral(bound), lanes, first),
    )


@intrinsic
def all_lanes(typing_context: Any, lanes: Any) -> Any:
    """Return the mask of all of `lanes` lanes, a constant."""
    if not isinstance(lanes, types.IntegerLiteral):
        return None
    kind = _kinds.value_type(mask(lanes.literal_value))
    return _written(kind, lambda builder, _: constant(kind.element.llvm_type, 1), lanes)


@intrinsic
def mask_of_bits(typing_context: Any, bits: Any, lanes: Any) -> Any:
    """Return the mask of the lowest bits of an integer. lanes: their number, a constant."""
    if not isinstance(lanes, types.IntegerLiteral):
        return None
    kind = _kinds.value_type(mask(lanes.literal_value))
    narrow = ir.IntType(lanes.literal_value)

    def write(builder: Any, bits: Any, lanes: Any) -> Any:
        return builder.bitcast(builder.trunc(bits, narrow), kind.element.llvm_type)

    return _written(kind, write, types.unliteral(bits), lanes)


@intrinsic
def any_lane(typing_context: Any, mask: Any) -> Any:
    """Return whether a mask has a lane."""
    return _of_mask(types.boolean, lambda builder, bits: builder.icmp_unsigned("!=", bits, bits.type(0)), mask)


@intrinsic
def popcount(typing_context: Any, mask: Any) -> Any:
    """Return the number of lanes of a mask, an int64."""
    return _of_mask(types.int64, lambda builder, bits: builder.zext(builder.ctpop(bits), WORD), mask)


def _of_mask(result: Any, write: Any, mask: Any) -> Any:
    """Return what `intrinsic` needs for a function of the bits of a mask."""
    if not isinstance(mask, _kinds.VectorType) or mask.element.data_type is not None:
        return None
    bits = ir.IntType(mask.element.lanes)
    return _written(result, lambda builder, value: write(builder, builder.bitcast(value, bits)), mask)


@cache
def shuffle(*places: int) -> Any:
    """Return a function (x, y) of vectors, or (x), that returns the lanes `places` of x and those of y behind them."""

    @intrinsic
    def taken(typing_context: Any, x: Any, y: Any = None) -> Any:
        if not _kinds.is_vector(x):
            return None
        both = (x,) if y is None else (x, y)
        result = _kinds.value_type(vector(x.element.data_type, len(places)))
        kinds = (*both, types.none)[:2]

        def write(builder: Any, *values: Any) -> Any:
            return vectors.taken(builder, places, *values[: len(both)])

        return _written(result, write, *kinds)

    return taken


@cache
def shuffle_several(count: int, *places: int) -> Any:
    """Return a function of `count` vectors that returns the lanes `places`, counted from the first vector on.

    There are as many places as lanes in each of the vectors.
    """

    @intrinsic
    def taken(typing_context: Any, *given: Any) -> Any:
        packed = len(given) == 1 and isinstance(given[0], types.BaseTuple)  # Numba types the call in both forms
        arguments = given[0] if packed else types.StarArgTuple.from_types(given)

        def write(builder: Any, several: Any) -> Any:
            found = [builder.extract_value(several, number) for number in range(count)]
            return vectors.taken_of_several(builder, places, found)

        return _written(arguments[0], write, arguments)

    return taken


def every(step: int, first: int, lanes: int) -> Any:
    """Return a function of `step` vectors that returns element `first` of them and every `step`-th one after it."""
    return shuffle_several(step, *range(first, first + step * lanes, step))


@intrinsic
def lower_half(typing_context: Any, x: Any) -> Any:
    """Return the vector of the lower half of the lanes."""
    return _half(x, 0)


@intrinsic
def upper_half(typing_context: Any, x: Any) -> Any:
    """Return the vector of the upper half of the lanes."""
    return _half(x, 1)


def _half(x: Any, number: int) -> Any:
    if not _kinds.is_vector(x):
        return None
    result = _kinds.value_type(vector(x.element.data_type, x.element.lanes // 2))
    return _written(result, lambda builder, value: vectors.halves(builder, value)[number], x)


@intrinsic
def joined(typing_context: Any, x: Any, y: Any) -> Any:
    """Return the vector of the lanes of x and then those of y."""
    if not _kinds.is_vector(x) or x != y:
        return None
    result = _kinds.value_type(vector(x.element.data_type, x.element.lanes * 2))
    return _written(result, lambda builder, *both: vectors.joined(builder, both), x, y)


@intrinsic
def sum_in_any_order(typing_context: Any, x: Any) -> Any:
    """Return the sum of the lanes, in the order that is best for the processor."""
    return _of_lanes(vectors.sum_in_any_order, x)


@intrinsic
def smallest(typing_context: Any, x: Any) -> Any:
    """Return the least lane of a vector of unsigned integers."""
    return _of_lanes(vectors.smallest, x)


@intrinsic
def largest_lane(typing_context: Any, x: Any) -> Any:
    """Return the largest lane of a vector of floating-point numbers, none of which is NaN unless all are."""
    return _of_lanes(vectors.largest, x) if _kinds.is_vector(x) and x.element.is_real else None


def _of_lanes(write: Any, x: Any) -> Any:
    """Return what `intrinsic` needs for a function of all lanes of a vector, with one of their type."""
    return _written(_kinds.lane_type(x), write, x) if _kinds.is_vector(x) else None
