"""The reciprocal square root in float64, without the slow instructions for roots and quotients."""

from ep.cpu.vector_math.bits import fma, from_bits, select, shift_right, to_bits
from ep.cpu.vector_math.inlined import inlined
from ep.cpu.vector_math.polynomial import polynomial_chain
from ep.cpu.vector_math.root_coefficients import RSQRT

_INF, _NAN = float("inf"), float("nan")
_SMALLEST_NORMAL, _UP, _ROOT_UP = 2.0**-1022, 2.0**54, 2.0**27
_GUESS, _INF_BITS = 0x5FE6000000000000, 0x7FF0000000000000
_first_step = polynomial_chain(*RSQRT)


@inlined
def rsqrt_of_normal(x: float) -> float:
    """Return 1 / sqrt(x) of normal x > 0.

    A guess from the bits of x, a polynomial in its error, to 2^-15.6, and two Newton steps.
    """
    guess = from_bits(_GUESS - shift_right(to_bits(x), 1))
    # (1 - e)^(-1/2) for 0.007 < e < 0.126
    e = fma(-fma(x, guess, 0.0), guess, 1.0)
    y = fma(guess, _first_step(e), 0.0)
    y = fma(fma(0.5, y, 0.0), fma(-fma(x, y, 0.0), y, 1.0), y)
    product = fma(x, y, 0.0)
    rest = fma(-fma(x, y, -product), y, fma(-product, y, 1.0))
    return fma(fma(0.5, y, 0.0), rest, y)


@inlined
def rsqrt(x: float) -> float:
    """Return 1 / sqrt(x)."""
    subnormal = x < _SMALLEST_NORMAL
    y = rsqrt_of_normal(select(subnormal, x * _UP, x))
    y = select(x == _INF, 0.0, y)
    y = select(subnormal, y * _ROOT_UP, y)
    y = select(x < 0.0, _NAN, y)
    return select(x == 0.0, from_bits(to_bits(x) | _INF_BITS), y)
