"""erf, erfc and gelu in float32 arithmetic.

The polynomials are by Remez' exchange, with coefficients rounded to float32.
"""

import numpy as np

from ep.cpu.vector_math.bits import copysign, fabs, fma, from_bits, select, to_bits
from ep.cpu.vector_math.inlined import inlined
from ep.cpu.vector_math.polynomial import polynomial
from ep.cpu.vector_math.single.exponential import LN2, LN2_REST, LOG2_E, SHIFT, ZERO
from ep.cpu.vector_math.single.piecewise import piecewise

_HALF, _ONE, _TWO = np.float32(0.5), np.float32(1.0), np.float32(2.0)
_MINUS_LOG2_E, _MINUS_HALF_LOG2_E = -LOG2_E, _HALF * -LOG2_E
_TWICE_LN2, _TWICE_LN2_REST = LN2 + LN2, LN2_REST + LN2_REST
_UP_SHIFT = SHIFT + np.float32(127.0 + 64.0)  # leaves the exponent of 2^(n + 64) in the low bits of the sum

_ERF_CUT, _ERF_END = np.float32(1.09375), np.float32(4.0)
_ERF_SMALL_CENTRE, _ERF_LARGE_CENTRE = np.float32(0.4375), np.float32(2.5)
_erf_pieces = piecewise(
    # erf(x) / x - 1 in x^2 - 7/16 for x <= 35/32, relative error 2^-27.4
    (
        -0.016649533063173294,
        -0.291216105222702,
        0.08292090147733688,
        -0.019176583737134933,
        0.003663629060611129,
        -0.0005921990959905088,
        7.229592301882803e-05,
    ),
    # erfc(x) in x - 5/2 for x <= 4, absolute error 2^-27.3
    (
        0.00040695021743886173,
        -0.00217822496779263,
        0.005445807706564665,
        -0.008351159282028675,
        0.00862155482172966,
        -0.006111692637205124,
        0.002800960559397936,
        -0.0005557282129302621,
        -0.00026392238214612007,
        0.00026661326410248876,
        -7.707925396971405e-05,
        -1.610869549040217e-05,
        1.4187600754667073e-05,
        -7.591618214064511e-07,
        -6.624388788623037e-07,
    ),
)


@inlined
def erf(x):
    """The error function; 1 from 4 on."""
    a = fabs(x)
    a = select(a > _ERF_END, _ERF_END, a)
    small = a < _ERF_CUT
    p = _erf_pieces(small, select(small, fma(a, a, -_ERF_SMALL_CENTRE), a - _ERF_LARGE_CENTRE))
    return copysign(select(small, fma(a, p, a), _ONE - p), x)


_GELU_END, _GELU_OFFSET, _GELU_NUMERATOR = np.float32(14.5), np.float32(2.5), np.float32(3.25)
_GELU_CENTRE = np.float32(0.6900107860565186)  # where the constant term is very nearly a float32 number
_GELU_FIRST = np.float32(0.22580009698867798 * 2.0**-64)
# t(a) = 13/4 / (a + 5/2), R(a) = e^(a^2 / 2) erfc(a / sqrt 2) / 2: (R(a) / t(a) - 0.2258) / v in v = t(a) - 0.69,
# for a <= 14.5, relative error of all 2^-26.9; times 2^-64
_gelu_polynomial = polynomial(
    *(
        coefficient * 2.0**-64
        for coefficient in (
            0.21293295919895172,
            0.0946110337972641,
            -0.014789569191634655,
            -0.027150601148605347,
            0.006591110955923796,
            0.008891106583178043,
            -0.005275178700685501,
            -0.001820912817493081,
            0.0026076866779476404,
            -0.0005305373924784362,
        )
    )
)
# e^w in 2 w: (e^w - 1 - w) / (2 w)^2, relative error of e^w 2^-28
_exp_polynomial = polynomial(
    0.4999999403953552 / 4,
    0.16666516661643982 / 8,
    0.04166810214519501 / 16,
    0.00836916547268629 / 32,
    0.0013838002923876047 / 64,
)


@inlined
def gelu(x):
    """x / 2 (1 + erf(x / sqrt 2)) = max(x, 0) - a R(a) e^(-a^2 / 2) for a = |x|; -0 from -14.5 on.

    R(a) and its sum with R(a) (e^w - 1) are kept with their rounding errors. The power of 2 is two factors, one of
    them in the polynomial, so that tiny results are rounded once.
    """
    a = fabs(x)
    a = select(a > _GELU_END, _GELU_END, a)
    u = a + _GELU_OFFSET
    t = _GELU_NUMERATOR / u
    # the rest of t over t, times 13/4, nearly twice what it makes of R: R is about as t^1.6
    t_rest = fma(t, (u - _GELU_OFFSET) - a, fma(-t, u, _GELU_NUMERATOR))
    v = t - _GELU_CENTRE
    p = _gelu_polynomial(v)
    q = fma(v, p, _GELU_FIRST)
    y = fma(t, q, ZERO)
    y_rest = fma(t, fma(v, p, _GELU_FIRST - q), fma(t, q, -y))
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
    return copysign(fma(factor, total, fma(factor, growth - (total - y), select(x < ZERO, ZERO, x))), x)


_ERFC_END, _ERFC_OFFSET, _ERFC_NUMERATOR = np.float32(10.1), np.float32(1.765625), np.float32(1.625)
_ERFC_CENTRE = np.float32(0.39863207936286926)  # where the constant term is very nearly a float32 number
_ERFC_FIRST = np.float32(0.5664917826652527 * 2.0**-64)
# t(a) = 13/8 / (a + 113/64), R(a) = e^(a^2) erfc(a): (R(a) / t(a) - 0.56649) / v in v = t(a) - 0.3986, for
# a <= 10.1, relative error of all 2^-27.2; times 2^-64
_erfc_polynomial = polynomial(
    *(
        coefficient * 2.0**-64
        for coefficient in (
            0.7520738244056702,
            0.5482327938079834,
            -0.005303964018821716,
            -0.32491761445999146,
            -0.023941291496157646,
            0.27647945284843445,
            -0.060094136744737625,
            -0.23380951583385468,
            0.2160160392522812,
            -0.05303029343485832,
        )
    )
)
# what a relative change of t does to R, over 13/8, is about linear in v
_ERFC_CHANGE = (np.float32(0.92378), np.float32(0.76147))
# e^s: (e^s - 1 - s) / s^2, the coefficients of `exp_tail`
_exp_rest = polynomial(
    0.4999999403953552, 0.16666516661643982, 0.04166810214519501, 0.00836916547268629, 0.0013838002923876047
)


@inlined
def erfc(x):
    """1 - erf(x) = R(a) e^(-a^2), or 2 less that, for a = |x|; 0 from 10.1 on. As gelu otherwise."""
    a = fabs(x)
    a = select(a > _ERFC_END, _ERFC_END, a)
    u = a + _ERFC_OFFSET
    t = _ERFC_NUMERATOR / u
    t_rest = fma(t, (u - _ERFC_OFFSET) - a, fma(-t, u, _ERFC_NUMERATOR))
    v = t - _ERFC_CENTRE
    p = _erfc_polynomial(v)
    q = fma(v, p, _ERFC_FIRST)
    y = fma(t, q, ZERO)
    y_rest = fma(t, fma(v, p, _ERFC_FIRST - q), fma(t, q, -y))
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
