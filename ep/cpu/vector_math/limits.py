"""Numbers kept within limits, without branches; NaN stays. Limits and number are of one type."""

from ep.cpu.vector_math.bits import select
from ep.cpu.vector_math.inlined import inlined


@inlined
def at_least(x, low):
    """Return x, or low where that is larger."""
    return select(low > x, low, x)


@inlined
def at_most(x, high):
    """Return x, or high where that is smaller."""
    return select(high < x, high, x)


@inlined
def clamp(x, low, high):
    """Return x between low and high."""
    return at_least(at_most(x, high), low)
