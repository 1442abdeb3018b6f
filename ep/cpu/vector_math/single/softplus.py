"""softplus with its attributes, and logsigmoid, in float32 arithmetic."""

import numpy as np

from ep.cpu.vector_math.bits import Value, fabs, fma, from_bits, select
from ep.cpu.vector_math.inlined import inlined
from ep.cpu.vector_math.limits import at_least, at_most
from ep.cpu.vector_math.polynomial import polynomial_pairs
from ep.cpu.vector_math.single.coefficients import SOFTPLUS
from ep.cpu.vector_math.single.exponential import ZERO, exp_tail, reduced
from ep.cpu.vector_math.single.sigmoid import DOWN, UP_BITS, VANISHED

_INF = np.float32(np.inf)
_CHANGE = np.float32(0.75)  # of ln(1 + f), relative to that of f: between 1/2 and 1
# the scale of e^-|z| by the size of beta, and the z beyond which even the scaled e^-|z| is not a normal number
_SMALL_BETA, _LARGE_BETA = np.float32(1.0), np.float32(2.0**32)
_UP_BITS = tuple(np.int32((127 + n) << 23) for n in (126, 64, 0))
_TWICE_ONE_BITS = np.int32(254 << 23)
_ENDS = (172.0, 130.0, 87.0)
_FIRST = np.float32(SOFTPLUS[0])
_log_rest = polynomial_pairs(*SOFTPLUS[1:])


@inlined
def _scaled(
    y: np.float32, y_rest: np.float32, up_bits: np.int32, down: np.float32
) -> tuple[np.float32, np.float32, np.float32, np.float32]:
    """Return e, its rounding error, e f and (ln(1 + f) / f - 1) / f, where f = e^(y + y_rest), y <= 0, e = f / down."""
    r, r_rest, n_bits = reduced(y, y_rest)
    power = from_bits(np.int32(n_bits + up_bits))
    more = r + exp_tail(r, r_rest)
    e = fma(more, power, power)
    f = e * down
    q = fma(_log_rest(f), f, _FIRST)
    return e, fma(more, power, power - e), fma(e, f, ZERO), q


@inlined
def logsigmoid(x: np.float32) -> np.float32:
    """Return ln(sigmoid(x)) = min(x, 0) - ln(1 + e^-|x|). The second term is scaled by 2^64 until the end."""
    y = -fabs(x)
    e, _, ef, q = _scaled(at_least(y, VANISHED), ZERO, UP_BITS, DOWN)
    return fma(fma(ef, q, e), -DOWN, at_most(x, ZERO))


@inlined
def _two(number: float) -> tuple[np.float32, np.float32]:
    """Return a float64 number as the sum of two float32 numbers; only infinity if it is out of their range."""
    high = np.float32(number)
    return high, select(fabs(high) < _INF, np.float32(number - np.float64(high)), ZERO)


@inlined
def _by_size(beta: np.float32, small: Value, middle: Value, large: Value) -> Value:
    size = fabs(beta)
    return select(size < _SMALL_BETA, small, select(size > _LARGE_BETA, large, middle))


@inlined
def soft_plus(x: np.float32, beta: np.float32, threshold: np.float32) -> np.float32:
    """Return x if beta x > threshold, else ln(1 + e^(beta x)) / beta.

    Terms that depend only on beta and threshold are computed first, so that the compiler can move them out of the loop.
    With z = beta x, the result is max(z, 0) / beta, which is 0 or x, plus ln(1 + e^-|z|) / beta, where the logarithm is
    scaled up so far that the quotient can be a normal number even if e^-|z| is not.
    """
    up_bits = _by_size(beta, _UP_BITS[0], _UP_BITS[1], _UP_BITS[2])
    down = from_bits(np.int32(_TWICE_ONE_BITS - up_bits))
    end = np.float32(_by_size(beta, _ENDS[0], _ENDS[1], _ENDS[2]) / fabs(np.float64(beta)))
    inverse, inverse_rest = _two(np.float64(down) / np.float64(beta))
    inverse_or_0 = select(fabs(inverse) < _INF, inverse, ZERO)

    a = fabs(x)
    a = at_most(a, end)
    minus = -fabs(beta)
    y = fma(a, minus, ZERO)
    e, e_rest, ef, q = _scaled(y, fma(a, minus, -y), up_bits, down)
    log = fma(ef, q, e)
    log_rest = fma(e_rest, _CHANGE, fma(ef, q, e - log))
    z = fma(x, beta, ZERO)
    right = fma(log, inverse_rest, fma(log_rest, inverse_or_0, select(z > ZERO, x, ZERO)))
    return select(fma(x, beta, -threshold) > ZERO, x, fma(log, inverse, right))
