"""sigmoid, softplus and logsigmoid in float64, and x sigmoid(z), of which the gated activations are made."""

from ep.cpu.kernels.vector_math.bits import fabs, fma, from_bits, select, to_bits
from ep.cpu.kernels.vector_math.exponential import exp, exp_reduced
from ep.cpu.kernels.vector_math.inlined import inlined
from ep.cpu.kernels.vector_math.logarithm import log_sum

ENOUGH, VANISHED = 40.0, -765.0  # from here on 1 and 0, also times a number of the size of z
_SMALL, _DOWN = -600.0, 2.0**-128


@inlined
def _terms(z, z_rest):  # type: ignore[no-untyped-def]
    """Return r, s, power, one, one_rest and unit: 1 + e^-(z + z_rest) = ((r + s) power + one + one_rest) / unit.

    unit is 1, or 2^-128 where z is so small that e^-z might overflow. one_rest is 0 where unit and power are not too
    far apart for an exact sum.
    """
    r, s, n = exp_reduced(-z, -z_rest)
    unit = select(z < _SMALL, _DOWN, 1.0)
    power = from_bits((n << 52) + to_bits(unit))
    one = power + unit
    return r, s, power, one, unit - (one - power), unit


@inlined
def at_least(x, low):  # type: ignore[no-untyped-def]
    """Return x, or low where that is larger; NaN stays."""
    return select(low > x, low, x)


@inlined
def sigmoid(x):  # type: ignore[no-untyped-def]
    """1 / (1 + e^-x); the rounding errors of the sums and of the quotient are made good."""
    z = at_least(x, VANISHED)
    r, s, power, one, one_rest, unit = _terms(select(z > ENOUGH, ENOUGH, z), 0.0)
    rest = r + s
    sum_ = fma(rest, power, one)
    sum_rest = fma((r - rest) + s, power, fma(rest, power, one - sum_) + one_rest)
    inverse = 1.0 / sum_
    # 1 - inverse (sum + sum_rest)
    missing = fma(-inverse, sum_rest, fma(-inverse, sum_, 1.0))
    return fma(missing, inverse, inverse) * unit


@inlined
def gated(x, z, z_rest):  # type: ignore[no-untyped-def]
    """x sigmoid(z + z_rest) for VANISHED <= z <= ENOUGH, or a little beyond."""
    r, s, power, one, one_rest, unit = _terms(z, z_rest)
    return (x / (one + fma(r + s, power, one_rest))) * unit


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
