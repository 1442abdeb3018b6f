"""sin, cos and tan in float32 arithmetic, for |x| <= LIMIT.

x = k pi/2 + r with |r| <= pi/4 or a little more. pi/2 is the sum of three numbers p1, p2, p3: x - k p1 is exact, since
the difference is below 1 and a multiple of the last bit of x and of p1; k p2 is rounded and subtracted, and both errors
are corrected; for k p3 only the value matters. The reduced argument is a sum of two numbers, with an absolute error of
2^-53, and no number up to LIMIT comes nearer to a multiple of pi/2 than 2^-29.
"""

from typing import Final

import numpy as np

from ep.cpu.vector_math.bits import fma, from_bits, select, to_bits
from ep.cpu.vector_math.constants import SHIFT_FLOAT32 as SHIFT
from ep.cpu.vector_math.inlined import inlined
from ep.cpu.vector_math.polynomial import polynomial
from ep.cpu.vector_math.single.coefficients import COSINE, COTANGENT, HALF_PI, SINE
from ep.cpu.vector_math.single.exponential import ZERO

LIMIT: Final = 2.0**17
"""The largest magnitude for which sin, cos and tan are accurate: the error of k is then less than 1/200."""

_TWO_OVER_PI = np.float32(2.0 / np.pi)
_HALF_PI = tuple(map(np.float32, HALF_PI))
_SLOPE = np.float32(-0.8)  # the quotient's slope multiplies `lost` by about 1 + 0.8 z
_ONE = np.float32(1.0)
_SIGN = np.int32(-(1 << 31))

_sine, _cosine, _cotangent = polynomial(*SINE), polynomial(*COSINE), polynomial(*COTANGENT)


@inlined
def _reduce(x: np.float32) -> tuple[np.float32, np.float32, int]:
    """Return (r, lost, k): x = k pi/2 + r - lost. Only the low bits of k are valid; lost is +0 if x is 0."""
    shifted = fma(x, _TWO_OVER_PI, SHIFT)
    k = shifted - SHIFT
    t = fma(-k, _HALF_PI[0], x)
    r = t - fma(k, _HALF_PI[1], ZERO)  # through fma, so that the difference is not fused
    return r, fma(k, _HALF_PI[2], fma(k, _HALF_PI[1], r - t)), to_bits(shifted)


@inlined
def _sine_cosine(x: np.float32) -> tuple[np.float32, np.float32, int]:
    """Return the sine and the cosine of the reduced argument, and k. The sine of -0 is -0."""
    r, lost, k = _reduce(x)
    z = fma(r, r, fma(-r, lost + lost, ZERO))
    return r - fma(fma(-r, z, ZERO), _sine(z), lost), fma(z, _cosine(z), _ONE), k


@inlined
def sin(x: np.float32) -> np.float32:
    """Return the sine of x, |x| <= LIMIT."""
    s, c, k = _sine_cosine(x)
    value = select((k & 1) != 0, c, s)
    return from_bits(np.int32(to_bits(value) ^ np.int32((k << 30) & _SIGN)))


@inlined
def cos(x: np.float32) -> np.float32:
    """Return the cosine of x, |x| <= LIMIT."""
    s, c, k = _sine_cosine(x)
    value = select((k & 1) != 0, s, c)
    return from_bits(np.int32(to_bits(value) ^ np.int32(((k + 1) << 30) & _SIGN)))


@inlined
def tan(x: np.float32) -> np.float32:
    """Return r over r cot(r), or minus its inverse, plus rounding errors; -0 stays.

    The rounding error of z = r^2 is not corrected: it changes the result by less than 1/8 ulp. Near multiples of pi/2,
    `lost` may be as large as r / 1000: the inverse is that of the corrected denominator.
    """
    r, lost, k = _reduce(x)
    z = fma(r, r, ZERO)
    c = _cotangent(z)
    d = fma(z, c, _ONE)
    d_rest = fma(z, c, _ONE - d)
    r_rest = lost * fma(z, _SLOPE, -_ONE)
    odd = (k & 1) != 0
    above, above_rest = select(odd, d, r), select(odd, d_rest, r_rest)
    below, below_rest = select(odd, r, d), select(odd, r_rest, d_rest)
    inverse = _ONE / (below + below_rest)
    quotient = above * inverse
    excess = fma(quotient, below_rest, fma(quotient, below, -above) - above_rest)
    return from_bits(np.int32(to_bits(fma(-excess, inverse, quotient)) ^ np.int32(k << 31)))
