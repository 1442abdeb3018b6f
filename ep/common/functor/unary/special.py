"""The logarithmic derivatives of the gamma function; ln |gamma| itself is the math library's."""

import math

from ep.common.functor.coefficients import DIGAMMA_ABOVE, DIGAMMA_BELOW, DIGAMMA_ROOT
from ep.common.functor.math_library import Function, MathLibrary, Scalar
from ep.common.functor.table import functor
from ep.include.primitive.unary_op import UnaryOp

_BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6)
_ASYMPTOTIC_FROM = 12


def digamma_on_1_to_2(m: MathLibrary) -> Function:
    """Return the function psi(x) for 1 <= x <= 2.

    It is relatively accurate around its root: the distance of x to it is exact.
    """
    one = m.T(1)
    r0, r1, r2 = (m.T(part) for part in DIGAMMA_ROOT)
    p, q = tuple(m.T(c) for c in DIGAMMA_ABOVE), tuple(m.T(c) for c in DIGAMMA_BELOW)

    def f(x: Scalar) -> Scalar:
        t = x - one
        above = p[0] + t * (p[1] + t * (p[2] + t * (p[3] + t * (p[4] + t * p[5]))))
        below = q[0] + t * (q[1] + t * (q[2] + t * (q[3] + t * (q[4] + t * (q[5] + t * q[6])))))
        return (((x - r0) - r1) - r2) * (above / below)

    return f


def digamma_of_positive(m: MathLibrary) -> Function:
    """Return the function psi(x) for x > 0.

    x is moved into 1 ... 2 by psi(x + 1) = psi(x) + 1/x. For large x, the asymptotic series is used.
    """
    zero, half, one, two, large, log = m.T(0), m.T(0.5), m.T(1), m.T(2), m.T(_ASYMPTOTIC_FROM), m.log
    central = m.use(digamma_on_1_to_2)
    c = tuple(m.T(b / (2 * (k + 1))) for k, b in enumerate(_BERNOULLI))

    def f(x: Scalar) -> Scalar:
        if x >= large:
            r = one / x
            t = r * r
            series = t * (c[0] + t * (c[1] + t * (c[2] + t * (c[3] + t * (c[4] + t * (c[5] + t * c[6]))))))
            return log(x) - (half * r + series)
        if x < one:
            return central(x + one) - one / x
        rest = zero
        while x > two:
            x -= one
            rest += one / x
        return central(x) + rest

    return f


@functor(UnaryOp.kDigamma)
def digamma(m: MathLibrary) -> Function:
    """psi(x) = d/dx ln gamma(x); -inf at +0, +inf at -0, NaN at the other poles.

    For x < 0 by reflection, psi(1 - x) - pi cot(pi x). The distance to the nearest integer is exact, and so is its
    distance to one half, from which the cotangent is computed if it is small.
    """
    zero, quarter, half, one, pi, nan = m.T(0), m.T(0.25), m.T(0.5), m.T(1), m.T(math.pi), m.T(math.nan)
    tan, rint, copysign, positive = m.tan, m.rint, m.copysign, m.use(digamma_of_positive)

    def f(x: Scalar) -> Scalar:
        if x > zero:
            return positive(x)
        if x == zero:
            return -one / x
        r = x - rint(x)
        d = abs(r)
        if d == zero:
            return nan
        cotangent = tan(pi * (half - d)) if d > quarter else one / tan(pi * d)
        return positive(one - x) - pi * copysign(cotangent, r)

    return f


def trigamma_of_positive(m: MathLibrary) -> Function:
    """Return the function psi'(x) for x > 0: 1/x^2 + psi'(x + 1) until the asymptotic series holds."""
    zero, half, one, large = m.T(0), m.T(0.5), m.T(1), m.T(_ASYMPTOTIC_FROM)
    c = tuple(m.T(b) for b in _BERNOULLI)

    def f(x: Scalar) -> Scalar:
        rest = zero
        while x < large:
            r = one / x
            rest += r * r
            x += one
        r = one / x
        t = r * r
        series = t * (c[0] + t * (c[1] + t * (c[2] + t * (c[3] + t * (c[4] + t * (c[5] + t * c[6]))))))
        return rest + r * (one + (half * r + series))

    return f


@functor(UnaryOp.kTrigamma)
def trigamma(m: MathLibrary) -> Function:
    """psi'(x), the derivative of digamma; +inf at the poles.

    For x < 0 by reflection, (pi / sin(pi x))^2 - psi'(1 - x), on the exact distance to the nearest integer.
    """
    zero, one, pi, infinity = m.T(0), m.T(1), m.T(math.pi), m.T(math.inf)
    sin, rint, positive = m.sin, m.rint, m.use(trigamma_of_positive)

    def f(x: Scalar) -> Scalar:
        if x > zero:
            return positive(x)
        r = x - rint(x)
        if r == zero:
            return infinity
        s = pi / sin(pi * r)
        return s * s - positive(one - x)

    return f
