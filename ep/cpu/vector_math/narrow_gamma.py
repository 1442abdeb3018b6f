"""ln |gamma(x)| and its first two derivatives for float32 values and results that will be rounded to float32.

As in `gamma` and `polygamma`, without care for rounding errors and subnormal numbers. But the polynomials are the same
where results come near 0 below 0, as the terms that cancel there have to be good to the last bits of float64.
"""

from ep.cpu.vector_math.bits import either, fabs, fma, select
from ep.cpu.vector_math.gamma import CONSTANT, STIRLING_FROM, reciprocal, sine_of_pi, stirling
from ep.cpu.vector_math.inlined import inlined
from ep.cpu.vector_math.logarithm import exponent, log_rest, split
from ep.cpu.vector_math.polygamma import digamma_by, reflected_digamma, reflected_trigamma, trigamma_by
from ep.cpu.vector_math.polynomial import polynomial

_INF = float("inf")
_LN2 = 0.6931471805599453

# As in `polygamma`, 2^-31 and 2^-29.7; weights even out the errors.
_trigamma_product = polynomial(
    35.999999986005584,
    132.00000169176394,
    252.21759470837424,
    274.58341022464816,
    175.01950513254997,
    64.1600573736208,
    12.501716082570631,
    0.9997161656098875,
    2.141639419396214e-05,
)
_trigamma_series = polynomial(
    0.16666631011994923,
    -0.033299616714746225,
    0.022797231767283002,
    -0.020417116847744988,
)


@inlined
def _log(x: float) -> float:
    """ln(x) for x > 0."""
    bits, mantissa = split(x)
    f = mantissa - 1.0
    return fma(exponent(bits, 1023.0), _LN2, f + log_rest(f))


@inlined
def _lgamma(a: float, below: bool, sine: float) -> float:
    """The function at a >= 0, or, with sine = |sin(pi a)| / pi, at -a."""
    small = a < STIRLING_FROM
    next_reciprocal = fma((a - 1.0) * (a - 2.0), reciprocal(a - 1.5), fma(-0.5, a, 1.5))
    value = select(small, next_reciprocal * select(below, 1.0, a), a)
    log = _log(value)
    # below 0 one more ln(a), that is ln(a) - 1 and 1
    inverse = 1.0 / a
    series = fma(inverse, stirling(inverse * inverse), select(below, CONSTANT + 1.0, CONSTANT))
    large = fma(a + select(below, 0.5, -0.5), log - 1.0, series)
    first = select(small, log, large)
    total = select(small != below, 0.0 - first, first) - _log(sine)
    return select(either(either(value == 0.0, sine == 0.0), a == _INF), _INF, total)


@inlined
def lgamma(x: float) -> float:
    """ln |gamma(x)|; infinity at the poles and at both infinities."""
    a, below = fabs(x), x < 0.0
    return _lgamma(a, below, select(below, sine_of_pi(a), 1.0))


@inlined
def lgamma_of_positive(x: float) -> float:
    """ln gamma(x) for finite x > 0, with the same bits."""
    return _lgamma(x, False, 1.0)


digamma_of_positive = digamma_by(_log)
trigamma_of_positive = trigamma_by(_trigamma_product, _trigamma_series)
digamma = reflected_digamma(digamma_of_positive)
trigamma = reflected_trigamma(trigamma_of_positive)
