"""sinh, cosh, tanh, asinh, acosh and atanh in float64."""

from ep.cpu.vector_math.bits import Ternary, Unary, copysign, fabs, fma, from_bits, select, sqrt, to_bits
from ep.cpu.vector_math.coefficients import COSH, SINH, TANH
from ep.cpu.vector_math.constants import LN2, LN2_SHORT, LOG2_E, SHIFT, SHIFT_BITS
from ep.cpu.vector_math.inlined import inlined
from ep.cpu.vector_math.limits import at_most
from ep.cpu.vector_math.logarithm import log_sum
from ep.cpu.vector_math.polynomial import polynomial_chain, polynomial_pairs

_ONE = 1023 << 52  # the bits of 1.0
_INF, _NAN = float("inf"), float("nan")
_HALF_LN2, _HALF_LN2_REST = 0.5 * LN2[0], 0.5 * LN2[1]
_cosh_rest, _sinh_rest, _tanh_rest = polynomial_chain(*COSH), polynomial_chain(*SINH), polynomial_pairs(*TANH)


@inlined
def _tangent_rest(u: float, u_rest: float) -> float:
    """Return tanh(u + u_rest) - u. It is below u / 100, so the sum is easily accurate to 2^-58."""
    z = u * u
    square = fma(-2.0 / 3.0, z * z, z)  # tanh(u)^2, and 1 - tanh(u)^2 is the derivative
    return fma(u * z, _tanh_rest(z), fma(-square, u_rest, u_rest))


@inlined
def _quotient(top: float, top_rest: float, bottom: float, bottom_rest: float) -> float:
    """Return (top + top_rest) / (bottom + bottom_rest), rounded once except for an error of about 2^-58."""
    below = bottom + bottom_rest
    inverse = 1.0 / below
    q = (top + top_rest) / below  # not times the inverse: the dividers are idle, and a quotient is ready sooner
    missing = fma(-q, bottom, top) + fma(-q, bottom_rest, top_rest)
    return fma(missing, inverse, q)


@inlined
def tanh(x: float) -> float:
    """Return (m + p t) / (p + m t), with p and m = 1 +- 2^-n, and t the hyperbolic tangent of the reduced argument.

    |x| = n ln(2)/2 + u with |u| <= ln(2)/4, and e^2|x| = 2^n (1 + t) / (1 - t) with t = tanh(u).
    """
    a = fabs(x)
    a = at_most(a, 22.0)
    shifted = fma(a, 2.0 * LOG2_E[0], SHIFT)
    k = shifted - SHIFT
    u = fma(k, -_HALF_LN2, a)  # exact
    t_rest = _tangent_rest(u, k * -_HALF_LN2_REST)
    power = from_bits(_ONE - ((to_bits(shifted) - SHIFT_BITS) << 52))
    p = 1.0 + power
    m = 2.0 - p
    lost = (1.0 - p) + power
    pu = fma(p, u, 0.0)
    top = m + pu
    top_rest = fma(p, t_rest, ((m - top) + pu) + fma(p, u, -pu))
    bottom = fma(m, u, p)
    bottom_rest = fma(m, t_rest, fma(m, u, p - bottom))
    # if a bit of 2^-n is lost, the quotient is nearly 1: the denominator's error is moved to the numerator
    top_rest = fma(-2.0, fma(lost, -u, lost), top_rest)
    return copysign(_quotient(top, top_rest, bottom, bottom_rest), x)


@inlined
def _parts(a: float) -> tuple[float, float, float, float, float]:
    """Return p, m, r, r', c and s for 0 <= a < 712, so that e^a = 2p e^r, e^-a = 2m e^-r up to the scale of 2^64.

    With cosh r = 1 + c, sinh r = r + s (r + r' in twice the precision): cosh a = (p + m) cosh r + (p - m) sinh r, and
    sinh a = (p - m) cosh r + (p + m) sinh r, where p - m is 0 for the smallest a. If a > 600, p is divided by 2^64, and
    m, which is then negligible, is multiplied by it.
    """
    shifted = fma(a, LOG2_E[0], SHIFT)
    n = shifted - SHIFT
    r_high = fma(n, -LN2_SHORT[0], a)
    r_low = n * -LN2_SHORT[1]
    r = r_high + r_low
    z = r * r
    c, s = _cosh_rest(z), _sinh_rest(z)
    offset = select(a > 600.0, (1022 - 64) << 52, 1022 << 52)
    p_bits = (to_bits(shifted) << 52) + offset
    return from_bits(p_bits), from_bits((2044 << 52) - p_bits), r_high, fma(s, r * z, r_low), c * z


