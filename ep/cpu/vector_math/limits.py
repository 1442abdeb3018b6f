"""Limits of numbers, without branches; NaN stays. Limits and number have one type."""

from ep.cpu.vector_math.bits import select
from ep.cpu.vector_math.inlined import inlined


@inlined
def at_least(x, low):
    """Return x, or low if that is larger."""
    return select(low > x, low, x)


@inlined
def at_most(x, high):
    """Return x, or high if that is smaller."""
    return select(high < x, high, x)


@inlined
def clamp(x, low, high):
    """Return x clamped to [low, high]."""
    return at_least(at_most(x, high), low)
