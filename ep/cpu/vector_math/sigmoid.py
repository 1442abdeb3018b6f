"""sigmoid, softplus and logsigmoid in float64, and x sigmoid(z), from which the gated activations are made."""

from ep.cpu.vector_math.bits import Ternary, Unary, both, either, fabs, fma, from_bits, select, to_bits
from ep.cpu.vector_math.exponential import exp, exp_reduced
from ep.cpu.vector_math.inlined import inlined
from ep.cpu.vector_math.limits import at_least, clamp
from ep.cpu.vector_math.logarithm import log_sum
from ep.cpu.vector_math.scaling import scaled

ENOUGH, VANISHED = 40.0, -765.0  # beyond these sigmoid(z) is 1 and 0, also times a number of the size of z
_SMALL, _DOWN = -600.0, 2.0**-128
_INF = float("inf")
_NOTHING = -1460.0  # beyond it e^(beta x) / beta is 0: beta is at least this number / the largest x
_FIRST_STEP = -1000  # of the exponent: `scaled` takes none below -2000


@inlined
def _terms(z: float, z_rest: float) -> tuple[float, float, float, float, float, float]:
    """Return r, s, power, one, one_rest and unit: 1 + e^-(z + z_rest) = ((r + s) power + one + one_rest) / unit.

    unit is 1, or 2^-128 if z is so small that e^-z might overflow. one_rest is 0 unless unit and power are too far
    apart for an exact sum.
    """
    r, s, n = exp_reduced(-z, -z_rest)
    unit = select(z < _SMALL, _DOWN, 1.0)
    power = from_bits((n << 52) + to_bits(unit))
    one = power + unit
    return r, s, power, one, unit - (one - power), unit


@inlined
def sigmoid(x: float) -> float:
    """Return 1 / (1 + e^-x). The rounding errors of the sums and of the quotient are corrected."""
    r, s, power, one, one_rest, unit = _terms(clamp(x, VANISHED, ENOUGH), 0.0)
    rest = r + s
    sum_ = fma(rest, power, one)
    sum_rest = fma((r - rest) + s, power, fma(rest, power, one - sum_) + one_rest)
    inverse = 1.0 / sum_
    # 1 - inverse (sum + sum_rest)
    missing = fma(-inverse, sum_rest, fma(-inverse, sum_, 1.0))
    return fma(missing, inverse, inverse) * unit


@inlined
def gated(x: float, z: float, z_rest: float) -> float:
    """Return x sigmoid(z + z_rest) for VANISHED <= z <= ENOUGH, or a little beyond."""
    r, s, power, one, one_rest, unit = _terms(z, z_rest)
    return (x / (one + fma(r + s, power, one_rest))) * unit


def softplus_functions(exp: Unary[float], log_sum: Ternary[float]) -> tuple[Unary[float], Unary[float]]:
    """Return softplus and logsigmoid, made from exp and log_sum(u, low, k), which is ln(2^k (u + low))."""

    @inlined
    def softplus(x: float) -> float:
        """Return ln(1 + e^x) = max(x, 0) + ln(1 + e^-|x|); max(x, 0) propagates NaN."""
        e = exp(-fabs(x))
        u = 1.0 + e
        y = log_sum(u, e - (u - 1.0), 0.0)
        return at_least(x, 0.0) + select(e < 2.0**-54, e, y)

    @inlined
    def logsigmoid(x: float) -> float:
        """Return ln(sigmoid(x)) = -softplus(-x)."""
        return -softplus(-x)

    return softplus, logsigmoid


softplus, logsigmoid = softplus_functions(exp, log_sum)


@inlined
def soft_plus(x: float, beta: float, threshold: float) -> float:
    """Return x if beta x > threshold, else ln(1 + e^(beta x)) / beta.

    Like softplus, including the rounding errors of beta x, of e^-|beta x|, of the sum and of the quotient.
    """
    z = fma(beta, x, 0.0)
    rest = select(fabs(z) < _INF, fma(beta, x, -z), 0.0)
    below = z < 0.0
    a, a_rest = -fabs(z), select(below, rest, -rest)
    vanished = a < _NOTHING
    r, s, n = exp_reduced(select(vanished, _NOTHING, a), select(vanished, 0.0, a_rest))
    one = 1.0 + r
    tail = ((1.0 - one) + r) + s
    sum_ = one + tail
    sum_rest = tail - (sum_ - one)
    # a result that is not 0 has a quotient near 2^1015 if n is that small: both its steps are exact
    first = select(n < _FIRST_STEP, _FIRST_STEP, n)
    e, e_rest = scaled(sum_, first), scaled(sum_rest, first)
    u = 1.0 + e
    small = e < 2.0**-54
    log = select(small, e, log_sum(u, (e - (u - 1.0)) + e_rest, 0.0))
    high = select(below, 0.0, z)
    # e^z alone is divided first and scaled then: the quotient may be a normal number though e^z is not
    apart = both(small, below)
    y = select(apart, sum_, high + log)
    y_rest = select(apart, sum_rest, (log - (y - high)) + select(below, 0.0, rest))
    quotient = y / beta
    missing = (fma(-quotient, beta, y) + y_rest) / beta
    quotient += select(fabs(missing) < _INF, missing, 0.0)
    over = either(z - threshold + rest > 0.0, z == _INF)
    stepped = scaled(scaled(quotient, select(apart, first, 0)), select(apart, n - first, 0))
    return select(over, x, stepped)