@inlined
def _scale(a: float) -> float:
    return select(a > 600.0, 2.0**64, 1.0)


@inlined
def sinh(x: float) -> float:
    """Return the hyperbolic sine."""
    a = fabs(x)
    a = at_most(a, 711.0)
    p, m, r, s, c = _parts(a)
    plus, minus = p + m, p - m
    high = fma(plus, r, minus)
    low = fma(plus, r, minus - high) + fma(plus, s, minus * c)
    return select(fabs(x) < 2.0**-28, x, copysign((high + low) * _scale(a), x))


@inlined
def cosh(x: float) -> float:
    """Return the hyperbolic cosine."""
    a = fabs(x)
    a = at_most(a, 711.0)
    p, m, r, s, c = _parts(a)
    plus, minus = p + m, p - m
    return (plus + fma(plus, c, minus * (r + s))) * _scale(a)


def area_functions(log_sum: Ternary[float]) -> tuple[Unary[float], Unary[float], Unary[float]]:
    """Return asinh, acosh and atanh, made from log_sum(u, low, k), which is ln(2^k (u + low))."""

    @inlined
    def asinh(x: float) -> float:
        """Return ln(|x| + sqrt(x^2 + 1)) with the sum in twice the precision; ln(2 |x|) if 1 is negligible."""
        a = fabs(x)
        big = a > 2.0**28
        square = fma(a, a, 0.0)
        w = 1.0 + square
        part = w - 1.0
        w_low = ((1.0 - (w - part)) + (square - part)) + fma(a, a, -square)
        root = sqrt(w)
        u = root + a
        low = fma(fma(-root, root, w) + w_low, 0.5 / root, (root - u) + a)
        y = log_sum(select(big, a, u), select(big, 0.0, low), select(big, 1.0, 0.0))
        return select(a < _INF, select(a < 2.0**-28, x, copysign(y, x)), x)

    @inlined
    def acosh(x: float) -> float:
        """Return ln(x + sqrt(x^2 - 1)) with the sum in twice the precision; ln(2 x) if 1 is negligible."""
        big = x > 2.0**28
        square = fma(x, x, 0.0)
        w = square - 1.0
        part = w + 1.0
        w_low = (square - part) - (w - (part - 1.0)) + fma(x, x, -square)
        root = sqrt(w + w_low)
        u = x + root
        low = fma(fma(-root, root, w) + w_low, select(root > 0.0, 0.5 / root, 0.0), (x - u) + root)
        y = log_sum(select(big, x, u), select(big, 0.0, low), select(big, 1.0, 0.0))
        return select(x < _INF, select(x >= 1.0, y, _NAN), x)

    @inlined
    def atanh(x: float) -> float:
        """Return ln(1 + 2 |x| / (1 - |x|)) / 2, with the rounding errors of difference, quotient and sum."""
        a = fabs(x)
        bottom = 1.0 - a
        inverse = 1.0 / bottom
        q = (a + a) * inverse
        q_rest = fma(-q, (1.0 - bottom) - a, fma(-q, bottom, a + a))
        u = 1.0 + q
        part = u - 1.0
        y = 0.5 * log_sum(u, fma(q_rest, inverse, (1.0 - (u - part)) + (q - part)), 0.0)
        y = select(a < 1.0, y, select(a == 1.0, _INF, _NAN))
        return select(a < 2.0**-28, x, copysign(y, x))

    return asinh, acosh, atanh


asinh, acosh, atanh = area_functions(log_sum)
