"""Limits of numbers, without branches; NaN stays. Limits and number have one type."""

from ep.cpu.vector_math.bits import Real, select
from ep.cpu.vector_math.inlined import inlined


@inlined
def at_least(x: Real, low: Real) -> Real:
    """Return x, or low if that is larger."""
    return select(low > x, low, x)


@inlined
def at_most(x: Real, high: Real) -> Real:
    """Return x, or high if that is smaller."""
    return select(high < x, high, x)


@inlined
def clamp(x: Real, low: Real, high: Real) -> Real:
    """Return x clamped to [low, high]."""
    return at_least(at_most(x, high), low)
