"""The hyperbolic tangent of a reduced argument, from which tanh is computed.

y = n ln(2)/2 + u with |u| <= ln(2)/4, and e^2y = 2^n (1 + t) / (1 - t) with t = tanh(u), so tanh is a quotient of terms
linear in t. As t - u is below u / 100, t is easily accurate to 2^-58.
"""

from typing import Any

from ep.cpu.vector_math.bits import fma, to_bits
from ep.cpu.vector_math.coefficients import TANH
from ep.cpu.vector_math.constants import LN2, SHIFT, SHIFT_BITS
from ep.cpu.vector_math.inlined import inlined
from ep.cpu.vector_math.polynomial import polynomial_pairs

_HALF_LN2, _HALF_LN2_REST = 0.5 * LN2[0], 0.5 * LN2[1]
_tanh_rest = polynomial_pairs(*TANH)


@inlined
def reduced(y: float, x: float, factor: float) -> Any:
    """Return u, which is exact, its rest, and n. y = x factor ln(2)/2; callers choose the form that is fastest."""
    shifted = fma(x, factor, SHIFT)
    n = shifted - SHIFT
    return fma(n, -_HALF_LN2, y), n * -_HALF_LN2_REST, to_bits(shifted) - SHIFT_BITS


@inlined
def tangent_rest(u: float, u_rest: float) -> float:
    """Return tanh(u + u_rest) - u."""
    z = u * u
    square = fma(-2.0 / 3.0, z * z, z)  # tanh(u)^2, and 1 - tanh(u)^2 is the derivative
    return fma(u * z, _tanh_rest(z), fma(-square, u_rest, u_rest))


@inlined
def quotient(top: float, top_rest: float, bottom: float, bottom_rest: float) -> float:
    """Return (top + top_rest) / (bottom + bottom_rest), rounded once except for an error of about 2^-58."""
    below = bottom + bottom_rest
    inverse = 1.0 / below
    q = (top + top_rest) / below  # not times the inverse: the dividers are idle, and a quotient is ready sooner
    missing = fma(-q, bottom, top) + fma(-q, bottom_rest, top_rest)
    return fma(missing, inverse, q)
