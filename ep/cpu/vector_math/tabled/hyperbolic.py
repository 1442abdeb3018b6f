"""tanh, asinh, acosh and atanh in float64 by tables."""

from ep.cpu.vector_math.bits import copysign, fabs, fma, select, to_bits
from ep.cpu.vector_math.constants import LN2, LOG2_E
from ep.cpu.vector_math.hyperbolic import area_functions
from ep.cpu.vector_math.inlined import inlined
from ep.cpu.vector_math.instructions import scale
from ep.cpu.vector_math.tabled.exponential import SHIFT
from ep.cpu.vector_math.tabled.logarithm import log_sum
from ep.cpu.vector_math.tabled.powers import power, power_rest

asinh, acosh, atanh = area_functions(log_sum)


@inlined
def _half_rest(u):
    """Return q(u), (e^2u - 1) / 2 = u + u^2 q(u), for |u| <= ln(2)/64.

    Least squares on Chebyshev nodes of the error relative to e^2u - 1, 2^-58.7, coefficients rounded one by one.
    """
    u2 = u * u
    q01 = fma(1.3333333333333337 / 2, u, 2.0000000000000013 / 2)
    q23 = fma(0.26666666664621264 / 2, u, 0.666666666584458 / 2)
    q45 = fma(0.02539713670221474 / 2, u, 0.0888902273464512 / 2)
    return fma(fma(q45, u2, q23), u2, q01)


@inlined
def tanh(x):
    """(e^2|x| - 1) / (e^2|x| + 1), with what rounding lost of both: e^2|x| = p e^2u, p = 2^n, n a multiple of 1/16."""
    a = fabs(x)
    a = select(a > 22.0, 22.0, a)
    shifted = fma(a, 2.0 * LOG2_E[0], SHIFT)
    n = shifted - SHIFT
    index = to_bits(shifted)
    u = fma(n, -0.5 * LN2[0], a)
    rest = fma(u * u, _half_rest(u), fma(power_rest(index), u + 0.5, n * (-0.5 * LN2[1])))
    p = scale(power(index), n + 1.0)  # twice as much
    first = fma(0.5, p, -1.0)
    above = fma(p, u, first)
    above_rest = fma(p, rest, fma(p, u, first - above))
    below = above + 2.0
    larger, smaller = select(above > 2.0, above, 2.0), select(above < 2.0, above, 2.0)
    below_rest = (smaller - (below - larger)) + above_rest
    inverse = 1.0 / (below + below_rest)
    quotient = (above + above_rest) * inverse
    missing = fma(-quotient, below_rest, fma(-quotient, below, above) + above_rest)
    return copysign(fma(missing, inverse, quotient), x)
