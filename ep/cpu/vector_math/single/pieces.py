"""Functions as polynomials on pieces of the axis, whose coefficients are looked up in registers."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ep.common.native.emitted import Emitted, emitted
from ep.cpu.compile.vectors import fma as multiply_add
from ep.cpu.vector_math.bits import Unary, copysign, fabs, fma, select, to_bits
from ep.cpu.vector_math.constants import SHIFT_FLOAT32
from ep.cpu.vector_math.inlined import inlined
from ep.cpu.vector_math.limits import at_most
from ep.cpu.vector_math.lookup import Table, table

Index = Callable[[np.float32], int]
Rows = Sequence[Sequence[float]]
"""The centres of 32 or 8 pieces, and the coefficients in the distance from them, the constant ones first."""


def pieces(rows: Rows) -> tuple[Table[np.float32], Table[np.float32], Emitted[np.float32]]:
    """Return centre(index), constant(index) and slope(index, t): the function at centre + t is constant + t slope."""
    centre, constant, *coefficients = (table(row, np.float32) for row in rows)

    @emitted("float32", index="int32", t="float32")
    def slope(builder: Any, index: Any, t: Any) -> Any:
        value, *lower = (coefficient.write(builder, index) for coefficient in reversed(coefficients))
        for coefficient in lower:
            value = multiply_add(builder, value, t, coefficient)
        return value

    return centre, constant, slope


def from_entry(rows: Rows, first: int) -> Rows:
    """Return the rows of pieces that are numbered from `first` on: number n is at n modulo the number of pieces."""
    place = -first % len(rows[0])
    return [[*row[place:], *row[:place]] for row in rows]


def multiple_of(width: float) -> Index:
    """Return the compiled function that gives the multiple of `width` nearest to a number, in its low bits."""
    inverse = np.float32(1.0 / width)

    @inlined
    def index(a: np.float32) -> int:
        return to_bits(fma(a, inverse, SHIFT_FLOAT32))

    return index


def of_equal_width(rows: Rows, width: float) -> Unary[np.float32]:
    """Return the compiled function with pieces around the multiples of `width`."""
    centre, constant, slope = pieces(rows)
    index = multiple_of(width)

    @inlined
    def function(a: np.float32) -> np.float32:
        i = index(a)
        t = a - centre(i)
        return fma(t, slope(i, t), constant(i))

    return function


def odd(rows: Rows, index: Index, linear: float, end: float) -> Unary[np.float32]:
    """Return an odd function that is constant from `end` on.

    Up to `linear` the rows give the function minus its argument.
    """
    centre, constant, slope = pieces(rows)
    end_of_line, end_of_slope = np.float32(linear), np.float32(end)

    @inlined
    def function(x: np.float32) -> np.float32:
        a = fabs(x)
        a = at_most(a, end_of_slope)
        i = index(a)
        t = a - centre(i)
        return copysign(fma(t, slope(i, t), select(a < end_of_line, a, constant(i))), x)

    return function


def with_beyond(ordinary: Unary[np.float32], limit: float, beyond: Unary[np.float32]) -> Unary[np.float32]:
    """Return the compiled function of any x: `ordinary` for |x| <= limit, else `beyond`."""
    last = np.float32(limit)

    @inlined
    def function(x: np.float32) -> np.float32:
        return select(fabs(x) <= last, ordinary(x), beyond(x))

    return function
