"""The reciprocal square root in float32 arithmetic, without the slow instructions for roots and quotients."""

import numpy as np

from ep.cpu.vector_math.bits import fma, from_bits, select, shift_right, to_bits
from ep.cpu.vector_math.inlined import inlined
from ep.cpu.vector_math.instructions import approximate_rsqrt
from ep.cpu.vector_math.polynomial import polynomial_chain
from ep.cpu.vector_math.root_coefficients import RSQRT

_THREE_EIGHTHS = np.float32(0.375)
_ZERO, _HALF, _ONE = np.float32(0.0), np.float32(0.5), np.float32(1.0)
_INF, _NAN = np.float32(np.inf), np.float32(np.nan)
_SMALLEST_NORMAL, _UP, _ROOT_UP = np.float32(2.0**-126), np.float32(2.0**24), np.float32(2.0**12)
_GUESS, _SHIFT, _INF_BITS = np.int32(0x5F300000), np.int32(1), np.int32(0x7F800000)
_first_step = polynomial_chain(*RSQRT)


@inlined
def rsqrt_of_normal(x: np.float32) -> np.float32:
    """Return 1 / sqrt(x) of normal x > 0.

    A guess from the bits of x, a polynomial in its error, to 2^-15.6, and a Newton step.
    """
    guess = from_bits(np.int32(_GUESS - shift_right(to_bits(x), _SHIFT)))
    # (1 - e)^(-1/2) for 0.007 < e < 0.126
    e = fma(-fma(x, guess, _ZERO), guess, _ONE)
    y = fma(guess, _first_step(e), _ZERO)
    product = fma(x, y, _ZERO)
    rest = fma(-fma(x, y, -product), y, fma(-product, y, _ONE))
    return fma(fma(_HALF, y, _ZERO), rest, y)


@inlined
def rsqrt(x: np.float32) -> np.float32:
    """Return 1 / sqrt(x)."""
    subnormal = x < _SMALLEST_NORMAL
    y = rsqrt_of_normal(select(subnormal, x * _UP, x))
    y = select(x == _INF, _ZERO, y)
    y = select(subnormal, y * _ROOT_UP, y)
    y = select(x < _ZERO, _NAN, y)
    return select(x == _ZERO, from_bits(np.int32(to_bits(x) | _INF_BITS)), y)


@inlined
def rsqrt_by_instruction(x: np.float32) -> np.float32:
    """Return 1 / sqrt(x): an instruction that is accurate to 2^-14 and handles the limits, and a Newton step."""
    y = approximate_rsqrt(x)
    product = fma(x, y, _ZERO)
    rest = fma(-fma(x, y, -product), y, fma(-product, y, _ONE))
    # 3/8 rest^2 matters a little
    better = fma(fma(y, rest, _ZERO), fma(_THREE_EIGHTHS, rest, _HALF), y)
    return select(rest < _ONE, better, y)
