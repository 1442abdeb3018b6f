"""log, log2, log10 and log1p in float32 arithmetic.

x = 2^k (1 + f) with 1 + f between sqrt(1/2) and sqrt(2), or between 3/4 and 3/2 for log1p: there f is exact, also as
computed from its argument. The logarithm of 1 + f is the first term, f log(e), plus the rest: f^2 Q(f) and, if log(e)
is not 1, its rounding error in float32. It is rounded before k log(2) is added, which is then much larger, or such that
the sum is nearly exact. log1p keeps the rounding error of k log(2) + f.
"""

import math

import numpy as np

from ep.cpu.vector_math.bits import Binary, Unary, copysign, fma, from_bits, select, to_bits
from ep.cpu.vector_math.inlined import inlined
from ep.cpu.vector_math.polynomial import polynomial
from ep.cpu.vector_math.single import coefficients
from ep.cpu.vector_math.single.exponential import LN2, LN2_REST
from ep.cpu.vector_math.sums import sum_of_ordered

_ZERO, _ONE, _INF, _NAN = np.float32(0.0), np.float32(1.0), np.float32(np.inf), np.float32(np.nan)
_SMALLEST_NORMAL, _UP = np.float32(2.0**-126), np.float32(2.0**24)
_EXPONENTS_UP = np.float32(24.0 * 2.0**23)
_LARGE = np.float32(2.0**40)  # far beyond the x for which 1 + x is x
_SQRT_HALF, _THREE_QUARTERS = np.int32(0x3F3504F3), np.int32(0x3F400000)  # their bits
_ONE_BITS = np.int32(0x3F800000)
_EXPONENT = np.int32(-0x800000)  # the bits of sign and exponent

# these are multiplied by k 2^23 instead of k, which saves a shift
_K_LN2, _K = np.float32(math.log(2.0) * 2.0**-23), np.float32(2.0**-23)
_K_LOG10_2 = tuple(np.float32(part * 2.0**-23) for part in coefficients.LOG10_2)
_LOG2_E, _LOG10_E = np.float32(coefficients.LOG2_E[0]), np.float32(coefficients.LOG10_E[0])

_log_rest, _log1p_rest = polynomial(*coefficients.LOG), polynomial(*coefficients.LOG1P)
_log2_rest, _log10_rest = polynomial(*coefficients.LOG2), polynomial(*coefficients.LOG10)


@inlined
def split(x: np.float32, low: np.int32) -> tuple[np.int32, np.float32]:
    """Return k, as the exponent bits of an integer, and 1 + f, for normal x > 0.

    low: the bits of the least 1 + f.
    """
    k = np.int32(np.int32(to_bits(x) - low) & _EXPONENT)
    return k, from_bits(np.int32(to_bits(x) - k))


@inlined
def number(k: np.int32) -> np.float32:
    """Return k of `split` as a float32."""
    return np.float32(np.int32(k >> 23))


@inlined
def _split_normal(x: np.float32) -> tuple[np.float32, np.float32]:
    """Return k 2^23 and f for normal x > 0."""
    k, mantissa = split(x, _SQRT_HALF)
    return np.float32(k), mantissa - _ONE


@inlined
def _split_any(x: np.float32) -> tuple[np.float32, np.float32]:
    """Return k 2^23 and f for any finite x > 0."""
    subnormal = x < _SMALLEST_NORMAL
    k, f = _split_normal(select(subnormal, x * _UP, x))
    return k - select(subnormal, _EXPONENTS_UP, _ZERO), f


@inlined
def _with_limits(x: np.float32, y: np.float32) -> np.float32:
    y = select(x > _ZERO, y, select(x == _ZERO, -_INF, _NAN))
    return select(x == _INF, x, y)


@inlined
def _ln(k: np.float32, f: np.float32, rest: np.float32) -> np.float32:
    """Return k ln(2) + f + f^2 rest."""
    total, error = sum_of_ordered(fma(k, LN2, _ZERO), f)
    return total + fma(f * f, rest, fma(k, LN2_REST, error))


@inlined
def _log(k: np.float32, f: np.float32) -> np.float32:
    return fma(k, _K_LN2, fma(f * f, _log_rest(f), f))


@inlined
def _log2(k: np.float32, f: np.float32) -> np.float32:
    return fma(k, _K, fma(f, _LOG2_E, fma(f, _log2_rest(f), _ZERO)))


@inlined
def _log10(k: np.float32, f: np.float32) -> np.float32:
    rest = fma(f, _log10_rest(f), fma(k, _K_LOG10_2[1], _ZERO))
    return fma(k, _K_LOG10_2[0], fma(f, _LOG10_E, rest))


def _of_parts(logarithm: Binary[np.float32]) -> tuple[Unary[np.float32], Unary[np.float32]]:
    """Return the logarithm of any x, and that of normal x > 0, by a function of k 2^23 and f."""

    @inlined
    def of_any(x: np.float32) -> np.float32:
        k, f = _split_any(x)
        return _with_limits(x, logarithm(k, f))

    @inlined
    def of_normal(x: np.float32) -> np.float32:
        k, f = _split_normal(x)
        return logarithm(k, f)

    return of_any, of_normal


log, log_of_normal = _of_parts(_log)
log2, log2_of_normal = _of_parts(_log2)
log10, log10_of_normal = _of_parts(_log10)


@inlined
def log1p(x: np.float32) -> np.float32:
    """Return ln(1 + x).

    k is that of 1 + x, and f = x / 2^k + (1 / 2^k - 1) is exact although 1 + x is rounded.
    """
    u = _ONE + x
    k, mantissa = split(u, _THREE_QUARTERS)
    inverse = from_bits(np.int32(_ONE_BITS - k))
    f = select(u < _LARGE, fma(x, inverse, inverse - _ONE), mantissa - _ONE)
    return copysign(_with_limits(u, _ln(number(k), f, _log1p_rest(f))), x)
