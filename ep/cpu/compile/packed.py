"""Vectors of 64 bytes in LLVM IR, and loops over a row by such vectors, with a masked last vector.

LLVM keeps the order of floating-point sums, so it does not vectorise a loop that computes a sum. The code here fixes
which lane adds which element, so the result has the same bits at any address of a row. On processors with shorter
registers, a vector occupies several of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from llvmlite import ir

from ep.cpu.compile import vectors
from ep.cpu.compile.conversion import narrowed, widened
from ep.cpu.compile.vectors import DOUBLE, FLOAT, INT, WORD
from ep.include.data_type import DataType

VECTOR_BYTES: Final = 64

Body = Callable[[list[Any], list[Any], list[Any]], Sequence[Any]]
"""`body(indices, masks, carried)` of one or more vectors returns the next carried values; a mask of None is all lanes.
"""

Before = tuple[int, Callable[[Any, Any], None]]
"""The number of elements of a part of a row, and `before(begin, end)`, which writes what is done before a part.

There are no parts of shorter rows. What is left of a longer row is a part, too.
"""


class Packed:
    """A writer of instructions on vectors of float64 or float32, the arithmetic type of a data type."""

    def __init__(self, builder: Any, data_type: DataType) -> None:
        self.builder, self.data_type = builder, data_type
        self.double = data_type is DataType.kDouble
        self.real = DOUBLE if self.double else FLOAT
        self.size = 8 if self.double else 4
        self.count = VECTOR_BYTES // self.size
        self.vector = ir.VectorType(self.real, self.count)
        self.integers = ir.VectorType(ir.IntType(8 * self.size), self.count)

    def constant(self, number: float) -> Any:
        """Return a vector with this number in every lane."""
        return vectors.constant(self.vector, float(number))

    def integer(self, number: int) -> Any:
        """Return a vector with this integer, as wide as a real number, in every lane."""
        return vectors.constant(self.integers, number)

    def splat(self, value: Any) -> Any:
        """Return a vector with a value of any type in every lane."""
        return vectors.splat(self.builder, value, self.count)

    def fma(self, x: Any, y: Any, z: Any) -> Any:
        """Return x y + z, rounded once."""
        return vectors.fma(self.builder, x, y, z)

    def pairs(self, x: Any, square: Any, coefficients: Sequence[float]) -> Any:
        """Evaluate a polynomial: join neighbouring terms in pairs, and these by Horner's scheme in the square of x."""
        terms = [self.constant(number) for number in coefficients]
        joined = [
            self.fma(terms[i + 1], x, terms[i]) if i + 1 < len(terms) else terms[i] for i in range(0, len(terms), 2)
        ]
        *lower, value = joined
        for term in reversed(lower):
            value = self.fma(value, square, term)
        return value

    def bits(self, value: Any) -> Any:
        """Return the bits of real numbers as integers."""
        return self.builder.bitcast(value, self.integers)

    def number(self, bits: Any) -> Any:
        """Return the real numbers that have these integers as bits."""
        return self.builder.bitcast(bits, self.vector)

    def lanes_below(self, bound: Any) -> Any:
        """Return the mask of the lanes before lane `bound`, a word."""
        return vectors.lanes_below(self.builder, self.builder.trunc(bound, INT), self.count)

    def load(self, address: Any, index: Any, mask: Any = None, other: float = 0.0, stored: Any = None) -> Any:
        """Return the elements from element `index` on in the arithmetic type; lanes the mask excludes hold `other`.

        stored: their type in memory, by default the data type.
        """
        stored = stored or self.data_type
        bits = vectors.load(self.builder, address, vectors.stored_bits(stored, self.count), index, mask)
        read = widened(self.builder, bits, stored)
        return read if mask is None or other == 0.0 else self.builder.select(mask, read, self.constant(other))

    def store(
        self, value: Any, address: Any, index: Any, mask: Any = None, stored: Any = None, past_caches: bool = False
    ) -> None:
        """Write numbers of the arithmetic type, in the lanes that the mask includes.

        past_caches: use a non-temporal store if there is no mask; the address is aligned to the vector's size.
        """
        stored = stored or self.data_type
        bits = narrowed(self.builder, value, stored)
        if mask is None and past_caches:
            vectors.store_nontemporal(self.builder, bits, address, index, self.count * stored.itemsize)
        else:
            vectors.store(self.builder, bits, address, index, mask)

    def halves(self, value: Any) -> tuple[Any, Any]:
        """Return the lower and the upper half of a vector of any length."""
        return vectors.halves(self.builder, value)

    def folded(self, value: Any, combine: Callable[[Any, Any], Any]) -> Any:
        """Combine all lanes into one value: the two halves are combined until one lane is left."""
        while value.type.count > 1:
            value = combine(*self.halves(value))
        return self.builder.extract_element(value, INT(0))

    def sum(self, value: Any) -> Any:
        """Return the sum of all lanes, in float64."""
        if value.type.element != DOUBLE:
            value = self.builder.fpext(value, ir.VectorType(DOUBLE, value.type.count))
        return self.folded(value, self.builder.fadd)

    def whole(
        self,
        begin: Any,
        count: Any,
        carried: Sequence[Any],
        body: Body,
        unrolled: int = 1,
        before: Before | None = None,
    ) -> tuple[Any, list[Any]]:
        """Loop over the whole vectors between `begin` and `count`, carrying values; return the end and the values."""
        builder, values = self.builder, list(carried)
        if before is not None:
            size, prepare = before
            end = builder.add(begin, builder.and_(builder.sub(count, begin), WORD(-size)))

            def part(place: Any, carried: list[Any]) -> Sequence[Any]:
                last = builder.add(place, WORD(size))
                prepare(place, last)
                return self._loop(place, last, unrolled * self.count, carried, body)

            with builder.if_then(builder.icmp_signed("<", begin, end)):
                prepare(end, count)
            begin, values = vectors.counted(builder, begin, end, size, values, part)
        for width in sorted({unrolled * self.count, self.count}, reverse=True):
            end = builder.add(begin, builder.and_(builder.sub(count, begin), WORD(-width)))
            values = self._loop(begin, end, width, values, body)
            begin = end
        return begin, values

    def row(
        self,
        count: Any,
        carried: Sequence[Any],
        body: Body,
        unrolled: int = 1,
        begin: Any = None,
        before: Before | None = None,
    ) -> list[Any]:
        """Loop over the vectors of a row from `begin` to `count`, carrying values; the last vector may be masked."""
        builder = self.builder
        begin, values = self.whole(WORD(0) if begin is None else begin, count, carried, body, unrolled, before)
        return vectors.where(
            builder,
            builder.icmp_signed("<", begin, count),
            lambda: body([begin], [self.lanes_below(builder.sub(count, begin))], list(values)),
            values,
        )

    def _loop(self, begin: Any, end: Any, step: int, carried: Sequence[Any], body: Body) -> list[Any]:
        """Loop over the whole vectors from `begin` to `end`, carrying values; there may be no iteration."""

        def vectors_from(index: Any, values: list[Any]) -> Sequence[Any]:
            indices = [self.builder.add(index, WORD(offset)) for offset in range(0, step, self.count)]
            return body(indices, [None] * len(indices), values)

        return vectors.counted(self.builder, begin, end, step, carried, vectors_from)[1]
