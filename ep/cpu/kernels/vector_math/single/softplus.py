"""softplus with its attributes, and logsigmoid, in float32 arithmetic."""

from typing import Any

import numpy as np

from ep.cpu.kernels.vector_math.bits import copysign, fabs, fma, from_bits, select
from ep.cpu.kernels.vector_math.inlined import inlined
from ep.cpu.kernels.vector_math.single.exponential import ZERO, exp_tail, reduced
from ep.cpu.kernels.vector_math.single.sigmoid import DOWN, UP_BITS, VANISHED

_INF, _LARGEST = np.float32(np.inf), np.float32(np.finfo(np.float32).max)
_CHANGE = np.float32(0.75)  # of ln(1 + f), from that of f: between 1/2 and 1
# the scale of e^-|z| by the size of beta, and how far z goes before it is no normal number all the same
_SMALL_BETA, _LARGE_BETA = 1.0, 2.0**32
_UP_BITS = tuple(np.int32((127 + n) << 23) for n in (126, 64, 0))
_TWICE_ONE_BITS = np.int32(254 << 23)
_ENDS = (172.0, 130.0, 87.0)


@inlined
def _scaled(y, y_rest, up_bits, down):  # type: ignore[no-untyped-def]
    """Return e, its rounding error, e f and (ln(1 + f) / f - 1) / f, where f = e^(y + y_rest), y <= 0, e = f / down."""
    r, r_rest, n_bits = reduced(y, y_rest)
    power = from_bits(np.int32(n_bits + up_bits))
    more = r + exp_tail(r, r_rest)
    e = fma(more, power, power)
    f = e * down
    f2 = fma(f, f, ZERO)
    q = fma(fma(-0.0036756391637027264, f, 0.02186800166964531), f2, fma(-0.06090911850333214, f, 0.11024045199155807))
    q = fma(q, f2, fma(-0.155689999461174, f, 0.19774176180362701))
    q = fma(fma(q, f2, fma(-0.2497507780790329, f, 0.3333224952220917)), f, -0.5)
    return e, fma(more, power, power - e), fma(e, f, ZERO), q


@inlined
def logsigmoid(x):  # type: ignore[no-untyped-def]
    """ln(sigmoid(x)) = min(x, 0) - ln(1 + e^-|x|); the second term is 2^64 times too large till the end."""
    y = -fabs(x)
    e, _, ef, q = _scaled(select(y < VANISHED, VANISHED, y), ZERO, UP_BITS, DOWN)
    return fma(fma(ef, q, e), -DOWN, select(x > ZERO, ZERO, x))


@inlined
def _two(number: Any, largest: Any) -> Any:
    """A float64 number as the sum of two of float32; beyond `largest`, as that or infinity alone."""
    high = np.float32(number)
    high = select(fabs(high) > largest, copysign(largest, high), high)
    return high, select(fabs(high) < largest, np.float32(number - np.float64(high)), ZERO)


@inlined
def _by_size(beta: float, small: Any, middle: Any, large: Any) -> Any:
    size = fabs(beta)
    return select(size < _SMALL_BETA, small, select(size > _LARGE_BETA, large, middle))


@inlined
def soft_plus(x, beta, threshold):  # type: ignore[no-untyped-def]
    """x where beta x > threshold, else ln(1 + e^(beta x)) / beta; the attributes are float64 numbers.

    What depends on them alone is left to be computed before the loop. With z = beta x, the result is max(z, 0) / beta,
    which is 0 or x, and ln(1 + e^-|z|) / beta, where the logarithm is scaled up so far that the quotient can be a
    normal number when e^-|z| is not.
    """
    beta_high, beta_rest = _two(beta, _LARGEST)
    up_bits = _by_size(beta, _UP_BITS[0], _UP_BITS[1], _UP_BITS[2])
    down = from_bits(np.int32(_TWICE_ONE_BITS - up_bits))
    end = np.float32(_by_size(beta, _ENDS[0], _ENDS[1], _ENDS[2]) / fabs(beta))
    inverse, inverse_rest = _two(np.float64(down) / beta, _INF)
    inverse_or_0 = select(fabs(inverse) < _INF, inverse, ZERO)
    limit, limit_rest = _two(threshold, _INF)

    a = fabs(x)
    a = select(a > end, end, a)
    minus = -fabs(beta_high)
    y = fma(a, minus, ZERO)
    y_rest = fma(a, select(beta < 0.0, beta_rest, -beta_rest), fma(a, minus, -y))
    e, e_rest, ef, q = _scaled(y, y_rest, up_bits, down)
    log = fma(ef, q, e)
    log_rest = fma(e_rest, _CHANGE, fma(ef, q, e - log))
    z = fma(x, beta_high, ZERO)
    right = fma(log, inverse_rest, fma(log_rest, inverse_or_0, select(z > ZERO, x, ZERO)))
    over = fma(x, beta_high, -limit) + fma(x, beta_rest, -limit_rest)
    return select(over > ZERO, x, fma(log, inverse, right))
