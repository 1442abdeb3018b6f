"""sin, cos and tan without branches, for |x| <= LIMIT.

x = k pi/2 + r with |r| <= pi/4. pi/2 is taken in three doubles p1, p2, p3: x - k p1 is exact, since the difference is
below 1 and a multiple of the last bit of x and of p1; k p2 is subtracted with its rounding errors; of k p3 only the
value matters. The reduced argument is a sum of two doubles, good to 2^-120 absolutely, and no double comes nearer to a
multiple of pi/2 than 2^-62. LIMIT keeps k exact and the quotient good to 2^-13.
"""

from typing import Any, Final

from ep.cpu.kernels.vector_math.bits import fma, from_bits, select, to_bits
from ep.cpu.kernels.vector_math.inlined import inlined
from ep.cpu.kernels.vector_math.polynomial import polynomial

LIMIT: Final = 2.0**40
"""The largest magnitude that sin, cos and tan are good for."""

TWO_OVER_PI = 0.6366197723675814
# pi/2 to 160 bits
HALF_PI = (1.5707963267948966, 6.123233995736766e-17, -1.4973849048591698e-33)
# adding it leaves a number rounded to an integer, whose low bits are those of the sum
ROUND = 1.5 * 2.0**52

# (sin(sqrt z) / sqrt z - 1) / z and (cos(sqrt z) - 1 + z / 2) / z^2 on 0 <= z <= (pi/4)^2, by Remez' exchange for the
# error relative to sin and cos: 2^-57 and 2^-59.
_sine = polynomial(
    -0.16666666666666632,
    0.00833333333332238,
    -0.00019841269829778485,
    2.7557313680732895e-06,
    -2.5050756220484955e-08,
    1.5896678367648105e-10,
)
_cosine = polynomial(
    0.0416666666666666,
    -0.0013888888888874075,
    2.48015872894489e-05,
    -2.755731434215383e-07,
    2.0875721818320068e-09,
    -1.1359569001059492e-11,
)


@inlined
def _reduce(x: float) -> Any:
    """(r, its rest, k): x = k pi/2 + r + rest; of k only the low bits are good."""
    shifted = fma(x, TWO_OVER_PI, ROUND)
    k = shifted - ROUND
    t = fma(-k, HALF_PI[0], x)
    p = fma(k, HALF_PI[1], 0.0)  # through fma, lest the difference below be fused
    r = t - p
    back = r - t
    rest = (t - (r - back)) - (p + back)
    rest = fma(-k, HALF_PI[2], rest - fma(k, HALF_PI[1], -p))
    return r, rest, to_bits(shifted)


@inlined
def _sin_cos(r: float, rest: float) -> Any:
    """The sine and cosine of r + rest, |r| <= pi/4, each as a leading double and a small correction."""
    z = fma(r, r, 0.0)
    half = 0.5 * z
    sine_rest = fma(fma(z, r, 0.0), _sine(z), fma(-half, rest, rest))
    cosine = 1.0 - half
    cosine_rest = ((1.0 - cosine) - half) + fma(fma(z, z, 0.0), _cosine(z), -fma(r, rest, 0.0))
    return r, sine_rest, cosine, cosine_rest


@inlined
def _renormalised(a: float, b: float) -> Any:
    """a + b rounded, and what is missing; |b| <= |a|."""
    total = a + b
    return total, (a - total) + b


@inlined
def sine_at(r: float, rest: float, k: int) -> float:
    """The sine of k pi/2 + r + rest."""
    s, s_rest, c, c_rest = _sin_cos(r, rest)
    odd = (k & 1) != 0
    value = select(odd, c, s) + select(odd, c_rest, s_rest)
    return from_bits(to_bits(value) ^ ((k & 2) << 62))


@inlined
def cosine_at(r: float, rest: float, k: int) -> float:
    """The cosine of k pi/2 + r + rest."""
    return sine_at(r, rest, k + 1)


@inlined
def tangent_at(r: float, rest: float, k: int) -> float:
    """The tangent of k pi/2 + r + rest: the quotient of sine and cosine, or of -cosine and sine, corrected."""
    s, s_rest, c, c_rest = _sin_cos(r, rest)
    odd = (k & 1) != 0
    above, above_rest = _renormalised(select(odd, c, s), select(odd, c_rest, s_rest))
    below, below_rest = _renormalised(select(odd, s, c), select(odd, s_rest, c_rest))
    inverse = 1.0 / below
    quotient = fma(above, inverse, 0.0)
    missing = fma(-quotient, below, above) + fma(-quotient, below_rest, above_rest)
    return from_bits(to_bits(fma(missing, inverse, quotient)) ^ (k << 63))


@inlined
def sin(x: float) -> float:
    """The sine of x, |x| <= LIMIT."""
    r, rest, k = _reduce(x)
    return select(x == 0.0, x, sine_at(r, rest, k))


@inlined
def cos(x: float) -> float:
    """The cosine of x, |x| <= LIMIT."""
    r, rest, k = _reduce(x)
    return cosine_at(r, rest, k)


@inlined
def tan(x: float) -> float:
    """The tangent of x, |x| <= LIMIT."""
    r, rest, k = _reduce(x)
    return select(x == 0.0, x, tangent_at(r, rest, k))
