"""Sums with their rounding errors, of float32 or float64."""

from ep.cpu.vector_math.bits import Real
from ep.cpu.vector_math.inlined import inlined


@inlined
def sum_of(a: Real, b: Real) -> tuple[Real, Real]:
    """Return a + b, and its rounding error."""
    value = a + b
    part = value - a
    return value, (a - (value - part)) + (b - part)


@inlined
def sum_of_ordered(a: Real, b: Real) -> tuple[Real, Real]:
    """Return a + b, and its rounding error, for |a| >= |b| or a = 0."""
    value = a + b
    return value, b - (value - a)


@inlined
def sum_of_four(a: Real, b: Real, c: Real, d: Real) -> tuple[Real, Real]:
    """Return the sum as high + low, for terms ordered by size; a may be 0."""
    ab = a + b
    abc = ab + c
    low = (((a - ab) + b) + ((ab - abc) + c)) + d
    high = abc + low
    return high, (abc - high) + low
