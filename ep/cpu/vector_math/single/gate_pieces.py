"""logsigmoid and gated activations in float32 arithmetic, by pieces for ordinary elements.

A gated activation is max(x, 0) minus a share of |x|, which the pieces give up to a limit. Beyond the limit, the result,
like logsigmoid's, is a large or constant term plus a multiple of an exponential e = e^-y or slightly less. e is given
as w and a power of 2, e = 2^n (1 + w), so the last rounding is that of the result, even if it is tiny.
"""

from typing import Final

import numpy as np

from ep.cpu.vector_math.bits import Unary, copysign, fabs, fma
from ep.cpu.vector_math.inlined import inlined
from ep.cpu.vector_math.limits import at_least, at_most
from ep.cpu.vector_math.single import activation
from ep.cpu.vector_math.single.activation import fast_exponent
from ep.cpu.vector_math.single.exponential import ZERO
from ep.cpu.vector_math.single.gate_coefficients import (
    LOG_SIGMOID,
    MISH,
)
from ep.cpu.vector_math.single.gelu_coefficients import FAST_GELU, GELU, GELU_TAIL
from ep.cpu.vector_math.single.pieces import Rows, from_entry, multiple_of, of_equal_width, pieces, with_beyond
from ep.cpu.vector_math.single.sigmoid import DOWN, ONE
from ep.cpu.vector_math.single.small_terms import changed, magnitude, minus_exp, slightly_less

GELU_LIMIT: Final = 4.9375
LOG_SIGMOID_LIMIT: Final = 11.75
MISH_LIMIT: Final = 5.75
"""The largest magnitudes of ordinary elements."""

_HALF, _END, _GELU_END, _FAST_GELU_END = map(np.float32, (0.5, 114.0, 14.5, 11.0))


def _gated(
    rows: Rows, width: float, limit: float, beyond: Unary[np.float32]
) -> tuple[Unary[np.float32], Unary[np.float32]]:
    """Return the function of any x and that of ordinary elements."""
    share = of_equal_width(rows, width)

    @inlined
    def ordinary(x: np.float32) -> np.float32:
        a = fabs(x)
        return fma(-a, share(a), at_least(x, ZERO))

    return with_beyond(ordinary, limit, beyond), ordinary


@inlined
def _fast_gelu_beyond(x: np.float32) -> np.float32:
    """Return x times the sigmoid of y or -y, where y + its rest = fast_exponent(|x|) is large."""
    a = magnitude(x, _FAST_GELU_END)
    y, y_rest = fast_exponent(a)
    w, power = slightly_less(y, y_rest, ONE)
    return changed(at_least(x, ZERO), a * -DOWN, w, power)


_gelu_tail = of_equal_width(from_entry(GELU_TAIL, 14), 1 / 3)


@inlined
def _gelu_beyond(x: np.float32) -> np.float32:
    """Return gelu(x). The share of a = |x| is R(a) e^(-a^2 / 2); the pieces give a R(a)."""
    a = magnitude(x, _GELU_END)
    half = _HALF * a
    y = fma(a, half, ZERO)
    r, tail, power = minus_exp(y, fma(a, half, -y))
    return changed(at_least(x, ZERO), _gelu_tail(a) * -DOWN, r + tail, power)


gelu, gelu_of_ordinary = _gated(GELU, 1 / 6.375, GELU_LIMIT, _gelu_beyond)
fast_gelu, fast_gelu_of_ordinary = _gated(FAST_GELU, 1 / 6.375, GELU_LIMIT, _fast_gelu_beyond)

_log_share = of_equal_width(LOG_SIGMOID, 3 / 8)

_mish_centre, _mish_constant, _mish_slope = pieces(from_entry(MISH, -16))
_mish_index = multiple_of(3 / 8)


@inlined
def mish_of_ordinary(x: np.float32) -> np.float32:
    """Return x tanh(ln(1 + e^x)) for |x| <= MISH_LIMIT. The factor of x is not rounded as a whole."""
    i = _mish_index(x)
    t = x - _mish_centre(i)
    change = fma(fma(x, t, ZERO), _mish_slope(i, t), ZERO)
    return copysign(fma(x, _mish_constant(i), change), x)


mish = with_beyond(mish_of_ordinary, MISH_LIMIT, activation.mish)


@inlined
def logsigmoid_of_ordinary(x: np.float32) -> np.float32:
    """Return ln(1 / (1 + e^-x)) = min(x, 0) - ln(1 + e^-|x|) for |x| <= LOG_SIGMOID_LIMIT."""
    return at_most(x, ZERO) - _log_share(fabs(x))


@inlined
def _logsigmoid_beyond(x: np.float32) -> np.float32:
    w, power = slightly_less(magnitude(x, _END), ZERO, _HALF)
    return changed(at_most(x, ZERO), -DOWN, w, power)


logsigmoid = with_beyond(logsigmoid_of_ordinary, LOG_SIGMOID_LIMIT, _logsigmoid_beyond)
