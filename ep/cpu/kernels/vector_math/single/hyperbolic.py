"""tanh in float32 arithmetic."""

import numpy as np

from ep.cpu.kernels.vector_math.bits import copysign, fabs, fma, select
from ep.cpu.kernels.vector_math.inlined import inlined
from ep.cpu.kernels.vector_math.single.exponential import (
    ZERO,
    exp_minus_1_to_the_end,
    largest_first,
    power_of_2,
    reduced,
    sum_of,
)

_ONE, _TWO, _ENOUGH = np.float32(1.0), np.float32(2.0), np.float32(20.0)


@inlined
def tanh(x):  # type: ignore[no-untyped-def]
    """m / (m + 2) for m = e^2|x| - 1; the rounding errors of m, of the sum and of the quotient are made good."""
    a = fabs(x)
    a = a + a
    r, r_rest, n_bits = reduced(select(a > _ENOUGH, _ENOUGH, a), ZERO)
    rest, rest_rest = exp_minus_1_to_the_end(r, r_rest)
    power = power_of_2(n_bits)
    m, m_rest = sum_of(power - _ONE, fma(rest, power, ZERO))
    m_rest = fma(rest_rest, power, m_rest)
    below, below_rest = sum_of(*largest_first(m, _TWO))
    below_rest += m_rest
    inverse = _ONE / below
    quotient = fma(m, inverse, ZERO)
    missing = fma(-quotient, below, m) + fma(-quotient, below_rest, m_rest)
    return copysign(fma(missing, inverse, quotient), x)
