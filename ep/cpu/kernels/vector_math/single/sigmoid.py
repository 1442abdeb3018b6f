"""sigmoid, softplus and logsigmoid in float32 arithmetic, and x sigmoid(z), of which the gated activations are made."""

import numpy as np

from ep.cpu.kernels.vector_math.bits import fabs, fma, from_bits, select, to_bits
from ep.cpu.kernels.vector_math.inlined import inlined
from ep.cpu.kernels.vector_math.single.exponential import ZERO, clamp, exp_tail, reduced

ENOUGH, VANISHED = np.float32(20.0), np.float32(-114.0)  # from here on 1 and 0, also times a number of the size of z
ONE, DOWN, UP_BITS = np.float32(1.0), np.float32(2.0**-64), np.int32((127 + 64) << 23)

_SMALL = np.float32(-60.0)
_FAR, _VANISHED_OVER_BETA = np.float32(-85.0), np.float32(-215.0)
_FAR_UP_BITS, _SMALL_BETA = np.int32(((127 + 192) << 23) - (1 << 32)), np.float32(2.0**-40)
_UP_100, _DOWN_92, _DOWN_96 = np.float32(2.0**100), np.float32(2.0**-92), np.float32(2.0**-96)


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
def _scaled_log1p_exp(z, z_rest, one_bits, down):  # type: ignore[no-untyped-def]
    """ln(1 + e^(z + z_rest)) 2^k for z <= 0, given the bits of 2^k, and 2^-k or, where e^z has no weight, 0."""
    r, r_rest, n_bits = reduced(z, z_rest)
    power = from_bits(np.int32(n_bits + one_bits))
    e = fma(r + exp_tail(r, r_rest), power, power)
    f = e * down
    f2 = fma(f, f, ZERO)
    # (ln(1 + f) / f - 1) / f
    q = fma(fma(-0.0036756391637027264, f, 0.02186800166964531), f2, fma(-0.06090911850333214, f, 0.11024045199155807))
    q = fma(q, f2, fma(-0.155689999461174, f, 0.19774176180362701))
    q = fma(fma(q, f2, fma(-0.2497507780790329, f, 0.3333224952220917)), f, -0.5)
    return fma(fma(e, f, ZERO), q, e)


@inlined
def logsigmoid(x):  # type: ignore[no-untyped-def]
    """ln(sigmoid(x)) = min(x, 0) - ln(1 + e^-|x|)."""
    y = -fabs(x)
    large = _scaled_log1p_exp(select(y < VANISHED, VANISHED, y), ZERO, UP_BITS, DOWN)
    return fma(large, -DOWN, select(x > ZERO, ZERO, x))


@inlined
def softplus(x, beta, threshold):  # type: ignore[no-untyped-def]
    """x where z = beta x > threshold, else ln(1 + e^z) / beta = (max(z, 0) + ln(1 + e^-|z|)) / beta.

    The quotient may be a normal number where e^z and beta are not. So far on the left the dividend is 2^192 times too
    large, and a small divisor 2^100 times; the two factors at the end make that good.
    """
    z = fma(beta, x, ZERO)
    z_rest = fma(beta, x, -z)
    y, y_rest = -fabs(z), select(z < ZERO, z_rest, -z_rest)
    vanished, far = y < _VANISHED_OVER_BETA, z < _FAR
    y, y_rest = select(vanished, _VANISHED_OVER_BETA, y), select(vanished, ZERO, y_rest)
    scaled = _scaled_log1p_exp(y, y_rest, select(far, _FAR_UP_BITS, UP_BITS), select(far, ZERO, DOWN))
    dividend = fma(scaled, select(far, ONE, DOWN), select(z < ZERO, ZERO, z))
    small = fabs(beta) < _SMALL_BETA
    quotient = dividend / select(far, beta * select(small, _UP_100, ONE), beta)
    down, more_down = select(small, _DOWN_92, _DOWN_96), select(small, ONE, _DOWN_96)
    quotient = (quotient * select(far, down, ONE)) * select(far, more_down, ONE)
    return select(z > threshold, x, quotient)
