"""erf, erfc and gelu without branches.

erfc and gelu come down to w(x) = e^(x^2) erfc(x), x >= 0, which is smooth on the whole half line: (x + c) w(x) is a
polynomial in q = (x - c) / (x + c). The rounding errors of the quotients are removed to first order, through
w' = 2 x w - 2 / sqrt(pi); so w is a sum of two doubles, and e^(-x^2) w is rounded about once. For erfc, where c is a
power of two, q = 1 - 2 c / (x + c) is as good as exact once 1 / (x + c) is rounded, and x alone is off.
"""

from typing import Any

from ep.cpu.vector_math.bits import copysign, fabs, fma, select, to_bits
from ep.cpu.vector_math.constants import LN2, LOG2_E, SHIFT, SHIFT_BITS
from ep.cpu.vector_math.inlined import inlined
from ep.cpu.vector_math.polynomial import polynomial
from ep.cpu.vector_math.polynomial_tree import polynomial_tree
from ep.cpu.vector_math.scaling import scaled

# (e^r - 1 - r) / r^2 on |r| <= ln(2) / 2, by least squares on Chebyshev nodes: 2^-57 relative to e^r.
_exponential = polynomial(
    0.5000000000000012,
    0.16666666666666471,
    0.04166666666651979,
    0.008333333333458674,
    0.001388888894590293,
    0.00019841269581140757,
    2.4801491055365992e-05,
    2.755752173876015e-06,
    2.7630897243082424e-07,
    2.5020030264438046e-08,
)


@inlined
def _power(s: float, s_rest: float) -> Any:
    """p and n, e^-(s + s_rest) = 2^n (1 + p), for 0 <= s < 1000."""
    shifted = fma(s, -LOG2_E[0], SHIFT)
    k = shifted - SHIFT
    r = fma(-k, LN2[0], -s)  # exact: a multiple of the last bits of both, below 1/2
    rest = fma(-k, LN2[1], -s_rest)
    t = r + rest
    return r + fma(fma(t, t, 0.0), _exponential(t), rest), to_bits(shifted) - SHIFT_BITS


@inlined
def _times_power(w: float, w_rest: float, p: float, n: int) -> float:
    """(w + w_rest) 2^n (1 + p), right for results below the smallest normal number."""
    return scaled(w + fma(w, p, fma(w_rest, p, w_rest)), n)


@inlined
def _divided(value: float, value_rest: float, below: float, below_rest: float, inverse: float) -> Any:
    """The quotient of two sums, as a double and what is missing; inverse: that of `below`."""
    quotient = fma(value, inverse, 0.0)
    return quotient, (fma(-quotient, below, value) + fma(-quotient, below_rest, value_rest)) * inverse


@inlined
def _inverse(a: float, centre: float) -> Any:
    """The inverse of a + centre, rounded, and by how much a differs from the number that it is exact for."""
    below = a + centre
    inverse = 1.0 / below
    return inverse, fma(fma(inverse, below, -1.0), below, a - (below - centre))


@inlined
def _last_steps(q: float, upper: float, first: float, second: float) -> Any:
    """first + q (second + q upper), as a double and what is missing."""
    t = fma(q, upper, 0.0)
    u = second + t
    u_rest = (second - u) + t
    p = fma(q, u, 0.0)
    value = first + p
    return value, ((first - value) + p) + fma(q, u_rest, fma(q, u, -p))


# (x + 4) w(x) in q = (x - 4) / (x + 4) on 0 <= x <= 27.3, good to 2^-59: least squares of the relative error on
# Chebyshev nodes, coefficients rounded one by one from the first, the rest fitted again. The first has two doubles.
_ERFC_CENTRE = 4.0
_ERFC_END = 27.3
_ERFC_FIRST_REST = 5.716445282777988e-17
_ERFC_COEFFICIENTS = (
    1.095995661000491,
    -0.976548729080882,
    0.7732087022652373,
    -0.540853831313237,
    0.3308515878779946,
    -0.17401093723987168,
    0.07638151490985377,
    -0.02637005334130951,
    0.006112055647332825,
    -0.00028095885703391567,
    -0.0004550526113536324,
    0.00017681277733475338,
    -3.635559242487429e-06,
    -1.8860779831910556e-05,
    4.695747035797343e-06,
    1.4241028386720721e-06,
    -8.491772448385721e-07,
    -7.578288350998657e-08,
    1.283536089880382e-07,
    1.7138183418200538e-09,
    -1.8862943352803007e-08,
    -8.644510808809431e-10,
    2.1928724171313733e-09,
    4.4915140162730676e-10,
)
_erfc_upper = polynomial_tree(*_ERFC_COEFFICIENTS[2:])
_TWO_OVER_SQRT_PI = 1.1283791670955126


@inlined
def erfc(x: float) -> float:
    """1 - erf(x), relatively accurate where it vanishes."""
    a = fabs(x)
    a = select(a > _ERFC_END, _ERFC_END, a)
    inverse, dx = _inverse(a, _ERFC_CENTRE)
    s = fma(a, a, 0.0)
    p, n = _power(s, fma(a, a, -s))  # while the quotient is awaited
    q = fma(-2.0 * _ERFC_CENTRE, inverse, 1.0)
    m, m_rest = _last_steps(q, _erfc_upper(q), _ERFC_COEFFICIENTS[0], _ERFC_COEFFICIENTS[1])
    w = fma(m, inverse, 0.0)
    w_rest = fma(m_rest + _ERFC_FIRST_REST, inverse, fma(m, inverse, -w))
    w_rest = fma(dx, fma(a + a, w, -_TWO_OVER_SQRT_PI), w_rest)
    tail = _times_power(w, w_rest, p, n)
    return select(x < 0.0, 2.0 - tail, tail)


