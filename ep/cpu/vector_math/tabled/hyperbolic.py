"""tanh, asinh, acosh and atanh in float64 by tables."""

from ep.cpu.vector_math.bits import copysign, fabs, fma, to_bits
from ep.cpu.vector_math.constants import LN2, LOG2_E
from ep.cpu.vector_math.constants import SHIFT_SIXTEENTHS as SHIFT
from ep.cpu.vector_math.hyperbolic import area_functions
from ep.cpu.vector_math.inlined import inlined
from ep.cpu.vector_math.instructions import scale
from ep.cpu.vector_math.limits import at_most
from ep.cpu.vector_math.polynomial import polynomial_pairs
from ep.cpu.vector_math.sums import sum_of
from ep.cpu.vector_math.tabled.coefficients import HALF_EXPM1
from ep.cpu.vector_math.tabled.logarithm import log_sum
from ep.cpu.vector_math.tabled.powers import power, power_rest

asinh, acosh, atanh = area_functions(log_sum)


_half_rest = polynomial_pairs(*HALF_EXPM1)
"""q(u), (e^2u - 1) / 2 = u + u^2 q(u), for |u| <= ln(2) / 64."""


@inlined
def tanh(x):
    """(e^2|x| - 1) / (e^2|x| + 1), with what rounding lost of both: e^2|x| = p e^2u, p = 2^n, n a multiple of 1/16."""
    a = fabs(x)
    a = at_most(a, 22.0)
    shifted = fma(a, 2.0 * LOG2_E[0], SHIFT)
    n = shifted - SHIFT
    index = to_bits(shifted)
    u = fma(n, -0.5 * LN2[0], a)
    rest = fma(u * u, _half_rest(u), fma(power_rest(index), u + 0.5, n * (-0.5 * LN2[1])))
    p = scale(power(index), n + 1.0)  # twice as much
    first = fma(0.5, p, -1.0)
    above = fma(p, u, first)
    above_rest = fma(p, rest, fma(p, u, first - above))
    below, below_rest = sum_of(2.0, above)
    below_rest += above_rest
    inverse = 1.0 / (below + below_rest)
    quotient = (above + above_rest) * inverse
    missing = fma(-quotient, below_rest, fma(-quotient, below, above) + above_rest)
    return copysign(fma(missing, inverse, quotient), x)
