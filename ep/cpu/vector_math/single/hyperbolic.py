"""tanh, sinh and cosh in float32 arithmetic."""

import math

import numpy as np

from ep.cpu.vector_math.bits import copysign, fabs, fma, from_bits, select, to_bits
from ep.cpu.vector_math.constants import SHIFT_FLOAT32 as SHIFT
from ep.cpu.vector_math.inlined import inlined
from ep.cpu.vector_math.limits import at_most
from ep.cpu.vector_math.polynomial import polynomial, polynomial_chain, polynomial_pairs
from ep.cpu.vector_math.single.coefficients import COSH, EXP_OF_TWICE, SINH, TANH
from ep.cpu.vector_math.single.exponential import LN2, LN2_REST, LOG2_E, ZERO, power_of_2

_ONE, _TWO, _ENOUGH = np.float32(1.0), np.float32(2.0), np.float32(10.0)
_TWO_LOG2_E, _HALF_LN2 = np.float32(2.0 / math.log(2.0)), np.float32(math.log(2.0) / 2.0)
_SMALL = np.float32(0.955)

_LARGEST, _TINY = np.float32(89.5), np.float32(2.0**-13)  # sinh overflows at the first, and is x below the second
_QUARTER_BITS, _NO_BITS = np.int32(125 << 23), np.int32(0)

_tanh_rest, _exp_of_twice = polynomial(*TANH), polynomial_pairs(*EXP_OF_TWICE)
_cosh_rest, _sinh_rest = polynomial_chain(*COSH), polynomial_chain(*SINH)


@inlined
def _tanh_small(a: np.float32) -> np.float32:
    """Return tanh for |a| < 0.96."""
    z = fma(a, a, ZERO)
    return fma(fma(_tanh_rest(z), z, ZERO), a, a)


@inlined
def _tanh_large(a: np.float32) -> np.float32:
    """Return 1 - 2 / (e^2a + 1), whose rounding errors shrink as a grows."""
    a = at_most(a, _ENOUGH)
    shifted = fma(a, _TWO_LOG2_E, SHIFT)
    r = fma(shifted - SHIFT, -_HALF_LN2, a)
    power = power_of_2(np.int32(to_bits(shifted) << 23))
    sum_ = fma(fma(fma(_exp_of_twice(r), r, _TWO), r, ZERO), power, power + _ONE)
    return fma(-_TWO, _ONE / sum_, _ONE)


@inlined
def tanh(x: np.float32) -> np.float32:
    """Return the hyperbolic tangent."""
    a = fabs(x)
    return copysign(select(a < _SMALL, _tanh_small(a), _tanh_large(a)), x)


@inlined
def _parts(x: np.float32) -> tuple[np.float32, np.float32, np.float32, np.float32, np.float32, np.float32]:
    """Return p, p_rest, m, r, s and c: cosh x / 2 = p (1 + c) + m (r + s) and |sinh x| / 2 = m (1 + c) + p (r + s).

    With |x| = n ln(2) + r + r_rest: p + p_rest and m are the sum and the difference of 2^(n - 2) and 2^(-n - 2), so m
    is 0 for small x; cosh of the reduced argument is 1 + c, and sinh is r + s.
    """
    a = fabs(x)
    a = at_most(a, _LARGEST)
    shifted = fma(a, LOG2_E, SHIFT)
    n = shifted - SHIFT
    r = fma(n, -LN2, a)
    r_rest = fma(n, -LN2_REST, ZERO)
    t = r + r_rest
    z = fma(t, t, ZERO)
    n_bits = np.int32(to_bits(shifted) << 23)
    below = np.int32(_QUARTER_BITS - n_bits)
    up, down = from_bits(np.int32(_QUARTER_BITS + n_bits)), from_bits(select(below < _NO_BITS, _NO_BITS, below))
    p = up + down
    return p, down - (p - up), up - down, r, fma(fma(t, z, ZERO), _sinh_rest(z), r_rest), fma(z, _cosh_rest(z), ZERO)


@inlined
def sinh(x: np.float32) -> np.float32:
    """Return the hyperbolic sine. p r + m includes its rounding error."""
    p, _, m, r, s, c = _parts(x)
    high = fma(p, r, m)
    low = fma(p, r, m - high) + fma(p, s, fma(m, c, ZERO))
    return select(fabs(x) < _TINY, x, copysign((high + low) * _TWO, x))


@inlined
def cosh(x: np.float32) -> np.float32:
    """Return the hyperbolic cosine."""
    p, p_rest, m, r, s, c = _parts(x)
    return (p + fma(p, c, fma(m, r + s, p_rest))) * _TWO