# (x + 5) w(x / sqrt 2) / 2 in q = (x - 5) / (x + 5) on 0 <= x <= 38.7, good to 2^-61: as for erfc.
_GELU_CENTRE = 5.0
_GELU_END = 38.7
_GELU_FIRST_REST = -1.421818165969235e-17
_GELU_COEFFICIENTS = (
    0.769193049750063,
    -0.6653825028900568,
    0.4953056159699761,
    -0.31353315667128784,
    0.16502036617040694,
    -0.06911863870686527,
    0.02079506679926737,
    -0.002993376762062487,
    -0.0007978693894200188,
    0.0005448989943637824,
    -5.937580613159723e-05,
    -4.9762464141648654e-05,
    1.6681632381376697e-05,
    3.979829433934688e-06,
    -2.770694228681053e-06,
    -3.3462009794789424e-07,
    4.36233322621132e-07,
    4.0227147102134906e-08,
    -7.006090677238675e-08,
    -8.576651801110364e-09,
    1.073539854687148e-08,
    2.213876237501754e-09,
    -1.1407828987226325e-09,
    -3.743112939249299e-10,
)
_gelu_upper = polynomial_tree(*_GELU_COEFFICIENTS[2:])
_SQRT_TWO_OVER_PI = 0.7978845608028654


@inlined
def gelu(x: float) -> float:
    """x / 2 (1 + erf(x / sqrt 2)), relatively accurate where it vanishes.

    With a = |x|, a w(a / sqrt 2) e^(-a^2 / 2) / 2 is what is missing at a, and the value at -a with its sign changed.
    """
    a = fabs(x)
    a = select(a > _GELU_END, _GELU_END, a)
    above, below = a - _GELU_CENTRE, a + _GELU_CENTRE
    above_rest, below_rest = a - (above + _GELU_CENTRE), a - (below - _GELU_CENTRE)
    inverse = 1.0 / below
    s = fma(a, a, 0.0)
    p, n = _power(0.5 * s, 0.5 * fma(a, a, -s))  # while the quotient is awaited
    q, q_rest = _divided(above, above_rest, below, below_rest, inverse)
    m, m_rest = _last_steps(q, _gelu_upper(q), _GELU_COEFFICIENTS[0], _GELU_COEFFICIENTS[1])
    w, w_rest = _divided(m, m_rest + _GELU_FIRST_REST, below, below_rest, inverse)
    dx = q_rest * fma(below, below, 0.0) * (0.5 / _GELU_CENTRE)
    w_rest = fma(dx, fma(a + inverse, w, -0.5 * _SQRT_TWO_OVER_PI), w_rest)
    product = fma(a, w, 0.0)
    product_rest = fma(a, w_rest, fma(a, w, -product))
    tail = _times_power(product, product_rest, p, n)
    return select(x < 0.0, -tail, x - tail)


# erf(sqrt z) / sqrt z - 1 on 0 <= z <= 1, good to 2^-56: fitted as for erfc.
_erf_lower = polynomial(
    0.12837916709551256,
    -0.37612638903183454,
    0.11283791670942442,
    -0.02686617064289931,
    0.005223977604689966,
    -0.0008548325870703971,
    0.00012055292035174393,
    -1.4924685750072198e-05,
    1.6446833684025832e-06,
    -1.6204216644959769e-07,
    1.370256913134439e-08,
    -7.764805895007783e-10,
)
# the fourth root of erfc(1 + y) on 0 <= y <= 5, less that of 1 - _ERF_ONE, so that erf is good to 2^-57: as for erfc.
_ERF_ONE = 0.8427007929497149  # erf(1)
_ERF_TWICE, _ERF_SQUARE = 1.2595390278068197, 0.7932192812842741  # that root twice, and twice its square
_erf_upper = polynomial(
    1.719131116785857e-17,
    -0.41548532216163075,
    0.004315721726741425,
    0.05089054942646753,
    -0.00403097949958921,
    -0.004930829717936824,
    0.0007767947702630198,
    0.00029611639232161765,
    -7.340575919074923e-05,
    -9.496830743788781e-06,
    3.618787648925983e-06,
    2.7062108098327997e-07,
    -1.4342167722680429e-07,
    -5.330113255979897e-09,
    1.533052874212384e-09,
    2.5048648368361583e-09,
    -1.0064316018518007e-09,
    1.816933166649071e-10,
    -1.841099938259499e-11,
    1.025506666778239e-12,
    -2.467310358485332e-14,
)
_ERF_END = 6.0


@inlined
def erf(x: float) -> float:
    """The error function: up to 1 an odd polynomial, above it 1 - erfc, where erfc is the fourth power of a polynomial.

    With c^4 = 1 - erf(1), 1 - (c + t)^4 = erf(1) - w (w + 2 c^2) for w = t (t + 2 c): near 1, where rounding errors
    would count most, t vanishes.
    """
    a = fabs(x)
    low = fma(a, _erf_lower(fma(a, a, 0.0)), a)
    t = _erf_upper(select(a > _ERF_END, _ERF_END, a) - 1.0)
    w = fma(t, t + _ERF_TWICE, 0.0)
    high = fma(-w, w + _ERF_SQUARE, _ERF_ONE)
    return copysign(select(a > 1.0, high, low), x)
