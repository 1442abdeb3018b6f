"""sigmoid and logsigmoid in float32 arithmetic, and x sigmoid(z), of which the gated activations are made."""

import numpy as np

from ep.cpu.kernels.vector_math.bits import fabs, fma, from_bits, select, to_bits
from ep.cpu.kernels.vector_math.inlined import inlined
from ep.cpu.kernels.vector_math.single.exponential import ZERO, clamp, exp_tail, reduced

ENOUGH, VANISHED = np.float32(20.0), np.float32(-114.0)  # from here on 1 and 0, also times a number of the size of z
ONE, DOWN, UP_BITS = np.float32(1.0), np.float32(2.0**-64), np.int32((127 + 64) << 23)

_SMALL = np.float32(-60.0)


@inlined
def small_unit(z):  # type: ignore[no-untyped-def]
    """1, or 2^-64 where z is so small that e^-z would overflow; it has no weight in the sum of them there."""
    return select(z < _SMALL, DOWN, ONE)


@inlined
def _terms(z, z_rest):  # type: ignore[no-untyped-def]
    """Return rest, power, one, one_rest and unit: 1 + e^-(z + z_rest) = (rest power + one + one_rest) / unit.

    one_rest is 0 where unit and power are not too far apart for an exact sum.
    """
    r, r_rest, n_bits = reduced(-z, -z_rest)
    unit = small_unit(z)
    power = from_bits(np.int32(n_bits + to_bits(unit)))
    one = power + unit
    return r + exp_tail(r, r_rest), power, one, unit - (one - power), unit


@inlined
def sigmoid(x):  # type: ignore[no-untyped-def]
    """1 / (1 + e^-x); the rounding errors of the sum and of the quotient are made good."""
    rest, power, one, one_rest, unit = _terms(clamp(x, VANISHED, ENOUGH), ZERO)
    sum_ = fma(rest, power, one)
    sum_rest = fma(rest, power, one - sum_) + one_rest
    inverse = ONE / sum_
    # 1 - inverse (sum + sum_rest)
    missing = fma(-inverse, sum_rest, fma(-inverse, sum_, ONE))
    return fma(missing, inverse, inverse) * unit


@inlined
def gated(x, z, z_rest):  # type: ignore[no-untyped-def]
    """x sigmoid(z + z_rest) for VANISHED <= z <= ENOUGH."""
    rest, power, one, one_rest, unit = _terms(z, z_rest)
    return (x / (one + fma(rest, power, one_rest))) * unit


@inlined
def logsigmoid(x):  # type: ignore[no-untyped-def]
    """ln(sigmoid(x)) = min(x, 0) - ln(1 + e^-|x|); the second term is 2^64 times too large till the end."""
    y = -fabs(x)
    r, r_rest, n_bits = reduced(select(y < VANISHED, VANISHED, y), ZERO)
    power = from_bits(np.int32(n_bits + UP_BITS))
    e = fma(r + exp_tail(r, r_rest), power, power)
    f = e * DOWN
    f2 = fma(f, f, ZERO)
    # (ln(1 + f) / f - 1) / f
    q = fma(fma(-0.0036756391637027264, f, 0.02186800166964531), f2, fma(-0.06090911850333214, f, 0.11024045199155807))
    q = fma(q, f2, fma(-0.155689999461174, f, 0.19774176180362701))
    q = fma(fma(q, f2, fma(-0.2497507780790329, f, 0.3333224952220917)), f, -0.5)
    return fma(fma(fma(e, f, ZERO), q, e), -DOWN, select(x > ZERO, ZERO, x))
