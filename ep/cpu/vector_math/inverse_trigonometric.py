"""asin, acos and atan without branches."""

from ep.cpu.vector_math.bits import copysign, fabs, fma, select, sqrt
from ep.cpu.vector_math.inlined import inlined
from ep.cpu.vector_math.polynomial import polynomial

_PI, _PI_REST = 3.141592653589793, 1.2246467991473532e-16
_HALF_PI, _HALF_PI_REST = 1.5707963267948966, 6.123233995736766e-17
_QUARTER_PI, _QUARTER_PI_REST = 0.7853981633974483, 3.061616997868383e-17

# tan(pi / 8) and its inverse
_TAN_LOW, _TAN_HIGH = 0.41421356237309503, 2.414213562373095
# beyond it atan is pi/2 to the last bit, and infinity would make a NaN
_ATAN_FLAT = 2.0**64

# (atan(sqrt z) / sqrt z - 1) / z on 0 <= z <= tan(pi/8)^2 and (asin(sqrt z) / sqrt z - 1) / z on 0 <= z <= 1/4, by
# Remez' exchange for the error relative to atan and asin: 2^-58 both.
_arc_tangent = polynomial(
    -0.333333333333332,
    0.19999999999953666,
    -0.14285714280204223,
    0.11111110783822058,
    -0.09090897767235849,
    0.07692060363566866,
    -0.06663105465392379,
    0.05847897393365159,
    -0.05039330553961204,
    0.03806494161568762,
    -0.017907323139420495,
)
_arc_sine = polynomial(
    0.16666666666666763,
    0.07499999999970262,
    0.0446428571751204,
    0.030381942683638558,
    0.022372215659614593,
    0.017351600105644696,
    0.013980961272700577,
    0.011397777517812048,
    0.010786520315196689,
    0.0036830748811901427,
    0.02176342075789586,
    -0.021077185176123513,
    0.03267682598472377,
)


@inlined
def atan(x: float) -> float:
    """The arc tangent: of t, pi/4 + that of (t - 1) / (t + 1), or pi/2 - that of 1 / t, for t = |x|."""
    a = fabs(x)
    a = select(a > _ATAN_FLAT, _ATAN_FLAT, a)
    middle, high = a > _TAN_LOW, a > _TAN_HIGH
    above = select(high, -1.0, select(middle, a - 1.0, a))
    below = select(high, a, select(middle, a + 1.0, 1.0))
    offset = select(high, _HALF_PI, select(middle, _QUARTER_PI, 0.0))
    rest = select(high, _HALF_PI_REST, select(middle, _QUARTER_PI_REST, 0.0))
    t = above / below
    z = fma(t, t, 0.0)
    value = offset + t
    rest += (offset - value) + t
    return copysign(value + fma(fma(z, t, 0.0), _arc_tangent(z), rest), x)


@inlined
def asin(x: float) -> float:
    """The arc sine: above 1/2, pi/2 - 2 asin(sqrt((1 - |x|) / 2))."""
    a = fabs(x)
    high = a > 0.5
    z = select(high, fma(-0.5, a, 0.5), fma(a, a, 0.0))
    s = select(high, sqrt(z), a)
    p = fma(fma(s, z, 0.0), _arc_sine(z), 0.0)
    value = _HALF_PI - 2.0 * s
    rest = ((_HALF_PI - value) - 2.0 * s) + fma(-2.0, p, _HALF_PI_REST)
    return copysign(select(high, value, a) + select(high, rest, p), x)


@inlined
def acos(x: float) -> float:
    """The arc cosine: pi/2 - asin(x); above 1/2, with s = asin(sqrt((1 - |x|) / 2)), 2 s, or pi - 2 s for x < 0."""
    a = fabs(x)
    high, negative = a > 0.5, x < 0.0
    z = select(high, fma(-0.5, a, 0.5), fma(a, a, 0.0))
    s = select(high, copysign(2.0 * sqrt(z), x), -x)
    offset = select(high, select(negative, _PI, 0.0), _HALF_PI)
    rest = select(high, select(negative, _PI_REST, 0.0), _HALF_PI_REST)
    value = offset + s
    rest += (offset - value) + s
    return value + fma(fma(s, z, 0.0), _arc_sine(z), rest)
