"""sigmoid, softplus and logsigmoid in float64, and x sigmoid(z), of which the gated activations are made."""

from ep.cpu.kernels.vector_math.bits import copysign, fabs, fma, from_bits, select
from ep.cpu.kernels.vector_math.exponential import LOG2_E, exp
from ep.cpu.kernels.vector_math.half_tangent import quotient, reduced, tangent_rest
from ep.cpu.kernels.vector_math.inlined import inlined
from ep.cpu.kernels.vector_math.logarithm import log_sum
from ep.cpu.kernels.vector_math.scaling import scaled

_ONE = 1023 << 52  # the bits of 1.0
_ENOUGH, _VANISHED = 40.0, -765.0  # from here on 1 and 0, also times a number of the size of z


@inlined
def _factors(z, z_rest):  # type: ignore[no-untyped-def]
    """Return v and n: v 2^n is the sigmoid of z + z_rest, for z from _VANISHED to _ENOUGH.

    With t = tanh(z/2 - k ln(2)/2) it is (1 + t) / (1 + 2^-k + (1 - 2^-k) t), times 2^k on the left; there numerator
    and denominator are divided by 2^k.
    """
    u, u_rest, k = reduced(0.5 * z, z, LOG2_E)
    t_rest = tangent_rest(u, u_rest + 0.5 * z_rest)
    power = from_bits(_ONE - (min(abs(k), 1022) << 52))
    p = 1.0 + power
    lost = (1.0 - p) + power
    m = copysign(2.0 - p, z)
    top = 1.0 + u
    top_rest = ((1.0 - top) + u) + t_rest
    bottom = fma(m, u, p)
    bottom_rest = fma(m, t_rest, fma(m, u, p - bottom) + lost)
    return quotient(top, top_rest, bottom, bottom_rest), min(k, 0)


@inlined
def sigmoid(x):  # type: ignore[no-untyped-def]
    """1 / (1 + e^-x)."""
    value, n = _factors(x, 0.0)
    y = select(x > _ENOUGH, 1.0, scaled(value, n))
    return select(x < _VANISHED, 0.0, y)


@inlined
def gated(x, z, z_rest):  # type: ignore[no-untyped-def]
    """x sigmoid(z + z_rest) for x and z of one sign and |x| <= |z|; -0 where z is -inf."""
    value, n = _factors(z, z_rest)
    y = select(z > _ENOUGH, x, scaled(x * value, n))
    return select(z < _VANISHED, -0.0, y)


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
