"""sigmoid, softplus and logsigmoid in float32 arithmetic, and x sigmoid(z), of which the gated activations are made."""

import numpy as np

from ep.cpu.kernels.vector_math.bits import fabs, fma, from_bits, select, to_bits
from ep.cpu.kernels.vector_math.inlined import inlined
from ep.cpu.kernels.vector_math.single.exponential import (
    ONE_BITS,
    ZERO,
    clamp,
    exp_minus_1,
    exp_sum,
    largest_first,
    reduced,
    sum_of,
)

_ONE = np.float32(1.0)
ENOUGH, VANISHED = np.float32(20.0), np.float32(-114.0)  # from here on 1 and 0, also times a number of the size of z
_DOWN, _UP_BITS = np.float32(2.0**-64), np.int32((127 + 64) << 23)
_EXPONENT_64 = np.int32(64 << 23)


@inlined
def small_unit(x):  # type: ignore[no-untyped-def]
    """Return 2^-64 where x < 0, else 1, and its bits: what keeps e^-x and its like in range."""
    bits = np.int32(ONE_BITS - ((to_bits(x) >> 31) & _EXPONENT_64))
    return from_bits(bits), bits


@inlined
def factors(z, z_rest):  # type: ignore[no-untyped-def]
    """Return two factors of 1 / (1 + e^-(z + z_rest)), the second a power of 2; VANISHED <= z <= ENOUGH.

    The rounding errors of the sum and of the quotient are made good.
    """
    r, r_rest, n_bits = reduced(-z, -z_rest)
    rest, rest_rest = exp_minus_1(r, r_rest)
    unit, unit_bits = small_unit(z)
    power = from_bits(np.int32(n_bits + unit_bits))
    one, one_rest = sum_of(*largest_first(unit, power))
    sum_, sum_rest = sum_of(one, fma(rest, power, ZERO))
    sum_rest = fma(rest_rest, power, sum_rest) + one_rest
    inverse = _ONE / sum_
    # 1 - inverse (sum + sum_rest), to first order
    missing = fma(-inverse, sum_rest, fma(-inverse, sum_, _ONE))
    return fma(missing, inverse, inverse), unit


@inlined
def sigmoid(x):  # type: ignore[no-untyped-def]
    """1 / (1 + e^-x)."""
    value, power = factors(clamp(x, VANISHED, ENOUGH), ZERO)
    return value * power


@inlined
def gated(x, z, z_rest):  # type: ignore[no-untyped-def]
    """x sigmoid(z + z_rest) for VANISHED <= z <= ENOUGH; x is at least of the size of ENOUGH where z is."""
    value, power = factors(z, z_rest)
    return (x * value) * power


@inlined
def softplus(x):  # type: ignore[no-untyped-def]
    """ln(1 + e^x) = max(x, 0) + ln(1 + e^-|x|); the second term, with its error, is 2^64 times too large till then."""
    y = -fabs(x)
    r, r_rest, n_bits = reduced(select(y < VANISHED, VANISHED, y), ZERO)
    rest, rest_rest = exp_minus_1(r, r_rest)
    e, e_rest = exp_sum(rest, rest_rest, from_bits(np.int32(n_bits + _UP_BITS)))
    f = e * _DOWN
    # ln(1 + f) / f - 1
    q = fma(fma(-0.0036756391637027264, f, 0.02186800166964531), f, -0.06090911850333214)
    q = fma(fma(fma(q, f, 0.11024045199155807), f, -0.155689999461174), f, 0.19774176180362701)
    q = fma(fma(fma(q, f, -0.2497507780790329), f, 0.3333224952220917), f, -0.5)
    y, y_rest = sum_of(e, fma(fma(q, f, ZERO), e, e_rest))
    return fma(y, _DOWN, fma(y_rest, _DOWN, select(x < ZERO, ZERO, x)))


@inlined
def logsigmoid(x):  # type: ignore[no-untyped-def]
    """ln(sigmoid(x)) = -softplus(-x)."""
    return -softplus(-x)
