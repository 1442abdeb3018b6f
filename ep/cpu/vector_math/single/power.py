"""pow in float32 arithmetic.

|x| = 2^k m / c with c = 1, 13/16 or 5/8, such that c m = 1 + f is within 1/7 of 1; f is exact. Then

    ln|x| = (k ln(2) - ln(c)) + f - f^2/2 + f^3 Q(f)

as a high, a middle and a low part, each of which is multiplied by y: y ln|x| may be as large as 104, and its error is
the relative error of the result.
"""

import numpy as np

from ep.cpu.vector_math.bits import both, copysign, either, fabs, fma, from_bits, rint, select, to_bits
from ep.cpu.vector_math.constants import SHIFT_FLOAT32 as SHIFT
from ep.cpu.vector_math.inlined import inlined
from ep.cpu.vector_math.limits import clamp
from ep.cpu.vector_math.polynomial import polynomial
from ep.cpu.vector_math.single.coefficients import LN_8_5, LN_16_13, LOG_OF_POWER
from ep.cpu.vector_math.single.exponential import LN2, LN2_REST, LOG2_E, ZERO, exp_polynomial, scaled
from ep.cpu.vector_math.single.logarithm import split

_HALF, _ONE = np.float32(0.5), np.float32(1.0)
_INF, _NAN = np.float32(np.inf), np.float32(np.nan)
_SMALLEST_NORMAL, _UP, _K_LESS = np.float32(2.0**-126), np.float32(2.0**24), np.float32(24 * 2**23)
_FAR, _LARGE = np.float32(128.0), np.float32(2.0**100)
_LOWEST_M = np.int32(0x3F638E39)  # the bits of 8/9
# from the first and from the second number on, c is 13/16 and 5/8
_CUT_1, _CUT_2 = np.float32(1.1), np.float32(18.0 / 13.0)
_C_1, _C_2 = np.float32(13.0 / 16.0), np.float32(5.0 / 8.0)
# k is given times 2^23. The number added to k ln(2) is a multiple of 2^-16 as well, so the sum is exact
_K_LN2, _K_LN2_REST = LN2 * np.float32(2.0**-23), LN2_REST * np.float32(2.0**-23)
(_LN_1, _LN_1_REST), (_LN_2, _LN_2_REST) = map(np.float32, LN_16_13), map(np.float32, LN_8_5)
_rest = polynomial(*LOG_OF_POWER)


@inlined
def _ln(x: np.float32, k_less: np.float32) -> tuple[np.float32, np.float32, np.float32]:
    """Return high, middle and low, whose sum is ln(x) - k_less 2^-23 ln(2), for normal x > 0."""
    k_bits, m = split(x, _LOWEST_M)
    k = np.float32(k_bits) - k_less
    first, second = m > _CUT_1, m > _CUT_2
    f = fma(m, select(second, _C_2, select(first, _C_1, _ONE)), -_ONE)
    start = fma(k, _K_LN2, select(second, _LN_2, select(first, _LN_1, ZERO)))
    tiny = fma(k, _K_LN2_REST, select(second, _LN_2_REST, select(first, _LN_1_REST, ZERO)))
    high = start + f
    half = -_HALF * f
    square = fma(f, half, ZERO)
    tiny += fma(f, half, -square) + (f - (high - start))
    low = fma(fma(square, f, ZERO), _rest(f), tiny)
    middle = square + low
    return high, middle, low - (middle - square)


@inlined
def _exp(product: np.float32, y: np.float32, middle: np.float32, rest: np.float32) -> tuple[np.float32, np.int32]:
    """Return p and the bits of n shifted to the exponent: e^(product + y middle + rest) = 2^n p."""
    shifted = fma(fma(y, middle, product), LOG2_E, SHIFT)
    n = shifted - SHIFT
    r = fma(y, middle, fma(n, -LN2, product)) + fma(n, -LN2_REST, rest)
    return exp_polynomial(r), np.int32(to_bits(shifted) << 23)


@inlined
def pow_of_ordinary(x: np.float32, y: np.float32) -> np.float32:
    """Return x^y for normal x > 0 if the result is a normal number."""
    high, middle, low = _ln(x, ZERO)
    product = fma(y, high, ZERO)
    p, n_bits = _exp(product, y, middle, fma(y, low, fma(y, high, -product)))
    return from_bits(np.int32(to_bits(p) + n_bits))


@inlined
def _signed(x: np.float32, y: np.float32, magnitude: np.float32) -> np.float32:
    """Return x^y, given |x|^y, except for the arguments whose result is 1 or NaN by a rule of its own."""
    half = _HALF * y
    whole = rint(y) == y
    odd = both(whole, rint(half) != half)
    p = select(odd, copysign(magnitude, x), magnitude)
    p = select(both(both(x < ZERO, x > -_INF), rint(y) != y), _NAN, p)
    return select(either(x == _ONE, y == ZERO), _ONE, p)


@inlined
def pow(x: np.float32, y: np.float32) -> np.float32:
    """Return x^y by the rules of C.

    A large product gives 0 or infinity by itself, so the small terms are left out. Limiting y keeps 0 y from being NaN.
    """
    a = fabs(x)
    subnormal = a < _SMALLEST_NORMAL
    high, middle, low = _ln(select(subnormal, a * _UP, a), select(subnormal, _K_LESS, ZERO))
    high = select(a == ZERO, -_INF, select(a < _INF, high, a))
    b = clamp(y, -_LARGE, _LARGE)
    product = fma(b, high, ZERO)
    near = fabs(product) < _FAR
    rest = select(near, fma(b, low, fma(b, high, -product)), ZERO)
    p, n_bits = _exp(clamp(product, -_FAR, _FAR), select(near, b, ZERO), middle, rest)
    return _signed(x, y, scaled(p, n_bits))
