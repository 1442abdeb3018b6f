"""exp, exp2 and expm1 in float64.

x = n ln 2 + r with an integer n and |r| <= ln(2)/2, and e^x = 2^n e^r. With e^r = 1 + r + r^2 q(r), the sum of 1 and r
is kept unrounded as high + low, so e^r is accurate to about 2^-56. The functions have no branches: arguments out of
range are clamped. The speed of a loop depends on the latency of an element, from the first instruction to the last,
since a core looks ahead only a limited distance. Hence polynomials are trees, and n is available both as a number and
as an integer.
"""

from ep.cpu.vector_math.bits import fabs, fma, from_bits, select, to_bits
from ep.cpu.vector_math.coefficients import EXP, EXP2, EXPM1
from ep.cpu.vector_math.constants import LN2, LN2_SHORT, LOG2_E, SHIFT, SHIFT_BITS
from ep.cpu.vector_math.inlined import inlined
from ep.cpu.vector_math.limits import clamp
from ep.cpu.vector_math.polynomial import polynomial_pairs, polynomial_quads
from ep.cpu.vector_math.scaling import scaled
from ep.cpu.vector_math.sums import sum_of_four

_ONE, _TWO = 1023 << 52, 1024 << 52  # the bits of 1.0 and 2.0


exp_fraction = polynomial_quads(*EXPM1)
"""q(r) = (e^r - 1 - r) / r^2 for |r| <= ln(2) / 2."""
_exp_cubic = polynomial_quads(*(2.0 * c for c in EXPM1[1:]))
"""c(r), where e^r = 1 + r + r^2 / 2 + r^3 c(r) / 2."""
_exp_fraction = polynomial_pairs(*EXP)
"""The same as exp_fraction with one term less."""
_exp2_fraction = polynomial_quads(*EXP2)
"""(2^r - 1 - r ln(2)) / r^2 for |r| <= 1/2."""


@inlined
def exp_reduced(x: float, x_rest: float) -> tuple[float, float, int]:
    """Return r, s and the integer n for |x| < 1500: e^(x + x_rest) = 2^n (1 + r + s) with r exact and |s| < 0.07."""
    shifted = fma(x, LOG2_E[0], SHIFT)
    n = shifted - SHIFT
    r_high = fma(n, -LN2_SHORT[0], x)
    r_low = fma(n, -LN2_SHORT[1], x_rest)
    r = r_high + r_low
    return r_high, fma(r * r, exp_fraction(r), r_low), to_bits(shifted) - SHIFT_BITS


@inlined
def exp(x: float) -> float:
    """Return e^x, to 0.87 ulp."""
    x = clamp(x, -750.0, 750.0)
    shifted = fma(x, LOG2_E[0], SHIFT)
    n = shifted - SHIFT
    r_high = fma(n, -LN2_SHORT[0], x)
    r = fma(n, -LN2_SHORT[1], r_high)
    rest = fma(r * r, _exp_fraction(r), 0.0)
    # r is rounded, which is accurate enough only for the small terms
    return scaled(1.0 + (r_high + fma(n, -LN2_SHORT[1], rest)), to_bits(shifted) - SHIFT_BITS)


@inlined
def exp2(x: float) -> float:
    """Return 2^x: 2^n times 1 + r p(r), for the nearest integer n and the rest r, |r| <= 1/2."""
    y = clamp(x, -1080.0, 1080.0)
    shifted = y + SHIFT
    r = y - (shifted - SHIFT)
    return scaled(fma(fma(_exp2_fraction(r), r, LN2[0]), r, 1.0), to_bits(shifted) - SHIFT_BITS)


@inlined
def exp_around(x: float) -> tuple[float, float, float, float, int]:
    """Return terms of e^x for -50 < x < 711 that make differences of e^x and 1 sums without cancellation.

    r, h, t, 2^-n, bits of n: e^x = 2^n (1 + r + h + t), r and h are accurate to the last bit, |h| < 0.061, |t| < 0.008.
    2^-n (e^x + c) is (1 + c 2^-n) + r + h + t: for |c| = 1, the bracket is 0 or at least as large as r.
    """
    shifted = fma(x, LOG2_E[0], SHIFT)
    n = shifted - SHIFT
    r = fma(n, -LN2_SHORT[0], x)
    r_low = n * -LN2_SHORT[1]
    n_bits = to_bits(shifted)
    half = 0.5 * r
    h = fma(half, r, 0.0)
    rest = fma(r, r_low, r_low) + fma(half, r, -h)
    r_sum = r + r_low
    t = fma((0.5 * r_sum) * (r_sum * r_sum), _exp_cubic(r_sum), rest)
    # 2^-n as half of a power that is a normal number, or 0
    return r, h, t, 0.5 * from_bits(_TWO - (n_bits << 52)), n_bits


@inlined
def expm1(x: float) -> float:
    """Return e^x - 1."""
    r, h, t, power, n_bits = exp_around(clamp(x, -50.0, 710.0))
    one = 1.0 - power
    y, _ = sum_of_four(one, r, h, t + ((1.0 - one) - power))
    large = x > 1.0
    # 2^n of a large x is multiplied in two steps, as 2^1024 is not a float64
    scale = from_bits((n_bits << 52) + select(large, _ONE - (64 << 52), _ONE))
    return select(fabs(x) < 2.0**-54, x, (y * scale) * select(large, 2.0**64, 1.0))
