"""exp, exp2 and expm1 in float32 arithmetic, and the parts of e^x for other functions."""

from typing import Final

import numpy as np

from ep.cpu.vector_math.bits import fabs, fma, from_bits, select, to_bits
from ep.cpu.vector_math.constants import SHIFT_FLOAT32 as SHIFT
from ep.cpu.vector_math.inlined import inlined
from ep.cpu.vector_math.limits import clamp
from ep.cpu.vector_math.polynomial import polynomial_chain, polynomial_pairs
from ep.cpu.vector_math.single import coefficients

LOG2_E = np.float32(coefficients.LOG2_E[0])
LN2, LN2_REST = map(np.float32, coefficients.LN2)  # the first has 16 bits
ONE_BITS = np.int32(127 << 23)  # of 1.0
ZERO = np.float32(0.0)

_EXPONENT, _EXPONENT_1 = np.int32(-(1 << 23)), np.int32(1 << 23)
_HALF, _ONE, _TWO, _TINY = np.float32(0.5), np.float32(1.0), np.float32(2.0), np.float32(2.0**-25)
_LOWEST, _HIGHEST = np.float32(-104.0), np.float32(89.0)
_LOWEST_2, _HIGHEST_2 = np.float32(-151.0), np.float32(129.0)
_LOWEST_M1 = np.float32(-20.0)

_exp_rest, _expm1_rest = polynomial_pairs(*coefficients.EXP), polynomial_pairs(*coefficients.EXPM1)
"""(e^r - 1 - r) / r^2 for |r| <= ln(2) / 2; the second is accurate relative to e^r - 1."""
_exp2_polynomial = polynomial_chain(1.0, *coefficients.EXP2)
exp_polynomial = polynomial_chain(1.0, 1.0, *coefficients.EXP)
"""e^r for |r| <= ln(2) / 2."""


@inlined
def reduced(x: np.float32, x_rest: np.float32) -> tuple[np.float32, np.float32, np.int32]:
    """Return r, r_rest and the bits of n shifted to the exponent: x + x_rest = n ln(2) + r + r_rest, |r| <= ln(2) / 2.

    r is exact, r_rest of the size of the rounding error of n ln(2).
    """
    shifted = fma(x, LOG2_E, SHIFT)
    n = shifted - SHIFT
    return fma(n, -LN2, x), fma(n, -LN2_REST, x_rest), np.int32(to_bits(shifted) << 23)


@inlined
def power_of_2(n_bits: np.int32) -> np.float32:
    """Return 2^n for -127 < n < 128, given n shifted to the exponent."""
    return from_bits(np.int32(n_bits + ONE_BITS))


@inlined
def exp_tail(r: np.float32, r_rest: np.float32) -> np.float32:
    """Return e^(r + r_rest) - 1 - r, to 2^-28 of e^r."""
    t = r + r_rest
    return fma(t * t, _exp_rest(t), r_rest)


@inlined
def scaled(p: np.float32, n_bits: np.int32) -> np.float32:
    """Return p 2^n for |n| < 250, rounded once: the power of 2 is two factors."""
    half_bits = np.int32((n_bits >> 1) & _EXPONENT)
    return (p * power_of_2(half_bits)) * power_of_2(np.int32(n_bits - half_bits))


@inlined
def exp(x: np.float32) -> np.float32:
    """Return e^x."""
    x = clamp(x, _LOWEST, _HIGHEST)
    shifted = fma(x, LOG2_E, SHIFT)
    n = shifted - SHIFT
    r = fma(n, -LN2_REST, fma(n, -LN2, x))
    return scaled(exp_polynomial(r), np.int32(to_bits(shifted) << 23))


@inlined
def _exp2(x: np.float32) -> tuple[np.float32, np.int32]:
    """Return p and the bits of n shifted to the exponent: 2^x = 2^n p."""
    shifted = x + SHIFT
    r = x - (shifted - SHIFT)
    return _exp2_polynomial(r), np.int32(to_bits(shifted) << 23)


@inlined
def exp2(x: np.float32) -> np.float32:
    """Return 2^x."""
    p, n_bits = _exp2(clamp(x, _LOWEST_2, _HIGHEST_2))
    return scaled(p, n_bits)


EXP2_LIMIT: Final = 125.0
"""The largest magnitude of an ordinary argument of exp2."""


@inlined
def exp2_of_ordinary(x: np.float32) -> np.float32:
    """Return 2^x for |x| <= EXP2_LIMIT."""
    p, n_bits = _exp2(x)
    return from_bits(np.int32(to_bits(p) + n_bits))


@inlined
def expm1(x: np.float32) -> np.float32:
    """Return e^x - 1 = (2^n - 1) + 2^n r + 2^n tail. The rounding errors of the first two sums are corrected.

    2^n would overflow before the result does. So 2^n / 2 is used, and the sum is doubled.
    """
    r, r_rest, n_bits = reduced(clamp(x, _LOWEST_M1, _HIGHEST), ZERO)
    t = r + r_rest
    t2 = t * t
    half = power_of_2(np.int32(n_bits - _EXPONENT_1))
    less = half - _HALF
    head = fma(r, half, less)
    head_rest = fma(r, half, less - head) + ((half - less) - _HALF)
    y = (head + fma(fma(t2, _expm1_rest(t), r_rest), half, head_rest)) * _TWO
    return select(fabs(x) < _TINY, x, y)
