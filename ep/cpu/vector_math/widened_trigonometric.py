"""sin, cos and tan of large float32 arguments, for results that will be rounded to float32.

They are computed in float64, where rounding errors are negligible, with polynomials accurate to 2^-28.
"""

from ep.cpu.vector_math.bits import fma, from_bits, select, to_bits
from ep.cpu.vector_math.coefficients import COSINE_FOR_FLOAT32, HALF_PI, SINE_FOR_FLOAT32, TWO_OVER_PI
from ep.cpu.vector_math.constants import SHIFT
from ep.cpu.vector_math.inlined import inlined
from ep.cpu.vector_math.polynomial import polynomial

_sine, _cosine = polynomial(*SINE_FOR_FLOAT32), polynomial(*COSINE_FOR_FLOAT32)


@inlined
def _reduced_sin_cos(x: float) -> tuple[float, float, int]:
    """Return (sin r, cos r, k) for x = k pi/2 + r, |r| <= pi/4. Only the low bits of k are valid."""
    shifted = fma(x, TWO_OVER_PI, SHIFT)
    k = shifted - SHIFT
    r = fma(-k, HALF_PI[1], fma(-k, HALF_PI[0], x))
    z = r * r
    return r * _sine(z), _cosine(z), to_bits(shifted)


@inlined
def sin_cos_or_tan(which: int, x: float, quarters: int) -> float:
    """Return the sine, cosine or tangent (0, 1 or 2) of x + quarters pi/2, |x| <= LIMIT of `trigonometric`."""
    s, c, k = _reduced_sin_cos(x)
    k += quarters + (which & 1)
    odd = (k & 1) != 0
    tangent = which == 2
    value = select(odd, c, s) / select(tangent, select(odd, s, c), 1.0)
    return from_bits(to_bits(value) ^ select(tangent, k << 63, (k & 2) << 62))
