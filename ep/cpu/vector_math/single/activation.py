"""The gated activations in float32 arithmetic.

A rounding error in an exponent of a hundred would be an error of a hundred ulps in the result. So an exponent is a sum
of two numbers.
"""

import numpy as np

from ep.common.functor.unary.activation import FAST_GELU_A, FAST_GELU_B, QUICK_GELU_SLOPE
from ep.cpu.vector_math.bits import fma, from_bits, select
from ep.cpu.vector_math.inlined import inlined
from ep.cpu.vector_math.limits import at_least, at_most
from ep.cpu.vector_math.single.exponential import ONE_BITS, ZERO, exp_tail, reduced
from ep.cpu.vector_math.single.sigmoid import ENOUGH, ONE, UP_BITS, VANISHED, gated, small_unit
from ep.cpu.vector_math.sums import sum_of_ordered

_TWO = np.float32(2.0)

_SLOPE = np.float32(QUICK_GELU_SLOPE)
_SLOPE_REST = np.float32(QUICK_GELU_SLOPE - float(_SLOPE))
_QUICK_LOW, _QUICK_HIGH = np.float32(-66.0), np.float32(12.0)

# x sigmoid(x (C + D x^2)): C = 2 A, D = 2 A B of fast_gelu
_TWO_A = 2.0 * FAST_GELU_A
_C = np.float32(1634.0 / 1024.0)  # 11 bits
_C_REST = np.float32(_TWO_A - float(_C))
_D = np.float32(_TWO_A * FAST_GELU_B)
_D_REST = np.float32(_TWO_A * FAST_GELU_B - float(_D))
_FAST_LOW, _FAST_HIGH = np.float32(-11.0), np.float32(6.5)


@inlined
def silu(x: np.float32) -> np.float32:
    """Return x sigmoid(x)."""
    y = at_least(x, VANISHED)
    return gated(y, at_most(y, ENOUGH), ZERO)


@inlined
def quick_exponent(x: np.float32) -> tuple[np.float32, np.float32]:
    """Return 1.702 x, and its rounding error."""
    z = fma(x, _SLOPE, ZERO)
    return z, fma(x, _SLOPE_REST, fma(x, _SLOPE, -z))


@inlined
def quick_gelu(x: np.float32) -> np.float32:
    """Return x sigmoid(1.702 x)."""
    x = at_least(x, _QUICK_LOW)
    z, z_rest = quick_exponent(at_most(x, _QUICK_HIGH))
    return gated(x, z, z_rest)


@inlined
def fast_exponent(x: np.float32) -> tuple[np.float32, np.float32]:
    """Return 2 A (x + B x^3), and its rounding error."""
    square = fma(x, x, ZERO)
    square_rest = fma(x, x, -square)
    factor = fma(square, _D, _C)
    factor_rest = fma(square, _D, _C - factor) + fma(square, _D_REST, fma(square_rest, _D, _C_REST))
    z = fma(x, factor, ZERO)
    return z, fma(x, factor_rest, fma(x, factor, -z))


@inlined
def fast_gelu(x: np.float32) -> np.float32:
    """Return x sigmoid(2 A (x + B x^3))."""
    x = at_least(x, _FAST_LOW)
    z, z_rest = fast_exponent(at_most(x, _FAST_HIGH))
    return gated(x, z, z_rest)


@inlined
def mish(x: np.float32) -> np.float32:
    """Return x tanh(ln(1 + e^x)) = x n / (n + 2), n = e^x (e^x + 2).

    For negative x, n is scaled by 2^64 until the end.
    """
    x = at_least(x, VANISHED)
    y = at_most(x, ENOUGH)
    r, r_rest, n_bits = reduced(y, ZERO)
    tail = exp_tail(r, r_rest)
    rest, rest_rest = sum_of_ordered(r, tail)
    unit = small_unit(x)
    power = from_bits(np.int32(n_bits + select(unit < ONE, UP_BITS, ONE_BITS)))
    e, e_rest = sum_of_ordered(power, fma(rest, power, ZERO))
    e_rest = fma(rest_rest, power, e_rest)
    more = fma(e, unit, _TWO)
    more_rest = fma(e, unit, _TWO - more)
    n = fma(e, more, ZERO)
    n_rest = fma(e, more, -n) + fma(e, more_rest, e_rest * (more + more - _TWO))
    below = fma(n, unit, _TWO)
    below_rest = fma(n_rest, unit, fma(n, unit, _TWO - below))
    inverse = ONE / below
    quotient = fma(n, inverse, ZERO)
    missing = fma(-quotient, below, n) + fma(-quotient, below_rest, n_rest)
    return (x * fma(missing, inverse, quotient)) * unit
