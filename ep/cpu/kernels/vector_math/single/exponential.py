"""exp in float32 arithmetic."""

import numpy as np

from ep.cpu.kernels.vector_math.bits import fma, from_bits, select, to_bits
from ep.cpu.kernels.vector_math.inlined import inlined
from ep.cpu.kernels.vector_math.polynomial import polynomial

SHIFT = np.float32(12582912.0)  # 1.5 * 2^23: adding it leaves the nearest integer in the low bits of the sum
ONE_SHIFT = SHIFT + np.float32(127.0)  # leaves the biased exponent of 2^n there
LOG2_E = np.float32(1.4426950408889634)
LN2, LN2_REST = np.float32(0.693145751953125), np.float32(1.4286068203094172e-06)  # the first has 16 bits

_UP, _DOWN = np.float32(2.0**64), np.float32(2.0**-64)
_UP_SHIFT, _DOWN_SHIFT = ONE_SHIFT - np.float32(64.0), ONE_SHIFT + np.float32(64.0)
_ZERO, _LOWEST, _HIGHEST = np.float32(0.0), np.float32(-104.0), np.float32(89.0)

# e^r on |r| <= ln(2) / 2
_exp_fraction = polynomial(
    1.0, 1.0, 0.4999999403953552, 0.16666516661643982, 0.04166810214519501, 0.00836916547268629, 0.0013838002923876047
)


@inlined
def clamp(x, low, high):  # type: ignore[no-untyped-def]
    """x between low and high; NaN stays."""
    x = select(high < x, high, x)
    return select(low > x, low, x)


@inlined
def power_of_2(shifted):  # type: ignore[no-untyped-def]
    """2^n for shifted = ONE_SHIFT + n, -127 < n < 128."""
    return from_bits(np.int32(to_bits(shifted) << 23))


@inlined
def exp(x):  # type: ignore[no-untyped-def]
    """e^x; the power of 2 is two factors, so that all of e^x but the last product is a normal number."""
    x = clamp(x, _LOWEST, _HIGHEST)
    down = x < _ZERO
    shift = select(down, _DOWN_SHIFT, _UP_SHIFT)
    shifted = fma(x, LOG2_E, shift)
    n = shifted - shift
    r = fma(n, -LN2_REST, fma(n, -LN2, x))
    return (_exp_fraction(r) * power_of_2(shifted)) * select(down, _DOWN, _UP)
