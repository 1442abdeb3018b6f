"""erf, erfc and gelu without branches.

erfc and gelu are computed from w(x) = e^(x^2) erfc(x), x >= 0, which is smooth on the whole half line: (x + c) w(x) is
a polynomial in q = (x - c) / (x + c). The rounding errors of the quotients are corrected to first order, by w' = 2 x w
- 2 / sqrt(pi); so w is a sum of two doubles, and e^(-x^2) w is rounded about once. For erfc, where c is a power of two,
q = 1 - 2 c / (x + c) is practically exact for the rounded 1 / (x + c), and only x has an error.
"""

from ep.cpu.vector_math.bits import copysign, fabs, fma, select, to_bits
from ep.cpu.vector_math.coefficients import (
    ERF,
    ERF_BEYOND_ONE,
    ERF_ONE,
    ERF_SQUARE,
    ERF_TWICE,
    ERFC,
    ERFC_REST,
    EXP,
    GELU,
    GELU_REST,
    SQRT_TWO_OVER_PI,
    TWO_OVER_SQRT_PI,
)
from ep.cpu.vector_math.constants import LN2, LOG2_E, SHIFT, SHIFT_BITS
from ep.cpu.vector_math.inlined import inlined
from ep.cpu.vector_math.limits import at_most
from ep.cpu.vector_math.polynomial import polynomial, polynomial_tree
from ep.cpu.vector_math.scaling import scaled

_exponential = polynomial(*EXP)


@inlined
def _power(s: float, s_rest: float) -> tuple[float, int]:
    """Return p and n, with e^-(s + s_rest) = 2^n (1 + p), for 0 <= s < 1000."""
    shifted = fma(s, -LOG2_E[0], SHIFT)
    k = shifted - SHIFT
    r = fma(-k, LN2[0], -s)  # exact: a multiple of the last bits of both, below 1/2
    rest = fma(-k, LN2[1], -s_rest)
    t = r + rest
    return r + fma(t * t, _exponential(t), rest), to_bits(shifted) - SHIFT_BITS


@inlined
def _times_power(w: float, w_rest: float, p: float, n: int) -> float:
    """Return (w + w_rest) 2^n (1 + p), correct also for results below the smallest normal number."""
    return scaled(w + fma(w, p, fma(w_rest, p, w_rest)), n)


@inlined
def _divided(value: float, value_rest: float, below: float, below_rest: float, inverse: float) -> tuple[float, float]:
    """Return the quotient of two sums, as a double and its error. inverse: of `below`."""
    quotient = fma(value, inverse, 0.0)
    return quotient, (fma(-quotient, below, value) + fma(-quotient, below_rest, value_rest)) * inverse


@inlined
def _inverse(a: float, centre: float) -> tuple[float, float]:
    """Return the rounded inverse of a + centre, and the difference of a from the number for which it is exact."""
    below = a + centre
    inverse = 1.0 / below
    return inverse, fma(fma(inverse, below, -1.0), below, a - (below - centre))


@inlined
def _last_steps(q: float, upper: float, first: float, second: float) -> tuple[float, float]:
    """Return first + q (second + q upper), as a double and its error."""
    t = fma(q, upper, 0.0)
    u = second + t
    u_rest = (second - u) + t
    p = fma(q, u, 0.0)
    value = first + p
    return value, ((first - value) + p) + fma(q, u_rest, fma(q, u, -p))


_ERFC_CENTRE = 4.0
_ERFC_END = 27.3
_erfc_upper = polynomial_tree(*ERFC[2:])


@inlined
def erfc(x: float) -> float:
    """Return 1 - erf(x), with relative accuracy where it vanishes."""
    a = fabs(x)
    a = at_most(a, _ERFC_END)
    inverse, dx = _inverse(a, _ERFC_CENTRE)
    s = fma(a, a, 0.0)
    p, n = _power(s, fma(a, a, -s))  # computed while the core waits for the quotient
    q = fma(-2.0 * _ERFC_CENTRE, inverse, 1.0)
    m, m_rest = _last_steps(q, _erfc_upper(q), ERFC[0], ERFC[1])
    w = fma(m, inverse, 0.0)
    w_rest = fma(m_rest + ERFC_REST, inverse, fma(m, inverse, -w))
    w_rest = fma(dx, fma(a + a, w, -TWO_OVER_SQRT_PI), w_rest)
    tail = _times_power(w, w_rest, p, n)
    return select(x < 0.0, 2.0 - tail, tail)


_GELU_CENTRE = 5.0
_GELU_END = 38.7
_gelu_upper = polynomial_tree(*GELU[2:])


@inlined
def gelu(x: float) -> float:
    """Return x / 2 (1 + erf(x / sqrt 2)), with relative accuracy where it vanishes.

    With a = |x|, the value at -a is -t, and that at a is a - t, for t = a w(a / sqrt 2) e^(-a^2 / 2) / 2.
    """
    a = fabs(x)
    a = at_most(a, _GELU_END)
    above, below = a - _GELU_CENTRE, a + _GELU_CENTRE
    above_rest, below_rest = a - (above + _GELU_CENTRE), a - (below - _GELU_CENTRE)
    inverse = 1.0 / below
    s = fma(a, a, 0.0)
    p, n = _power(0.5 * s, 0.5 * fma(a, a, -s))  # computed while the core waits for the quotient
    q, q_rest = _divided(above, above_rest, below, below_rest, inverse)
    m, m_rest = _last_steps(q, _gelu_upper(q), GELU[0], GELU[1])
    w, w_rest = _divided(m, m_rest + GELU_REST, below, below_rest, inverse)
    dx = q_rest * fma(below, below, 0.0) * (0.5 / _GELU_CENTRE)
    w_rest = fma(dx, fma(a + inverse, w, -0.5 * SQRT_TWO_OVER_PI), w_rest)
    product = fma(a, w, 0.0)
    product_rest = fma(a, w_rest, fma(a, w, -product))
    tail = _times_power(product, product_rest, p, n)
    return select(x < 0.0, -tail, x - tail)


_erf_lower = polynomial(*ERF)
_erf_upper = polynomial(*ERF_BEYOND_ONE)
_ERF_END = 6.0


@inlined
def erf(x: float) -> float:
    """Return erf(x): up to 1 an odd polynomial, above it 1 - erfc, where erfc is the fourth power of a polynomial.

    With c^4 = 1 - erf(1), 1 - (c + t)^4 = erf(1) - w (w + 2 c^2) for w = t (t + 2 c): near 1, where rounding errors
    would matter most, t vanishes.
    """
    a = fabs(x)
    low = fma(a, _erf_lower(fma(a, a, 0.0)), a)
    t = _erf_upper(at_most(a, _ERF_END) - 1.0)
    w = fma(t, t + ERF_TWICE, 0.0)
    high = fma(-w, w + ERF_SQUARE, ERF_ONE)
    return copysign(select(a > 1.0, high, low), x)
