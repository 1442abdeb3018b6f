"""log, log2, log10 and log1p in float64, by tables.

x = 2^k m with 1 <= m < 2. The four upper bits of m choose an inverse c, so that r = m c - 1 is small, and

    log x = (k log 2 - log c) + log(1 + r).

The difference is exact except for a low part, since both are rounded to multiples of the same power of two: so nothing
is lost just below 1, where they cancel. In the first and the last sixteenth c is 1 and 1/2: there the difference is
exactly 0 on both sides of 1, and r is exact. Zeros and infinity have infinite exponents, and so the sum is infinite, as
low parts of log 2 are positive.
"""

from collections.abc import Iterable
from fractions import Fraction

import numpy as np

from ep.cpu.vector_math.bits import copysign, fma, select, shift_right, to_bits
from ep.cpu.vector_math.constants import LOG2_E, LOG10_E, ln, pair
from ep.cpu.vector_math.inlined import inlined
from ep.cpu.vector_math.instructions import exponent, mantissa, scale
from ep.cpu.vector_math.lookup import Table, table
from ep.cpu.vector_math.polynomial import polynomial_pairs
from ep.cpu.vector_math.tabled.coefficients import LOG

# 128 c: |r| is smallest, except in the second and the second last sixteenth, where the results themselves are small
_INVERSES = tuple(n / 128 for n in (128, 120, 111, 105, 100, 95, 91, 87, 84, 80, 77, 74, 72, 69, 68, 64))
_INF = float("inf")
_LAST_BIT = -42  # leaves 11 bits of a double that begins with 1/2 for the exponent


def _tables(values: Iterable[Fraction]) -> tuple[Table[np.float64], Table[np.float64]]:
    """Return the look-ups of the high and of the low parts of `values`."""
    high, low = zip(*(pair(value, _LAST_BIT) for value in values), strict=True)
    return table(high, np.float64), table(low, np.float64)


_LN2, _LN10 = ln(2), ln(10)
_LOGARITHMS = [-ln(c) for c in _INVERSES]

_inverse = table(_INVERSES, np.float64)
_ln_high, _ln_low = _tables(_LOGARITHMS)
_log2_high, _log2_low = _tables(y / _LN2 for y in _LOGARITHMS)
_log10_high, _log10_low = _tables(y / _LN10 for y in _LOGARITHMS)
_rest = polynomial_pairs(*LOG)
"""q(r), with ln(1 + r) = r + r^2 q(r), for -1/32 <= r < 1/16."""
_LN2_HIGH, _LN2_LOW = pair(_LN2, _LAST_BIT)
_LOG10_2_HIGH, _LOG10_2_LOW = pair(_LN2 / _LN10, _LAST_BIT)


@inlined
def _reduced(x: float) -> tuple[float, float, int]:
    """Return k, r and the index of c."""
    m = mantissa(x)
    index = shift_right(to_bits(m), 48)
    return exponent(x), fma(m, _inverse(index), -1.0), index


@inlined
def log(x: float) -> float:
    """Return the natural logarithm."""
    k, r, index = _reduced(x)
    low = fma(k, _LN2_LOW, _ln_low(index))
    return fma(k, _LN2_HIGH, _ln_high(index)) + (r + fma(r * r, _rest(r), low))


@inlined
def log2(x: float) -> float:
    """Return the logarithm to base 2."""
    k, r, index = _reduced(x)
    low = fma(r, LOG2_E[1], _log2_low(index))
    return (k + _log2_high(index)) + fma(r, LOG2_E[0], fma(LOG2_E[0] * (r * r), _rest(r), low))


@inlined
def log10(x: float) -> float:
    """Return the logarithm to base 10."""
    k, r, index = _reduced(x)
    low = fma(r, LOG10_E[1], fma(k, _LOG10_2_LOW, _log10_low(index)))
    square = LOG10_E[0] * (r * r)
    return fma(k, _LOG10_2_HIGH, _log10_high(index)) + fma(r, LOG10_E[0], fma(square, _rest(r), low))


@inlined
def log_sum(u: float, low: float, k_offset: float) -> float:
    """Return ln(2^k_offset (u + low)) for u >= 0 with |low| below its last bit."""
    k, r, index = _reduced(u)
    # low times 2^-k, which must not become infinity
    rest = scale(_inverse(index) * low, select(k < -1100.0, 1100.0, -k))
    k += k_offset
    low = fma(k, _LN2_LOW, _ln_low(index)) + fma(rest, -r, rest)
    return fma(k, _LN2_HIGH, _ln_high(index)) + (r + fma(r * r, _rest(r), low))


@inlined
def log1p(x: float) -> float:
    """Return ln(1 + x), including the rounding error of 1 + x; -0 stays."""
    u = 1.0 + x
    part = u - 1.0
    low = (1.0 - (u - part)) + (x - part)
    return copysign(log_sum(u, select(x < _INF, low, 0.0), 0.0), x)
