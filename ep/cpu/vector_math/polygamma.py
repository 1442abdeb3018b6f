"""The first two derivatives of ln gamma(x) without branches.

With P(b) = b (b + 1) (b + 2) (b + 3), P psi and P^2 psi' have no poles above -4, and up to 3 they are polynomials, psi
with its root as a factor; from 3 on there are the asymptotic series. Below 0 by reflection, with pi cot(pi x) and
(pi / sin(pi x))^2 of the exact distance r to the nearest integer, 1 / r and 1 / r^2 apart.
"""

from typing import Any

from ep.cpu.vector_math.bits import both, fabs, fma, rint, select
from ep.cpu.vector_math.inlined import inlined
from ep.cpu.vector_math.logarithm import log
from ep.cpu.vector_math.polynomial import polynomial

_INF, _NAN = float("inf"), float("nan")
_SERIES_FROM = 3.0
_ROOT = (1.4616321449683622, 9.549995429965697e-17)  # of psi

# All are fits of the error relative to the result, by least squares on Chebyshev nodes in 70 digits or more, with
# coefficients rounded one by one from the first and the others fitted again.

# P(b) psi(b) / (b - root) on 0 <= b <= 3, 2^-57.3
_digamma_product = polynomial(
    4.105000030722417,
    12.703807920517214,
    10.388096543725297,
    2.7157703328045493,
    0.10403994567125105,
    -0.008580641419161369,
    0.0011519935615168615,
    -0.00019342596284543234,
    3.6843938539705825e-05,
    -7.584084322350313e-06,
    1.6351966653276195e-06,
    -3.5842657368345444e-07,
    7.677802377637113e-08,
    -1.5236580602356457e-08,
    2.6257641622777148e-09,
    -3.650747487693064e-10,
    3.7447369948747545e-11,
    -2.4768748806259305e-12,
    7.840470455790322e-14,
)
# (ln b - 1 / (2 b) - psi(b)) b^2 in 1 / b^2 <= 1/9, 2^-57.5
_digamma_series = polynomial(
    0.0833333333333126,
    -0.008333333323082056,
    0.003968252145837706,
    -0.004166500447753226,
    0.007566679614518177,
    -0.020768860099037424,
    0.07532457115785496,
    -0.29900144183641425,
    1.0412651878449755,
    -2.523959748112405,
    2.9953749170308375,
)
# (1 / r - pi cot(pi r)) / r in r^2 <= 1/4, 2^-52.7 of 1 / r
_cotangent_rest = polynomial(
    3.289868133696449,
    2.1646464674249017,
    2.0346861235015314,
    2.0081547500860477,
    2.0019874583595882,
    2.000539322026939,
    1.9992531294949352,
    2.011043296294813,
    1.902275935537694,
    2.6102320958611838,
    -0.6487061655717397,
    9.71659805972275,
    -11.950703473007943,
    14.83099060476595,
)
# P(b)^2 psi'(b) on 0 <= b <= 3, 2^-56.9
_trigamma_product = polynomial(
    36.0,
    132.00000000000006,
    252.2176264065318,
    274.5831997965863,
    175.02016170698587,
    64.1589448256649,
    12.502836479765001,
    0.9989951771889961,
    0.00034462957695572934,
    -0.00011456628596813611,
    3.67285239080913e-05,
    -1.1170652791330985e-05,
    3.1240832322341322e-06,
    -7.682254620458065e-07,
    1.5731818284721943e-07,
    -2.51837099328071e-08,
    2.9064841580144253e-09,
    -2.1269553462188598e-10,
    7.356409801014241e-12,
)
# (psi'(b) - 1 / b - 1 / (2 b^2)) b^3 in 1 / b^2 <= 1/9, 2^-55.5
_trigamma_series = polynomial(
    0.16666666666663027,
    -0.03333333330834244,
    0.023809517908235094,
    -0.03333263434798547,
    0.07570854615022404,
    -0.2508751453190899,
    1.0958175872253042,
    -5.455750940536402,
    25.831154823446226,
    -97.25801898623044,
    241.32743891458958,
    -285.34454219461526,
)
# (pi / sin(pi r))^2 - 1 / r^2 in r^2 <= 1/4, 2^-53.9 of all
_sine_rest = polynomial(
    3.2898681336965043,
    6.493939402243331,
    10.173430623507885,
    14.0570827022143,
    18.017915347076006,
    22.005031576127113,
    26.009253758527795,
    29.892242555049144,
    35.09905723058646,
    29.913995436216684,
    84.94367246190524,
    -115.6345002230439,
    464.1061986364437,
    -609.7062403007078,
    596.8172101212245,
)


@inlined
def _four_factors(b: float) -> float:
    """P(b)."""
    u = fma(b, b, 3.0 * b)
    return fma(u, u, 2.0 * u)


def digamma_by(log: Any) -> Any:
    """psi(b) for finite b > 0, with a function that is ln(b) from 3 on."""

    @inlined
    def digamma_of_positive(b: float) -> float:
        small = b < _SERIES_FROM
        product = ((b - _ROOT[0]) - _ROOT[1]) * _digamma_product(b)
        quotient = select(small, product, 1.0) / select(small, _four_factors(b), b)
        square = fma(quotient, quotient, 0.0)
        return select(small, quotient, log(b) - fma(square, _digamma_series(square), 0.5 * quotient))

    return digamma_of_positive


def trigamma_by(product: Any, series: Any) -> Any:
    """psi'(b) for b > 0, with functions that are P(b)^2 psi'(b) up to 3, and the sum of the series from 3 on."""

    @inlined
    def trigamma_of_positive(b: float) -> float:
        small = b < _SERIES_FROM
        inverse = 1.0 / select(small, _four_factors(b), b)
        square = fma(inverse, inverse, 0.0)
        large = fma(square, fma(inverse, series(square), 0.5), inverse)
        return select(small, product(b) * inverse * inverse, large)

    return trigamma_of_positive


def reflected_digamma(of_positive: Any) -> Any:
    """The function of any x: -inf at +0, +inf at -0, NaN at the other poles. Below 0, psi(1 - x) - pi cot(pi x)."""

    @inlined
    def digamma(x: float) -> float:
        above = x > 0.0
        psi = of_positive(select(above, x, 1.0 - x))
        r = x - rint(x)
        # x itself near 0, whose sign would be lost
        pole = 1.0 / select(fabs(x) < 0.5, x, r)
        below = fma(r, _cotangent_rest(fma(r, r, 0.0)), psi) - pole
        below = select(both(r == 0.0, x < 0.0), _NAN, below)
        return select(above, select(x < _INF, psi, x), below)

    return digamma


def reflected_trigamma(of_positive: Any) -> Any:
    """The function of any x: infinity at the poles. Below 0, (pi / sin(pi x))^2 - psi'(1 - x)."""

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
