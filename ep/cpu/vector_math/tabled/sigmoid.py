"""sigmoid, x sigmoid(z), softplus and logsigmoid in float64 by tables.

With z = m ln 2 - r, m a multiple of 1/16 and t = 2^-(m - floor m), sigmoid(z) = 2^floor(m) / (2^floor(m) + t e^r).
"""

from ep.cpu.vector_math.bits import fma, to_bits
from ep.cpu.vector_math.constants import LN2, LOG2_E
from ep.cpu.vector_math.constants import SHIFT_SIXTEENTHS as SHIFT
from ep.cpu.vector_math.inlined import inlined
from ep.cpu.vector_math.instructions import scale
from ep.cpu.vector_math.limits import at_least, at_most, clamp
from ep.cpu.vector_math.sigmoid import ENOUGH, VANISHED, softplus_functions
from ep.cpu.vector_math.sums import sum_of_ordered
from ep.cpu.vector_math.tabled.exponential import exp, exp_fraction
from ep.cpu.vector_math.tabled.logarithm import log_sum
from ep.cpu.vector_math.tabled.powers import inverse_power, inverse_power_rest

softplus, logsigmoid = softplus_functions(exp, log_sum)


@inlined
def _terms(z: float, z_rest: float) -> tuple[float, float, float, float]:
    """Return m, t, r and rest for z + z_rest: t e^r is t (1 + r + rest)."""
    shifted = fma(z, LOG2_E[0], SHIFT)
    m = shifted - SHIFT
    index = to_bits(shifted)
    r = fma(m, LN2[1], fma(m, LN2[0], -z) - z_rest)
    return m, inverse_power(index), r, fma(r * r, exp_fraction(r), inverse_power_rest(index))


@inlined
def _sum(m: float, t: float) -> tuple[float, float]:
    """Return 2^floor(m) + t, and its rounding error."""
    unit = scale(1.0, m)
    return sum_of_ordered(at_least(unit, t), at_most(unit, t))


@inlined
def sigmoid(x: float) -> float:
    """Return 1 / (1 + e^-x). The rounding errors of the sums and of the quotient are corrected."""
    m, t, r, rest = _terms(clamp(x, VANISHED, ENOUGH), 0.0)
    one, one_rest = _sum(m, t)
    first = fma(t, r, one)
    rest = fma(t, rest, fma(t, r, one - first) + one_rest)
    sum_ = first + rest
    inverse = 1.0 / sum_
    missing = fma(-inverse, (first - sum_) + rest, fma(-inverse, sum_, 1.0))
    return scale(fma(missing, inverse, inverse), m)


@inlined
def gated(x: float, z: float, z_rest: float) -> float:
    """Return x sigmoid(z + z_rest) for VANISHED <= z <= ENOUGH, or a little beyond."""
    m, t, r, rest = _terms(z, z_rest)
    one, one_rest = _sum(m, t)
    return scale(x / (one + fma(t, r + rest, one_rest)), m)
