"""sigmoid, softplus and logsigmoid in float64."""

from ep.cpu.kernels.vector_math.bits import fabs, fma, from_bits, select
from ep.cpu.kernels.vector_math.exponential import exp, exp_reduced
from ep.cpu.kernels.vector_math.inlined import inlined
from ep.cpu.kernels.vector_math.logarithm import log_sum


@inlined
def sigmoid(x):  # type: ignore[no-untyped-def]
    """1 / (1 + e^-x), with the rounding errors of the exponential, of the sum and of the quotient.

    Where x < -600, both e^-x and the result are multiplied by 2^-128: 1 has no weight in the sum there.
    """
    y = select(x > 40.0, 40.0, x)
    r, s, n_bits = exp_reduced(-select(y < -750.0, -750.0, y))
    high = 1.0 + r
    low = ((1.0 - high) + r) + s
    small = x < -600.0
    scale = from_bits((n_bits << 52) + select(small, (1023 - 128) << 52, 1023 << 52))
    p = high + low
    e = p * scale
    e_low = ((high - p) + low) * scale
    sum_ = 1.0 + e
    part = sum_ - 1.0
    sum_low = ((1.0 - (sum_ - part)) + (e - part)) + e_low
    inverse = 1.0 / sum_
    # 1 - inverse (sum + sum_low), to first order
    rest = fma(-inverse, sum_low, fma(-inverse, sum_, 1.0))
    return fma(rest, inverse, inverse) * select(small, 2.0**-128, 1.0)


@inlined
def softplus(x):  # type: ignore[no-untyped-def]
    """ln(1 + e^x) = max(x, 0) + ln(1 + e^-|x|); NaN through max(x, 0)."""
    e = exp(-fabs(x))
    u = 1.0 + e
    y = log_sum(u, e - (u - 1.0), 0.0)
    return select(x < 0.0, 0.0, x) + select(e < 2.0**-54, e, y)


@inlined
def logsigmoid(x):  # type: ignore[no-untyped-def]
    """ln(sigmoid(x)) = -softplus(-x)."""
    return -softplus(-x)
