"""The first two derivatives of ln gamma(x), without branches.

With P(b) = b (b + 1) (b + 2) (b + 3), P psi and P^2 psi' have no poles above -4. Up to 3 they are polynomials, psi's
with its root as a factor; from 3 on there are the asymptotic series. Below 0 the reflection formulas are used, with pi
cot(pi x) and (pi / sin(pi x))^2 of the exact distance r to the nearest integer, where 1 / r and 1 / r^2 are computed
separately.
"""

from ep.cpu.vector_math.bits import Unary, both, fabs, fma, rint, select
from ep.cpu.vector_math.coefficients import (
    COSECANT_OF_PI,
    COTANGENT_OF_PI,
    DIGAMMA_PRODUCT,
    DIGAMMA_ROOT,
    DIGAMMA_SERIES,
    TRIGAMMA_PRODUCT,
    TRIGAMMA_SERIES,
)
from ep.cpu.vector_math.inlined import inlined
from ep.cpu.vector_math.logarithm import log
from ep.cpu.vector_math.polynomial import polynomial

_INF, _NAN = float("inf"), float("nan")
_SERIES_FROM = 3.0

_digamma_product, _digamma_series = polynomial(*DIGAMMA_PRODUCT), polynomial(*DIGAMMA_SERIES)
_trigamma_product, _trigamma_series = polynomial(*TRIGAMMA_PRODUCT), polynomial(*TRIGAMMA_SERIES)
_cotangent_rest, _sine_rest = polynomial(*COTANGENT_OF_PI), polynomial(*COSECANT_OF_PI)


@inlined
def _four_factors(b: float) -> float:
    """Return P(b)."""
    u = fma(b, b, 3.0 * b)
    return fma(u, u, 2.0 * u)


def digamma_by(log: Unary[float]) -> Unary[float]:
    """Return the function psi(b) for finite b > 0, given a function that is ln(b) from 3 on."""

    @inlined
    def digamma_of_positive(b: float) -> float:
        small = b < _SERIES_FROM
        product = ((b - DIGAMMA_ROOT[0]) - DIGAMMA_ROOT[1]) * _digamma_product(b)
        quotient = select(small, product, 1.0) / select(small, _four_factors(b), b)
        square = fma(quotient, quotient, 0.0)
        return select(small, quotient, log(b) - fma(square, _digamma_series(square), 0.5 * quotient))

    return digamma_of_positive


def trigamma_by(product: Unary[float], series: Unary[float]) -> Unary[float]:
    """Return the function psi'(b) for b > 0.

    product, series: P(b)^2 psi'(b) up to 3, and the sum of the series from 3 on.
    """

    @inlined
    def trigamma_of_positive(b: float) -> float:
        small = b < _SERIES_FROM
        inverse = 1.0 / select(small, _four_factors(b), b)
        square = fma(inverse, inverse, 0.0)
        large = fma(square, fma(inverse, series(square), 0.5), inverse)
        return select(small, product(b) * inverse * inverse, large)

    return trigamma_of_positive


def reflected_digamma(of_positive: Unary[float]) -> Unary[float]:
    """Return psi for any x: -inf at +0, +inf at -0, NaN at the other poles. Below 0, psi(1 - x) - pi cot(pi x)."""

    @inlined
    def digamma(x: float) -> float:
        above = x > 0.0
        psi = of_positive(select(above, x, 1.0 - x))
        r = x - rint(x)
        # near 0 x itself, whose sign would be lost
        pole = 1.0 / select(fabs(x) < 0.5, x, r)
        below = fma(r, _cotangent_rest(fma(r, r, 0.0)), psi) - pole
        below = select(both(r == 0.0, x < 0.0), _NAN, below)
        return select(above, select(x < _INF, psi, x), below)

    return digamma


def reflected_trigamma(of_positive: Unary[float]) -> Unary[float]:
    """Return psi' for any x: infinity at the poles. Below 0, (pi / sin(pi x))^2 - psi'(1 - x)."""

    @inlined
    def trigamma(x: float) -> float:
        above = x > 0.0
        psi1 = of_positive(select(above, x, 1.0 - x))
        r = x - rint(x)
        pole = 1.0 / r
        return select(above, psi1, fma(pole, pole, _sine_rest(fma(r, r, 0.0)) - psi1))

    return trigamma


digamma_of_positive = digamma_by(log)
trigamma_of_positive = trigamma_by(_trigamma_product, _trigamma_series)
digamma = reflected_digamma(digamma_of_positive)
trigamma = reflected_trigamma(trigamma_of_positive)
