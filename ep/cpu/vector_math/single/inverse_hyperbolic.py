"""asinh, acosh and atanh in float32 arithmetic.

All use the logarithm of a u >= 1: u = 2^k m with 1 <= m < 2, and ln(u) = k ln(2) + 2 atanh((m - 1) / (m + 1)). If k is
0, the quotient is computed from the argument itself: u - 1 has lost accuracy.
"""

import numpy as np

from ep.cpu.vector_math.bits import copysign, fabs, fma, from_bits, select, sqrt, to_bits
from ep.cpu.vector_math.inlined import inlined
from ep.cpu.vector_math.polynomial import polynomial
from ep.cpu.vector_math.single.coefficients import ATANH
from ep.cpu.vector_math.single.exponential import LN2, LN2_REST
from ep.cpu.vector_math.single.logarithm import number, split
from ep.cpu.vector_math.sums import sum_of_ordered

_ZERO, _HALF, _ONE, _TWO = np.float32(0.0), np.float32(0.5), np.float32(1.0), np.float32(2.0)
_INF, _NAN = np.float32(np.inf), np.float32(np.nan)
_BIG = np.float32(2.0**12)  # beyond it 1 is negligible in x^2 + 1
_TINY = np.float32(2.0**-20)
_ONE_BITS = np.int32(127 << 23)
_SIGN_AND_EXPONENT = np.int32(-0x800000)
_EXPONENT_0, _EXPONENT_1 = np.int32(0), np.int32(1 << 23)
_HALF_LN2, _HALF_LN2_REST = LN2 * _HALF, LN2_REST * _HALF

_area_rest = polynomial(*ATANH)
# (2 atanh(t / 2) / t - 1) / t^2 in t^2 for t <= 2/3
_log_rest = polynomial(*(coefficient / 4.0 ** (i + 1) for i, coefficient in enumerate(ATANH)))


@inlined
def _split(u: np.float32, big: np.bool) -> tuple[np.float32, np.float32, np.float32]:
    """Return k, 2^-k and m; k of 2 u if `big`."""
    k_bits, m = split(u, _ONE_BITS)
    k = number(np.int32(k_bits + select(big, _EXPONENT_1, _EXPONENT_0)))
    return k, from_bits(np.int32(_ONE_BITS - k_bits)), m


@inlined
def _log(k: np.float32, t: np.float32, t_rest: np.float32) -> np.float32:
    """Return k ln(2) + 2 atanh(t / 2) + t_rest for 0 <= t <= 2/3 and k >= 0."""
    first = fma(k, LN2, _ZERO)
    total, error = sum_of_ordered(first, t)
    rest = fma(k, LN2_REST, error + t_rest)
    z = fma(t, t, _ZERO)
    return total + fma(fma(z, t, _ZERO), _log_rest(z), rest)


@inlined
def asinh(x: np.float32) -> np.float32:
    """Return ln(u), u = |x| + w, w = sqrt(x^2 + 1); t = 2 |x| / (w + 1) if u < 2, and u = 2 |x| if |x| is big.

    The rounding errors of w, of u, of the denominator and of t are corrected, as far as they matter.
    """
    a = fabs(x)
    big = a > _BIG
    root = sqrt(fma(a, a, _ONE))
    w = select(big, _ZERO, root)
    u = a + w
    k, scale, m = _split(u, big)
    low = u < _TWO
    w_rest = fma(a, a, fma(-root, root, _ONE)) * _HALF  # times about w, which is 1 to 5/4 if u < 2
    m_rest = select(big, _ZERO, fma(w_rest, scale, a - (u - w)) * scale)
    above = select(low, a, (m - _ONE) + m_rest)
    half_below = select(low, w, m)
    below = fma(_HALF, half_below, _HALF)
    below_rest = fma(_HALF, half_below, _HALF - below)
    below_rest = select(low, fma(_HALF, w_rest, below_rest), below_rest)
    t = above / below
    y = _log(k, t, fma(-t, below_rest, fma(-t, below, above)))
    return copysign(select(a < _INF, y, a), x)


@inlined
def acosh(x: np.float32) -> np.float32:
    """Return ln(u), u = x + w, w = sqrt(x^2 - 1); t = 2 (x - 1) / w if u < 2, and u = 2 x if x is big."""
    big = x > _BIG
    e = x - _ONE
    twice = e + e
    root = sqrt(fma(e, e, twice))
    w = select(big, _ZERO, root)
    u = x + w
    k, scale, m = _split(u, big)
    low = u < _TWO
    missing = fma(e, e, fma(-root, root, twice)) * _HALF
    m_rest = select(big, _ZERO, fma(missing, scale, w - (u - x)) * scale)
    above = select(low, twice, (m - _ONE) + m_rest)
    below = select(low, select(w > _TINY, w, _TINY), fma(_HALF, m, _HALF))
    inverse = _ONE / below
    t = fma(above, inverse, _ZERO)
    t_rest = fma(-t, below, above)
    t_rest = select(low, fma(-t, missing * inverse, t_rest), t_rest)
    y = _log(k, t, t_rest * inverse)
    return select(x < _INF, select(x >= _ONE, y, _NAN), x)


@inlined
def atanh(x: np.float32) -> np.float32:
    """Return ln(u) / 2, u = (1 + |x|) / (1 - |x|). The quotient is n / d for n, d = (1 + |x|) -+ 2^k (1 - |x|)."""
    a = fabs(x)
    b = _ONE - a
    b_rest = (_ONE - b) - a
    k_bits = np.int32(np.int32(to_bits(_ONE + a) - to_bits(b)) & _SIGN_AND_EXPONENT)
    power = from_bits(np.int32(k_bits + _ONE_BITS))
    n = a + fma(-power, b_rest, fma(-power, b, _ONE))
    s = n / fma(_TWO, a, _TWO - n)
    k = number(k_bits)
    first = fma(k, _HALF_LN2, _ZERO)
    total, error = sum_of_ordered(first, s)
    rest = fma(k, _HALF_LN2_REST, error)
    z = fma(s, s, _ZERO)
    y = total + fma(fma(z, s, _ZERO), _area_rest(z), rest)
    return copysign(select(a >= _ONE, select(a == _ONE, _INF, _NAN), y), x)
