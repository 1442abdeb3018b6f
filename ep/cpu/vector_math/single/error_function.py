"""erf, erfc and gelu in float32 arithmetic."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ep.cpu.vector_math.bits import copysign, fabs, fma, from_bits, select, to_bits
from ep.cpu.vector_math.inlined import inlined
from ep.cpu.vector_math.limits import at_least, at_most
from ep.cpu.vector_math.polynomial import polynomial
from ep.cpu.vector_math.single import coefficients
from ep.cpu.vector_math.single.exponential import LN2, LN2_REST, LOG2_E, SHIFT, ZERO
from ep.cpu.vector_math.single.piecewise import piecewise

_HALF, _ONE, _TWO = np.float32(0.5), np.float32(1.0), np.float32(2.0)
_MINUS_LOG2_E, _MINUS_HALF_LOG2_E = -LOG2_E, _HALF * -LOG2_E
_TWICE_LN2, _TWICE_LN2_REST = LN2 + LN2, LN2_REST + LN2_REST
_UP_SHIFT = SHIFT + np.float32(127.0 + 64.0)  # leaves the exponent of 2^(n + 64) in the low bits of the sum

_ERF_CUT, _ERF_END = np.float32(1.09375), np.float32(4.0)
_ERF_SMALL_CENTRE, _ERF_LARGE_CENTRE = np.float32(0.4375), np.float32(2.5)
_erf_pieces = piecewise(coefficients.ERF, coefficients.ERFC_FOR_ERF)


@inlined
def erf(x):
    """Return erf(x), which is 1 from 4 on."""
    a = fabs(x)
    a = at_most(a, _ERF_END)
    small = a < _ERF_CUT
    p = _erf_pieces(small, select(small, fma(a, a, -_ERF_SMALL_CENTRE), a - _ERF_LARGE_CENTRE))
    return copysign(select(small, fma(a, p, a), _ONE - p), x)


def _quotient(numerator: float, offset: float, centre: float, first: float, rest: Sequence[float]) -> Any:
    """Return the compiled function of a that gives v, numerator times the relative error of t, and R(a) as two numbers.

    t = numerator / (a + offset), v = t - centre, and R(a) = t (first + v rest(v)); R is given times 2^-64.
    """
    numerator, offset, centre = np.float32(numerator), np.float32(offset), np.float32(centre)
    first, rest = np.float32(first * 2.0**-64), polynomial(*(coefficient * 2.0**-64 for coefficient in rest))

    @inlined
    def quotient(a):
        u = a + offset
        t = numerator / u
        t_rest = fma(t, (u - offset) - a, fma(-t, u, numerator))
        v = t - centre
        p = rest(v)
        q = fma(v, p, first)
        y = fma(t, q, ZERO)
        return v, t_rest, y, fma(t, fma(v, p, first - q), fma(t, q, -y))

    return quotient


_GELU_END = np.float32(14.5)
_gelu_quotient = _quotient(3.25, 2.5, coefficients.GELU_CENTRE, coefficients.GELU_FIRST, coefficients.GELU)
# e^w in 2 w: (e^w - 1 - w) / (2 w)^2
_exp_polynomial = polynomial(*(coefficient / 2.0 ** (i + 2) for i, coefficient in enumerate(coefficients.EXP)))


@inlined
def gelu(x):
    """Return x / 2 (1 + erf(x / sqrt 2)) = max(x, 0) - a R(a) e^(-a^2 / 2) for a = |x|; -0 from -14.5 on.

    R(a) and its sum with R(a) (e^w - 1) include their rounding errors. The power of 2 is two factors, one of them in
    the polynomial, so that tiny results are rounded once.
    """
    a = fabs(x)
    a = at_most(a, _GELU_END)
    # t_rest is nearly twice its effect on R: R is about t^1.6
    _, t_rest, y, y_rest = _gelu_quotient(a)
    # 2 w = r + r_rest
    shifted = fma(fma(a, a, ZERO), _MINUS_HALF_LOG2_E, _UP_SHIFT)
    n = shifted - _UP_SHIFT
    r = fma(-a, a, -fma(n, _TWICE_LN2, ZERO))
    r_rest = fma(n, -_TWICE_LN2_REST, t_rest)
    s = r + r_rest
    tail = fma(fma(s, s, ZERO), _exp_polynomial(s), _HALF * r_rest)
    growth = fma(y, _HALF * r, fma(y, tail, y_rest))
    total = y + growth
    factor = -a * from_bits(np.int32(to_bits(shifted) << 23))
    return copysign(fma(factor, total, fma(factor, growth - (total - y), at_least(x, ZERO))), x)


_ERFC_END = np.float32(10.1)
_erfc_quotient = _quotient(1.625, 1.765625, coefficients.ERFC_CENTRE, coefficients.ERFC_FIRST, coefficients.ERFC)
# the effect of a relative change of t on R, over 13/8, is about linear in v
_ERFC_CHANGE = (np.float32(0.92378), np.float32(0.76147))
_exp_rest = polynomial(*coefficients.EXP)


@inlined
def erfc(x):
    """Return 1 - erf(x) = R(a) e^(-a^2), or 2 minus that, for a = |x|; 0 from 10.1 on. The rest is as in gelu."""
    a = fabs(x)
    a = at_most(a, _ERFC_END)
    v, t_rest, y, y_rest = _erfc_quotient(a)
    shifted = fma(fma(a, a, ZERO), _MINUS_LOG2_E, _UP_SHIFT)
    n = shifted - _UP_SHIFT
    r = fma(-a, a, -fma(n, LN2, ZERO))
    r_rest = fma(t_rest, fma(v, _ERFC_CHANGE[1], _ERFC_CHANGE[0]), fma(n, -LN2_REST, ZERO))
    s = r + r_rest
    growth = fma(y, r, fma(y, fma(fma(s, s, ZERO), _exp_rest(s), r_rest), y_rest))
    total = y + growth
    power = from_bits(np.int32(to_bits(shifted) << 23))
    power = select(x < ZERO, -power, power)
    return fma(power, total, fma(power, growth - (total - y), select(x < ZERO, _TWO, ZERO)))
