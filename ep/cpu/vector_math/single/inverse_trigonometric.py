"""asin, acos and atan in float32 arithmetic."""

import numpy as np

from ep.cpu.vector_math.bits import copysign, fabs, fma, select, sqrt
from ep.cpu.vector_math.inlined import inlined
from ep.cpu.vector_math.polynomial import polynomial
from ep.cpu.vector_math.single.coefficients import ARC_SINE, ARC_TANGENT

_ZERO, _HALF, _ONE, _TWO = np.float32(0.0), np.float32(0.5), np.float32(1.0), np.float32(2.0)
_PI = np.float32(np.pi)
_HALF_PI = _PI * _HALF
_PI_REST = np.float32(np.pi / float(_PI) - 1.0)  # the relative errors of pi and pi/2 in float32
_arc_tangent, _arc_sine = polynomial(*ARC_TANGENT), polynomial(*ARC_SINE)


@inlined
def atan(x: np.float32) -> np.float32:
    """Return the arc tangent: of |x|, or pi/2 - that of 1 / |x|."""
    a = fabs(x)
    high = a > _ONE
    t = select(high, -_ONE, a) / select(high, a, _ONE)
    z = fma(t, t, _ZERO)
    offset = select(high, _HALF_PI, _ZERO)
    value = offset + t
    rest = fma(offset, _PI_REST, (offset - value) + t)
    return copysign(value + fma(fma(z, t, _ZERO), _arc_tangent(z), rest), x)


@inlined
def asin(x: np.float32) -> np.float32:
    """Return the arc sine; above 1/2, pi/2 - 2 asin(sqrt((1 - |x|) / 2))."""
    a = fabs(x)
    high = a > _HALF
    z = select(high, fma(-_HALF, a, _HALF), fma(a, a, _ZERO))
    s = select(high, -_TWO * sqrt(z), a)
    offset = select(high, _HALF_PI, _ZERO)
    value = offset + s
    rest = fma(offset, _PI_REST, (offset - value) + s)
    return copysign(value + fma(fma(s, z, _ZERO), _arc_sine(z), rest), x)


@inlined
def acos(x: np.float32) -> np.float32:
    """Return the arc cosine: pi/2 - asin(x).

    Above 1/2, with s = asin(sqrt((1 - |x|) / 2)), it is 2 s, or pi - 2 s for x < 0.
    """
    a = fabs(x)
    high, negative = a > _HALF, x < _ZERO
    z = select(high, fma(-_HALF, a, _HALF), fma(a, a, _ZERO))
    s = select(high, copysign(_TWO * sqrt(z), x), -x)
    offset = select(high, select(negative, _PI, _ZERO), _HALF_PI)
    value = offset + s
    rest = fma(offset, _PI_REST, (offset - value) + s)
    return value + fma(fma(s, z, _ZERO), _arc_sine(z), rest)
