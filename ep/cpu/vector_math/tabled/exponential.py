"""exp, exp2 and expm1 in float64, by tables.

e^x = 2^n e^r with n a multiple of 1/16 and |r| <= ln(2)/32.
"""

from ep.cpu.vector_math.bits import fabs, fma, select, to_bits
from ep.cpu.vector_math.constants import LN2, LOG2_E
from ep.cpu.vector_math.constants import SHIFT_SIXTEENTHS as SHIFT
from ep.cpu.vector_math.inlined import inlined
from ep.cpu.vector_math.instructions import scale
from ep.cpu.vector_math.limits import clamp
from ep.cpu.vector_math.polynomial import polynomial_pairs
from ep.cpu.vector_math.tabled.coefficients import EXP, EXPM1
from ep.cpu.vector_math.tabled.powers import power, power_rest

exp_fraction, _fraction_near_0 = polynomial_pairs(*EXP), polynomial_pairs(*EXPM1)
"""(e^r - 1 - r) / r^2 for |r| <= ln(2) / 32; the second is accurate relative to e^r - 1."""


@inlined
def _scaled_power(r: float, shifted: float, n: float) -> float:
    """Return 2^n e^r, n = shifted - SHIFT."""
    index = to_bits(shifted)
    p = power(index)
    return scale(fma(p, r + fma(r * r, exp_fraction(r), power_rest(index)), p), n)


@inlined
def exp(x: float) -> float:
    """Return e^x."""
    x = clamp(x, -750.0, 750.0)
    shifted = fma(x, LOG2_E[0], SHIFT)
    n = shifted - SHIFT
    return _scaled_power(fma(n, -LN2[1], fma(n, -LN2[0], x)), shifted, n)


@inlined
def exp2(x: float) -> float:
    """Return 2^x."""
    x = clamp(x, -1080.0, 1080.0)
    shifted = x + SHIFT
    n = shifted - SHIFT
    return _scaled_power((x - n) * LN2[0], shifted, n)


@inlined
def expm1(x: float) -> float:
    """Return e^x - 1 = (p - 1) + p (e^r - 1), including the rounding errors of the sums."""
    y = clamp(x, -50.0, 710.0)
    shifted = fma(y, LOG2_E[0], SHIFT)
    n = shifted - SHIFT
    index = to_bits(shifted)
    r = fma(n, -LN2[0], y)
    p = scale(power(index), n - 1.0)  # half of 2^n, since 2^1024 is not a float64
    first = p - 0.5
    total = fma(p, r, first)
    rest = fma(r * r, _fraction_near_0(r), (r + 1.0) * fma(n, -LN2[1], power_rest(index)))
    above = p > 0.5
    lost = select(above, -0.5, p) - (first - select(above, p, -0.5))
    rest = fma(p, rest, fma(p, r, first - total) + lost)
    return select(fabs(x) < 2.0**-54, x, 2.0 * (total + rest))
