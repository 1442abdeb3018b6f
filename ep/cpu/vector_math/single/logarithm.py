"""log, log2, log10 and log1p in float32 arithmetic.

x = 2^k (1 + f) with 1 + f between sqrt(1/2) and sqrt(2), or between 3/4 and 3/2 for log1p: there f is exact, from its
argument too. The logarithm of 1 + f is the first term, f log(e), plus the rest, f^2 Q(f) and, where log(e) is not 1,
what it lacks in float32. It is rounded before k log(2) is added, which is then the larger by far, or such that the sum
is nearly exact. log1p keeps the rounding error of k log(2) + f. Q by Remez' exchange for the error relative to the
logarithm, with coefficients rounded to float32.
"""

import math

import numpy as np

from ep.cpu.vector_math.bits import copysign, fma, from_bits, select, to_bits
from ep.cpu.vector_math.inlined import inlined
from ep.cpu.vector_math.polynomial import polynomial
from ep.cpu.vector_math.single.exponential import sum_of

_ZERO, _ONE, _INF, _NAN = np.float32(0.0), np.float32(1.0), np.float32(np.inf), np.float32(np.nan)
_SMALLEST_NORMAL, _UP = np.float32(2.0**-126), np.float32(2.0**24)
_EXPONENTS_UP = np.float32(24.0 * 2.0**23)
_LARGE = np.float32(2.0**40)  # 1 + x is x long before
_SQRT_HALF, _THREE_QUARTERS = np.int32(0x3F3504F3), np.int32(0x3F400000)  # their bits
_ONE_BITS = np.int32(0x3F800000)
_EXPONENT = np.int32(-0x800000)  # the bits of sign and exponent

# the high parts end in 0 bits, so that their product with k is exact
_LN2 = (np.float32(0.693145751953125), np.float32(1.428606765330187e-06))
# these are multiplied by k 2^23, which saves a shift
_K_LN2, _K = np.float32(math.log(2.0) * 2.0**-23), np.float32(2.0**-23)
_K_LOG10_2 = (np.float32(3.588557362377287e-08), np.float32(-1.7071949051910423e-15))
_LOG2_E = (np.float32(1.4426950216293335), np.float32(1.925963033500011e-08))
_LOG10_E = (np.float32(0.4342944920063019), np.float32(-1.0103049952192578e-08))

# degree 8, 2^-27.7
_log_rest = polynomial(
    -0.49999988079071045,
    0.33333325386047363,
    -0.25001582503318787,
    0.2000197470188141,
    -0.1660912185907364,
    0.1418190449476242,
    -0.1324303299188614,
    0.12904506921768188,
    -0.07621881365776062,
)
# degree 9, 2^-29.4
_log2_rest = polynomial(
    _LOG2_E[1],
    -0.7213475108146667,
    0.48089802265167236,
    -0.3606741726398468,
    0.2885710597038269,
    -0.2404642552137375,
    0.20511841773986816,
    -0.17900024354457855,
    0.17169460654258728,
    -0.1684504896402359,
    0.09702152758836746,
)
# degree 8, 2^-27.6
_log10_rest = polynomial(
    _LOG10_E[1],
    -0.21714718639850616,
    0.14476479589939117,
    -0.10858055204153061,
    0.08686748892068863,
    -0.0721321627497673,
    0.0615907683968544,
    -0.05751362442970276,
    0.056043148040771484,
    -0.03310118243098259,
)
# degree 8, 2^-27.4
_log1p_rest = polynomial(
    -0.5,
    0.3333345353603363,
    -0.25000059604644775,
    0.1999063491821289,
    -0.1664791703224182,
    0.14482338726520538,
    -0.13162405788898468,
    0.10448461771011353,
    -0.044910505414009094,
)


@inlined
def _split(x, low):
    """Return k, as the exponent bits of an integer, and 1 + f from that with the bits `low` on, for normal x > 0."""
    k = np.int32(np.int32(to_bits(x) - low) & _EXPONENT)
    return k, from_bits(np.int32(to_bits(x) - k))


@inlined
def _number(k):
    return np.float32(np.int32(k >> 23))


@inlined
def _split_normal(x):
    """Return k 2^23 and f for normal x > 0."""
    k, mantissa = _split(x, _SQRT_HALF)
    return np.float32(k), mantissa - _ONE


@inlined
def _split_any(x):
    """Return k 2^23 and f for any finite x > 0."""
    subnormal = x < _SMALLEST_NORMAL
    k, f = _split_normal(select(subnormal, x * _UP, x))
    return k - select(subnormal, _EXPONENTS_UP, _ZERO), f


@inlined
def _with_limits(x, y):
    y = select(x > _ZERO, y, select(x == _ZERO, -_INF, _NAN))
    return select(x == _INF, x, y)


@inlined
def _ln(k, f, rest):
    """k ln(2) + f + f^2 rest."""
    total, error = sum_of(fma(k, _LN2[0], _ZERO), f)
    return total + fma(fma(f, f, _ZERO), rest, fma(k, _LN2[1], error))


@inlined
def _log(k, f):
    return fma(k, _K_LN2, fma(fma(f, f, _ZERO), _log_rest(f), f))


@inlined
def _log2(k, f):
    return fma(k, _K, fma(f, _LOG2_E[0], fma(f, _log2_rest(f), _ZERO)))


@inlined
def _log10(k, f):
    rest = fma(f, _log10_rest(f), fma(k, _K_LOG10_2[1], _ZERO))
    return fma(k, _K_LOG10_2[0], fma(f, _LOG10_E[0], rest))


@inlined
def log_of_normal(x):
    """The natural logarithm of normal x > 0."""
    k, f = _split_normal(x)
    return _log(k, f)


@inlined
def log2_of_normal(x):
    """The logarithm to base 2 of normal x > 0."""
    k, f = _split_normal(x)
    return _log2(k, f)


@inlined
def log10_of_normal(x):
    """The logarithm to base 10 of normal x > 0."""
    k, f = _split_normal(x)
    return _log10(k, f)


@inlined
def log(x):
    """The natural logarithm."""
    k, f = _split_any(x)
    return _with_limits(x, _log(k, f))


@inlined
def log2(x):
    """The logarithm to base 2."""
    k, f = _split_any(x)
    return _with_limits(x, _log2(k, f))


@inlined
def log10(x):
    """The logarithm to base 10."""
    k, f = _split_any(x)
    return _with_limits(x, _log10(k, f))


@inlined
def log1p(x):
    """ln(1 + x): k is that of 1 + x, and f = x / 2^k + (1 / 2^k - 1) is exact in spite of that sum's rounding."""
    u = _ONE + x
    k, mantissa = _split(u, _THREE_QUARTERS)
    inverse = from_bits(np.int32(_ONE_BITS - k))
    f = select(u < _LARGE, fma(x, inverse, inverse - _ONE), mantissa - _ONE)
    return copysign(_with_limits(u, _ln(_number(k), f, _log1p_rest(f))), x)
