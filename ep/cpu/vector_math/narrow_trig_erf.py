"""sin, cos and erfc for float32 arguments and results that will be rounded to float32.

Computed in float64, where rounding errors do not count, with polynomials by Remez' exchange that are good to 2^-28.
"""

from typing import Any

from ep.cpu.vector_math.bits import fabs, fma, from_bits, select, to_bits
from ep.cpu.vector_math.inlined import inlined
from ep.cpu.vector_math.narrow import exp_unbounded
from ep.cpu.vector_math.polynomial import polynomial
from ep.cpu.vector_math.trigonometric import HALF_PI, ROUND, TWO_OVER_PI

# sin(sqrt z) / sqrt z and cos(sqrt z) on 0 <= z <= (pi/4)^2
_sine = polynomial(
    1.0,
    -0.16666654910319667,
    0.008332175850079872,
    -0.00019516972699206808,
)
_cosine = polynomial(
    1.0,
    -0.5,
    0.041666646821536715,
    -0.0013887364874179814,
    2.443811412924183e-05,
)


@inlined
def _reduced_sin_cos(x: float) -> Any:
    """(sin r, cos r, k) for x = k pi/2 + r, |r| <= pi/4; of k only the low bits are good."""
    shifted = fma(x, TWO_OVER_PI, ROUND)
    k = shifted - ROUND
    r = fma(-k, HALF_PI[1], fma(-k, HALF_PI[0], x))
    z = r * r
    return r * _sine(z), _cosine(z), to_bits(shifted)


@inlined
def sin(x: float) -> float:
    """The sine of x, |x| <= LIMIT of `trigonometric`."""
    s, c, k = _reduced_sin_cos(x)
    return from_bits(to_bits(select((k & 1) != 0, c, s)) ^ ((k & 2) << 62))


@inlined
def cos(x: float) -> float:
    """The cosine of x, |x| <= LIMIT of `trigonometric`."""
    s, c, k = _reduced_sin_cos(x)
    return from_bits(to_bits(select((k & 1) != 0, s, c)) ^ (((k + 1) & 2) << 62))


@inlined
def sin_cos_or_tan(which: int, x: float, quarters: int) -> float:
    """The sine, cosine or tangent (0, 1 or 2) of x + quarters pi/2, |x| <= LIMIT of `trigonometric`."""
    s, c, k = _reduced_sin_cos(x)
    k += quarters + (which & 1)
    odd = (k & 1) != 0
    tangent = which == 2
    value = select(odd, c, s) / select(tangent, select(odd, s, c), 1.0)
    return from_bits(to_bits(value) ^ select(tangent, k << 63, (k & 2) << 62))


# (x + 3) e^(x^2) erfc(x) in (x - 3) / (x + 3) on 0 <= x <= 10.1
_erfc_fraction = polynomial(
    1.0740069077047552,
    -0.8833944851568465,
    0.5902283043785518,
    -0.3104660459717711,
    0.11952896917035429,
    -0.02683958874715785,
    -0.0012258311488008314,
    0.0030800610836415874,
    -0.0004843543236707555,
    -0.00032593940914734076,
)
_ERFC_END = 10.1


@inlined
def erfc(x: float) -> float:
    """1 - erf(x); 0 from 10.1 on."""
    a = fabs(x)
    a = select(a > _ERFC_END, _ERFC_END, a)
    inverse = 1.0 / (a + 3.0)
    tail = _erfc_fraction(fma(-6.0, inverse, 1.0)) * inverse * exp_unbounded(-a * a)
    return select(x < 0.0, 2.0 - tail, tail)
