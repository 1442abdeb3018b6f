"""asin, acos and atan without branches."""

from ep.cpu.vector_math.bits import copysign, fabs, fma, select, sqrt
from ep.cpu.vector_math.coefficients import ARC_SINE, ARC_TANGENT, HALF_PI, PI, TAN_EIGHTH, TAN_THREE_EIGHTHS
from ep.cpu.vector_math.inlined import inlined
from ep.cpu.vector_math.limits import at_most
from ep.cpu.vector_math.polynomial import polynomial

# beyond it atan is pi/2 to the last bit, and infinity would give NaN
_ATAN_FLAT = 2.0**64
_arc_tangent, _arc_sine = polynomial(*ARC_TANGENT), polynomial(*ARC_SINE)


@inlined
def atan(x: float) -> float:
    """Return the arc tangent: with t = |x|, of t, pi/4 + that of (t - 1) / (t + 1), or pi/2 - that of 1 / t."""
    a = fabs(x)
    a = at_most(a, _ATAN_FLAT)
    middle, high = a > TAN_EIGHTH, a > TAN_THREE_EIGHTHS
    above = select(high, -1.0, select(middle, a - 1.0, a))
    below = select(high, a, select(middle, a + 1.0, 1.0))
    offset = select(high, HALF_PI[0], select(middle, 0.5 * HALF_PI[0], 0.0))
    rest = select(high, HALF_PI[1], select(middle, 0.5 * HALF_PI[1], 0.0))
    t = above / below
    z = fma(t, t, 0.0)
    value = offset + t
    rest += (offset - value) + t
    return copysign(value + fma(fma(z, t, 0.0), _arc_tangent(z), rest), x)


@inlined
def asin(x: float) -> float:
    """Return the arc sine; above 1/2, pi/2 - 2 asin(sqrt((1 - |x|) / 2))."""
    a = fabs(x)
    high = a > 0.5
    z = select(high, fma(-0.5, a, 0.5), fma(a, a, 0.0))
    s = select(high, sqrt(z), a)
    p = fma(fma(s, z, 0.0), _arc_sine(z), 0.0)
    value = HALF_PI[0] - 2.0 * s
    rest = ((HALF_PI[0] - value) - 2.0 * s) + fma(-2.0, p, HALF_PI[1])
    return copysign(select(high, value, a) + select(high, rest, p), x)


@inlined
def acos(x: float) -> float:
    """Return the arc cosine: pi/2 - asin(x).

    Above 1/2, with s = asin(sqrt((1 - |x|) / 2)), it is 2 s, or pi - 2 s for x < 0.
    """
    a = fabs(x)
    high, negative = a > 0.5, x < 0.0
    z = select(high, fma(-0.5, a, 0.5), fma(a, a, 0.0))
    s = select(high, copysign(2.0 * sqrt(z), x), -x)
    offset = select(high, select(negative, PI[0], 0.0), HALF_PI[0])
    rest = select(high, select(negative, PI[1], 0.0), HALF_PI[1])
    value = offset + s
    rest += (offset - value) + s
    return value + fma(fma(s, z, 0.0), _arc_sine(z), rest)
