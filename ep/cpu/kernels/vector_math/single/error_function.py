"""erf and gelu in float32 arithmetic.

The polynomials are by Remez' exchange, with coefficients rounded to float32.
"""

import numpy as np

from ep.cpu.kernels.vector_math.bits import copysign, fabs, fma, from_bits, select, to_bits
from ep.cpu.kernels.vector_math.inlined import inlined
from ep.cpu.kernels.vector_math.single.exponential import LN2, LN2_REST, LOG2_E, SHIFT, ZERO, exp_tail
from ep.cpu.kernels.vector_math.single.piecewise import piecewise

_HALF, _ONE, _DOWN = np.float32(0.5), np.float32(1.0), np.float32(2.0**-64)
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
def erf(x):  # type: ignore[no-untyped-def]
    """The error function; 1 from 4 on."""
    a = fabs(x)
    a = select(a > _ERF_END, _ERF_END, a)
    small = a < _ERF_CUT
    p = _erf_pieces(small, select(small, fma(a, a, -_ERF_SMALL_CENTRE), a - _ERF_LARGE_CENTRE))
    return copysign(select(small, fma(a, p, a), _ONE - p), x)


# R(a) = e^(a^2 / 2) erfc(a / sqrt 2) / 2
_GELU_CUT, _GELU_END, _GELU_SLOPE = np.float32(1.25), np.float32(14.5), np.float32(0.25)
_GELU_DERIVATIVE = np.float32(0.04)
# the centres are such that the constant terms are very nearly float32 numbers
_GELU_SMALL_CENTRE, _GELU_LARGE_CENTRE = np.float32(0.5000198483467102), np.float32(2.000176429748535)
_GELU_SMALL, _GELU_LARGE = np.float32(0.34961438179016113), np.float32(0.188807874917984)
# without the constant terms above
_gelu_pieces = piecewise(
    # z(a) = a / (1 + a / 4): a R(a) / z(a) in z(a) - 2.0002 for 1.25 <= a <= 14.5, relative error 2^-26.2
    (
        -0.07597853988409042,
        0.024193046614527702,
        -0.0058281924575567245,
        0.0009434464736841619,
        -5.873895133845508e-05,
        -1.3301440048962831e-05,
        2.9397542675724253e-06,
    ),
    # R(a) in a - 0.50002 for a <= 1.25, relative error 2^-25.9
    (
        -0.22412817180156708,
        0.11877336353063583,
        -0.05491253361105919,
        0.022820983082056046,
        -0.008699777536094189,
        0.003125513903796673,
        -0.0010540424846112728,
        0.0002427817089483142,
    ),
)


@inlined
def gelu(x):  # type: ignore[no-untyped-def]
    """x / 2 (1 + erf(x / sqrt 2)) = max(x, 0) - a R(a) e^(-a^2 / 2) for a = |x|; -0 from -14.5 on.

    a R(a) is kept with its rounding errors. The power of 2 is two factors, so that tiny results are rounded once.
    """
    a = fabs(x)
    a = select(a > _GELU_END, _GELU_END, a)
    large = a >= _GELU_CUT
    slope = select(large, _GELU_SLOPE, ZERO)
    u = fma(a, slope, _ONE)
    z = a / u  # a where a is small
    v = z - select(large, _GELU_LARGE_CENTRE, _GELU_SMALL_CENTRE)
    p, first = _gelu_pieces(large, v), select(large, _GELU_LARGE, _GELU_SMALL)
    h = fma(v, p, first)
    y = fma(z, h, ZERO)
    y_rest = fma(z, fma(v, p, first - h), fma(z, h, -y))
    # u times the rest of z, and roughly the derivative of y by z, over u
    z_rest = fma(-z, fma(a, slope, _ONE - u), fma(-z, u, a))
    y_rest = fma(fma(-_GELU_DERIVATIVE, v, _GELU_DERIVATIVE), z_rest, y_rest)
    half = _HALF * a
    shifted = fma(half * a, -LOG2_E, _UP_SHIFT)
    n = shifted - _UP_SHIFT
    r = fma(-half, a, -fma(n, LN2, ZERO))
    y += fma(y, r, fma(y, exp_tail(r, fma(n, -LN2_REST, ZERO)), y_rest))
    power = from_bits(np.int32(to_bits(shifted) << 23))
    return fma(-y * power, _DOWN, select(x < ZERO, -ZERO, x))
