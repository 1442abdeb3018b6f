"""sin, cos and tan without branches, for |x| <= LIMIT.

For tan, x = k pi/2 + r with |r| <= pi/4; for sin and cos, x = k pi + r or (k - 1/2) pi + r with |r| <= pi/2, so one
polynomial is enough. pi is the sum of three doubles p1, p2, p3: x - k p1 is exact, since the difference is below 2 and
a multiple of the last bit of x or of p1; k p2 is subtracted with its rounding errors; for k p3 only the value matters.
The reduced argument is a sum of two doubles, with an absolute error of 2^-120, and no double comes nearer to a multiple
of pi/2 than 2^-62. LIMIT keeps k exact and the quotient accurate to 2^-13.
"""

from typing import Final

from ep.cpu.compile.jit import jit
from ep.cpu.vector_math.bits import fabs, fma, from_bits, select, to_bits
from ep.cpu.vector_math.coefficients import COTANGENT, HALF_PI, ONE_OVER_PI, PI, SINE, TWO_OVER_PI
from ep.cpu.vector_math.constants import SHIFT
from ep.cpu.vector_math.inlined import inlined
from ep.cpu.vector_math.polynomial import polynomial

LIMIT: Final = 2.0**40
"""The largest magnitude for which sin, cos and tan are accurate."""

_sine_rest, _cotangent = polynomial(*SINE), polynomial(*COTANGENT)


@inlined
def _subtracted(t: float, k: float, middle: float, last: float) -> tuple[float, float]:
    """Return (r, lost), with t - k (middle + last) = r - lost. t is a multiple of the last bit of k middle."""
    p = fma(k, middle, 0.0)  # through fma, so that the difference below is not fused
    r = t - p
    return r, fma(k, last, ((r - t) + p) + fma(k, middle, -p))


@inlined
def _sine(r: float, lost: float) -> float:
    """Return sin(r - lost), |r| <= pi/2; -0 stays.

    r - sin(r) is more than a half at the end. Most of r^3 / 6 is computed as two products that are exact except for
    their sum, with the rounding error of z = r^2, so that the rounding errors of the rest are those of a small number.
    """
    z = fma(r, r, 0.0)
    eighth = 0.125 * r
    rest = fma(eighth, fma(r, r, -z), lost * fma(z, -0.42, 1.0))  # the bracket is nearly the cosine
    rest = fma(0.03125 * r, z, fma(fma(r, z, 0.0), _sine_rest(z), rest))
    return r - fma(eighth, z, rest)


@inlined
def _tangent(r: float, lost: float, k: int) -> float:
    """Return tan(k pi/2 + r - lost), |r| <= pi/4: r over r cot(r), or its inverse, plus rounding errors; -0 stays.

    The quotient's slope multiplies `lost` by about 1 + 0.8 z, and that of r cot(r) corrects the rounding error of z.
    """
    z = fma(r, r, 0.0)
    c = _cotangent(z)
    d = fma(z, c, 1.0)
    d_rest = fma(fma(r, r, -z), -0.36, fma(z, c, 1.0 - d))
    r_rest = lost * fma(z, -0.8, -1.0)
    odd = (k & 1) != 0
    above, above_rest = select(odd, d, r), select(odd, d_rest, r_rest)
    below, below_rest = select(odd, r, d), select(odd, r_rest, d_rest)
    inverse = 1.0 / below
    quotient = above * inverse
    excess = fma(quotient, below_rest, fma(quotient, below, -above) - above_rest)
    return from_bits(to_bits(fma(-excess, inverse, quotient)) ^ (k << 63))


@inlined
def sin(x: float) -> float:
    """Return the sine of x, |x| <= LIMIT."""
    shifted = fma(x, ONE_OVER_PI, SHIFT)
    k = shifted - SHIFT
    r, lost = _subtracted(fma(-k, PI[0], x), k, PI[1], PI[2])
    return from_bits(to_bits(_sine(r, lost)) ^ (to_bits(shifted) << 63))


@inlined
def cos(x: float) -> float:
    """Return the cosine of x, |x| <= LIMIT. For small x the difference from an odd multiple of pi/2 is not exact."""
    shifted = fma(x, ONE_OVER_PI, 0.5) + SHIFT
    k = (shifted - SHIFT) - 0.5
    t = fma(-k, PI[0], x)
    r, lost = _subtracted(t, k, PI[1], PI[2])
    return from_bits(to_bits(_sine(r, lost + (fma(k, PI[0], t) - x))) ^ (to_bits(shifted) << 63))


@inlined
def tan(x: float) -> float:
    """Return the tangent of x, |x| <= LIMIT."""
    shifted = fma(x, TWO_OVER_PI, SHIFT)
    k = shifted - SHIFT
    r, lost = _subtracted(fma(-k, HALF_PI[0], x), k, HALF_PI[1], HALF_PI[2])
    return _tangent(r, lost, to_bits(shifted))


@jit
def sine_at(r: float, rest: float, k: int) -> float:
    """Return the sine of k pi/2 + r + rest, |r| <= pi/4."""
    lost = -rest
    if k & 1:  # the cosine of r + rest: the sine of pi/2 - |r + rest|
        a, lost = fabs(r), (rest if r > 0.0 else -rest)
        r = HALF_PI[0] - a
        lost += ((r - HALF_PI[0]) + a) - HALF_PI[1]
    value = _sine(r, lost)
    return -value if k & 2 else value


@jit
def cosine_at(r: float, rest: float, k: int) -> float:
    """Return the cosine of k pi/2 + r + rest, |r| <= pi/4."""
    return sine_at(r, rest, k + 1)


@jit
def tangent_at(r: float, rest: float, k: int) -> float:
    """Return the tangent of k pi/2 + r + rest, |r| <= pi/4."""
    return _tangent(r, -rest, k)
