"""sigmoid, softplus and logsigmoid in float64, and x sigmoid(z), of which the gated activations are made."""

from ep.cpu.kernels.vector_math.bits import fabs, fma, from_bits, select
from ep.cpu.kernels.vector_math.exponential import exp, exp_reduced
from ep.cpu.kernels.vector_math.inlined import inlined
from ep.cpu.kernels.vector_math.logarithm import log_sum

_ENOUGH, _VANISHED = 40.0, -765.0  # from here on 1 and 0, also times a number of the size of z


@inlined
def _factors(z, z_rest):  # type: ignore[no-untyped-def]
    """Return two factors of 1 / (1 + e^-(z + z_rest)), the second a power of 2; -765 <= z <= 40.

    The rounding errors of the exponential, of the sum and of the quotient are made good. Where z < -600, both e^-z and
    the result are multiplied by 2^-128: 1 has no weight in the sum there.
    """
    r, s, n_bits = exp_reduced(-z)
    s = fma(-z_rest, (1.0 + r) + s, s)
    high = 1.0 + r
    low = ((1.0 - high) + r) + s
    small = z < -600.0
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
    return fma(rest, inverse, inverse), select(small, 2.0**-128, 1.0)


@inlined
def sigmoid(x):  # type: ignore[no-untyped-def]
    """1 / (1 + e^-x)."""
    y = select(x > _ENOUGH, _ENOUGH, x)
    value, power = _factors(select(y < _VANISHED, _VANISHED, y), 0.0)
    return value * power


@inlined
def gated(x, z, z_rest):  # type: ignore[no-untyped-def]
    """x sigmoid(z + z_rest) for x and z of one sign and |x| <= |z|; -0 where z is -inf."""
    one, none = z > _ENOUGH, z < _VANISHED
    value, power = _factors(select(none, _VANISHED, select(one, _ENOUGH, z)), select(one | none, 0.0, z_rest))
    return (select(none, -0.0, x) * value) * power


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
