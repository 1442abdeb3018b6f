"""ln |gamma(x)| without branches.

Up to |x| = 3 it is the logarithm of 1 / gamma, which is an entire function: with a = |x|,

    1 / gamma(a) = 1 + (a - 1) (a - 2) (a Q(a) - 1/2),    1 / gamma(1 + a) = (3 - a) / 2 + (a - 1) (a - 2) Q(a),

the first of which is computed by its deviation from 1, so that the zeros at 1 and 2 are exact. From 3 on it is
Stirling's series (a - 1/2) (ln a - 1) + (ln(2 pi) - 1) / 2 + M(1 / a^2) / a. Below 0 the reflection formula is used:
|gamma(x)| = pi / (a gamma(a) |sin(pi a)|). Terms that may cancel are sums of two doubles: near the zeros below 0, the
result has an absolute error of a few units of 2^-53.
"""

from ep.cpu.vector_math.bits import both, either, fabs, fma, rint, select
from ep.cpu.vector_math.coefficients import RECIPROCAL_GAMMA, SINE_OF_PI, STIRLING, STIRLING_CONSTANT
from ep.cpu.vector_math.constants import LN2_SHORT
from ep.cpu.vector_math.inlined import inlined
from ep.cpu.vector_math.logarithm import log_rest, split_any
from ep.cpu.vector_math.polynomial import polynomial, polynomial_tree

_INF = float("inf")
_STIRLING_FROM = 3.0
_reciprocal, _stirling, _sine = polynomial_tree(*RECIPROCAL_GAMMA), polynomial(*STIRLING), polynomial(*SINE_OF_PI)


@inlined
def _log(k: float, f: float, less: float) -> tuple[float, float]:
    """Return k ln(2) + ln(1 + f) - less, as a double and its error. less: 0, or 1 if k >= 2."""
    exact = fma(k, LN2_SHORT[0], -less)
    high = exact + f
    return high, ((exact - high) + f) + fma(k, LN2_SHORT[1], log_rest(f))


@inlined
def _sine_of_pi(a: float) -> float:
    """Return |sin(pi a)| / pi."""
    r = fabs(a - rint(a))
    z = fma(r, r, 0.0)
    return fma(fma(r, z, 0.0), _sine(z), r)


@inlined
def _lgamma(a: float, below: bool, sine: float) -> float:
    """Return the function at a >= 0, or, with sine = |sin(pi a)| / pi, at -a."""
    small = a < _STIRLING_FROM
    roots = fma(a - 1.0, a - 2.0, 0.0)
    q = _reciprocal(a - 1.5)
    deviation = fma(roots, fma(a, q, -0.5), 0.0)
    # up to 3: 1 / gamma(a), and below 0, 1 / gamma(1 + a)
    above = fma(a, fma(roots, q, fma(-0.5, a, 0.5)), a)
    value = select(small, select(below, fma(roots, q, fma(-0.5, a, 1.5)), above), a)
    k, f = split_any(value)
    # computed from the deviation if that is the most accurate
    known = select(k == 0.0, deviation, select(both(k == -1.0, a > 0.5), fma(2.0, deviation, 1.0), f))
    f = select(below, f, known)
    high, low = _log(k, f, select(small, 0.0, 1.0))
    sine_k, sine_f = split_any(sine)
    sine_high, sine_low = _log(sine_k, sine_f, 0.0)

    # below 0 there is one more ln(a), that is ln(a) - 1 and 1
    factor = a + select(below, 0.5, -0.5)
    first = fma(factor, high, 0.0)
    inverse = 1.0 / a
    rest = fma(inverse, _stirling(fma(inverse, inverse, 0.0)), STIRLING_CONSTANT + select(below, 1.0, 0.0))
    rest += fma(factor, low, fma(factor, high, -first))

    first, rest = select(small, high, first), select(small, low, rest)
    minus = small != below
    first, rest = select(minus, -first, first), select(minus, -rest, rest)
    total = first - sine_high
    back = total - first
    error = (first - (total - back)) - (sine_high + back)
    total += error + (rest - sine_low)
    return select(either(either(value == 0.0, sine == 0.0), fabs(first) == _INF), _INF, total)


@inlined
def lgamma(x: float) -> float:
    """Return ln |gamma(x)|; infinity at the poles and at both infinities."""
    a, below = fabs(x), x < 0.0
    return _lgamma(a, below, select(below, _sine_of_pi(a), 1.0))


@inlined
def lgamma_of_positive(x: float) -> float:
    """Return ln gamma(x) for finite x > 0, with the same bits as `lgamma`."""
    return _lgamma(x, False, 1.0)
