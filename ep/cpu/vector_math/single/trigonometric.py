"""sin, cos and tan in float32 arithmetic, for |x| <= LIMIT.

x = k pi/2 + r with |r| <= pi/4 or a little more. pi/2 is the sum of three numbers p1, p2, p3: x - k p1 is exact, since
the difference is below 1 and a multiple of the last bit of x and of p1; k p2 is rounded and subtracted, and both errors
are corrected; for k p3 only the value matters. The reduced argument is a sum of two numbers, with an absolute error of
2^-53, and no number up to LIMIT comes nearer to a multiple of pi/2 than 2^-29.
"""

from typing import Final

import numpy as np

from ep.cpu.vector_math.bits import fma, from_bits, select, to_bits
from ep.cpu.vector_math.inlined import inlined
from ep.cpu.vector_math.polynomial import polynomial
from ep.cpu.vector_math.single.coefficients import COSINE, HALF_PI, SINE, TANGENT
from ep.cpu.vector_math.single.exponential import SHIFT, ZERO

LIMIT: Final = 2.0**17
"""The largest magnitude for which sin, cos and tan are accurate: the error of k is then less than 1/200."""

_TWO_OVER_PI = np.float32(2.0 / np.pi)
_HALF_PI = tuple(map(np.float32, HALF_PI))
_SLOPE = np.float32(0.6)  # of tan(sqrt z) / sqrt z, near the end, where it matters
_ONE = np.float32(1.0)
_SIGN, _SECOND_BIT = np.int32(-(1 << 31)), np.int32(2)

_sine, _cosine, _tangent = polynomial(*SINE), polynomial(*COSINE), polynomial(*TANGENT)


@inlined
def _reduce(x):
    """Return (r, its rest, k): x = k pi/2 + r + rest. Only the low bits of k are valid."""
    shifted = fma(x, _TWO_OVER_PI, SHIFT)
    k = shifted - SHIFT
    t = fma(-k, _HALF_PI[0], x)
    r = t - fma(k, _HALF_PI[1], ZERO)  # through fma, so that the difference is not fused
    rest = fma(-k, _HALF_PI[2], fma(-k, _HALF_PI[1], t - r))
    return r, rest, to_bits(shifted)


@inlined
def _sine_cosine(x):
    """Return the sine and the cosine of the reduced argument, and k."""
    r, rest, k = _reduce(x)
    z = fma(r, r, fma(r, rest + rest, ZERO))
    return r + fma(fma(r, z, ZERO), _sine(z), rest), fma(z, _cosine(z), _ONE), k


@inlined
def sin(x):
    """Return the sine of x, |x| <= LIMIT."""
    s, c, k = _sine_cosine(x)
    value = select((k & 1) != 0, c, s)
    return select(x == ZERO, x, from_bits(np.int32(to_bits(value) ^ np.int32((k << 30) & _SIGN))))


@inlined
def cos(x):
    """Return the cosine of x, |x| <= LIMIT."""
    s, c, k = _sine_cosine(x)
    value = select((k & 1) != 0, s, c)
    return from_bits(np.int32(to_bits(value) ^ np.int32(((k + 1) << 30) & _SIGN)))


@inlined
def tan(x):
    """Return the tangent t of r, including its rounding error, or -1 / t."""
    r, rest, k = _reduce(x)
    z = fma(r, r, ZERO)
    z_rest = fma(r, rest + rest, fma(r, r, -z))
    w = fma(z, _tangent(z), ZERO)
    more = fma(r, w, fma(fma(r, _SLOPE, ZERO), z_rest, fma(rest, w, rest)))
    t = r + more
    t_rest = more - (t - r)
    inverse = _ONE / t
    missing = fma(-inverse, t_rest, fma(-inverse, t, _ONE))
    value = select((k & 1) != 0, -fma(missing, inverse, inverse), t)
    return select(x == ZERO, x, value)
