"""The folding of values vector by vector, and the state it carries."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

from llvmlite import ir

from ep.cpu.compile.conversion import widened
from ep.cpu.compile.target import adds_more_in_halves, converts_on_adders, has_avx512, moves_halves
from ep.cpu.compile.vectors import (
    DOUBLE,
    FLOAT,
    INT,
    WORD,
    constant,
    fma,
    halves,
    joined,
    lanes_of,
    load,
    pointer_to,
    splat,
    stored_bits,
    taken,
)
from ep.cpu.engine.reduce.vectors import VECTOR_BYTES, Lanes, combined, read_values
from ep.include.data_type import DataType
from ep.include.primitive.reduce_op import EXTREMES, ReduceOp


class Fold:
    """A fold of values, one vector after the other; it carries a tuple from `first` through `more` to `values`.

    The least and largest floating-point numbers are found by comparisons that skip NaN, one instruction each. Besides,
    a vector is carried that is NaN in lanes where a NaN was read; it tests two vectors at a time.
    Sums of widened numbers are multiply-adds with a factor of 1 on processors that convert numbers on their adders, and
    multiply on other units. Some processors convert and add two half vectors in less time than a whole one.
    by_lanes: whether each lane has its own result; otherwise the two halves of a vector are tested for NaN together.
    computed: whether values are in registers, where taking halves of a vector apart would take longer than that.
    """

    def __init__(self, builder: Any, of: Lanes, by_lanes: bool, computed: bool = False) -> None:
        self._builder, self._of, self._by_lanes = builder, of, by_lanes
        self._marks = of.is_real and of.op in EXTREMES
        widens = of.widens and of.op is ReduceOp.kSum
        self._one = _hidden_one(builder) if widens and converts_on_adders() else None
        self._half, self._least_halved = VECTOR_BYTES // of.size // 2, None
        if widens and moves_halves():
            self._least_halved = None if computed and has_avx512() else 1
        elif widens and adds_more_in_halves() and not by_lanes:
            self._least_halved = _HALVED * self._half

    def size_of(self, width: int) -> int:
        """Return how many of `width` values each carried vector holds."""
        is_halved = self._least_halved is not None and width >= self._least_halved
        return min(self._half, width) if is_halved else width

    def read(self, address: Any, index: Any, width: int, scale: Any) -> tuple[Any, ...]:
        """Return `width` values from value `index` on, in one tuple entry per carried vector."""
        size = self.size_of(width)
        return tuple(
            read_values(self._builder, self._of, address, self._builder.add(index, WORD(skip)), size, scale)
            for skip in range(0, width, size)
        )

    def first(self, read: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return the carried state for the vectors that were read first."""
        if not self._marks:
            return read
        count = read[0].type.count
        return read[0], constant(self._of.vector(count if self._by_lanes or count == 1 else count // 2), 0.0)

    def more(self, carried: Sequence[Any], *reads: tuple[Any, ...]) -> Sequence[Any]:
        """Fold one or two more vectors into the carried state."""
        builder = self._builder
        if self._marks:
            return self._marked(carried, *(vector for (vector,) in reads))
        for read in reads:
            carried = tuple(
                combined(builder, self._of, value, vector)
                if self._one is None
                else fma(builder, vector, splat(builder, self._one, vector.type.count), value)
                for value, vector in zip(carried, read, strict=True)
            )
        return carried

    def _marked(self, carried: Sequence[Any], *vectors: Any) -> tuple[Any, ...]:
        builder, (value, marks) = self._builder, carried
        sign = ">" if self._of.op is ReduceOp.kMax else "<"
        for vector in vectors:
            value = builder.select(builder.fcmp_ordered(sign, vector, value), vector, value)
        first, last = vectors[0], vectors[-1]
        if first.type.count > marks.type.count:
            first, last = halves(builder, first)
        unknown = builder.fcmp_unordered("uno", first, last)
        return value, builder.select(unknown, constant(marks.type, math.nan), marks)

    def values(self, carried: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return the vectors that contain the results of the fold."""
        if not self._marks:
            return carried
        value, marks = carried
        if marks.type.count < value.type.count:
            marks = joined(self._builder, (marks, marks))
        return (self._builder.select(self._builder.fcmp_unordered("uno", marks, marks), marks, value),)


class Chain(Fold):
    """Sums of a few 16-bit numbers in float32: at most `CHAIN` numbers, each with an error of 2^-24 of its sum.

    Numbers are scaled down by a power of two, so that no sum overflows; no 16-bit number is too small for that. Of two
    adjacent bfloat16 numbers, one is the upper half of 32 bits, and the other is one shift away: `values` puts them in
    order again.
    """

    def size_of(self, width: int) -> int:
        """Return how many of `width` values are in each vector that a chain is converted to."""
        whole = width // 2 if self._interleaves(width) else width
        return min(VECTOR_BYTES // self._of.size // (2 if moves_halves() else 1), whole)

    def read(self, address: Any, index: Any, width: int, scale: Any) -> tuple[Any, ...]:
        """Return `width` numbers from number `index` on, in float32."""
        builder, stored = self._builder, self._of.stored
        place = pointer_to(builder, address, stored_bits(stored), index)
        if self._interleaves(width):
            pairs = load(builder, place, ir.VectorType(INT, width // 2))
            even = builder.shl(pairs, constant(pairs.type, 16))
            odd = builder.and_(pairs, constant(pairs.type, 0xFFFF0000))
            return tuple(builder.bitcast(each, ir.VectorType(FLOAT, width // 2)) for each in (even, odd))
        size = min(width, VECTOR_BYTES // 4)
        return tuple(
            widened(builder, load(builder, place, stored_bits(stored, size), WORD(skip)), stored)
            for skip in range(0, width, size)
        )

    def first(self, read: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return a chain of one link."""
        return tuple(self._builder.fmul(vector, constant(vector.type, 1 / _SMALLER)) for vector in read)

    def more(self, carried: Sequence[Any], *reads: tuple[Any, ...]) -> Sequence[Any]:
        """Add one or two links to a chain."""
        for read in reads:
            carried = tuple(
                fma(self._builder, vector, constant(vector.type, 1 / _SMALLER), value)
                for value, vector in zip(carried, read, strict=True)
            )
        return carried

    def values(self, carried: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return the sums, in float64."""
        builder, width = self._builder, sum(vector.type.count for vector in carried)
        if self._interleaves(width):
            half = width // 2
            places = [lane // 2 + lane % 2 * half for lane in range(width)]
            carried = tuple(taken(builder, part, *carried) for part in (places[:half], places[half:]))
        size = self.size_of(width)
        found = []
        for vector in carried:
            for skip in range(0, vector.type.count, size):
                wide = builder.fpext(lanes_of(builder, vector, skip, size), self._of.vector(size))
                found.append(builder.fmul(wide, constant(wide.type, _SMALLER)))
        return tuple(found)

    def _interleaves(self, width: int) -> bool:
        return self._of.stored is DataType.kBFloat16 and width >= 2 * _LEAST_PAIRS


_HALVED: Final = 4
"""The least half vectors that are worth more than whole ones if only the additions are faster."""
CHAIN: Final = 8
"""The most numbers that are added in float32, one after the other."""
_SMALLER: Final = 2.0**8  # the least bfloat16 number divided by this is still representable in float32
_LEAST_PAIRS: Final = 4


def fold_of(builder: Any, of: Lanes, by_lanes: bool, computed: bool = False) -> Fold:
    """Return the fold for these values; chains must be merged after `CHAIN` numbers."""
    return (Chain if of.chained else Fold)(builder, of, by_lanes, computed)


def _hidden_one(builder: Any) -> Any:
    """Return 1.0, hidden from LLVM so that it keeps the multiplication."""
    with builder.goto_entry_block():  # LLVM does not move it out of loops
        hidden = builder.asm(ir.FunctionType(WORD, [WORD]), "", "=r,0", [WORD(0x3FF0000000000000)], False)
        return builder.bitcast(hidden, DOUBLE)
