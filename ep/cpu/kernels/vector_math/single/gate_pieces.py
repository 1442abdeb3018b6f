"""sigmoid, logsigmoid and the gated activations in float32 arithmetic, by pieces for ordinary elements.

A gated activation is max(x, 0) less a share of |x|, which the pieces have up to a limit. Beyond it, and for the other
two functions as well, what is large or constant is changed by an exponential e = e^-y or a little less than that. It is
given as w and a power of 2, e = 2^n (1 + w): the last of all roundings is that of the result, tiny or not.
"""

from typing import Any, Final

import numpy as np

from ep.cpu.kernels.vector_math.bits import copysign, fabs, fma, from_bits, select
from ep.cpu.kernels.vector_math.inlined import inlined
from ep.cpu.kernels.vector_math.single.activation import fast_exponent, quick_exponent
from ep.cpu.kernels.vector_math.single.exponential import ZERO, exp_tail, reduced
from ep.cpu.kernels.vector_math.single.gate_coefficients import (
    FAST_GELU,
    GELU,
    GELU_TAIL,
    LOG_SIGMOID,
    QUICK_GELU,
    SIGMOID,
)
from ep.cpu.kernels.vector_math.single.pieces import Rows, multiple_of, of_equal_width, pieces, with_beyond
from ep.cpu.kernels.vector_math.single.sigmoid import DOWN, ONE, UP_BITS

GELU_LIMIT: Final = 4.9375
QUICK_GELU_LIMIT: Final = 7.8125
SIGMOID_LIMIT: Final = 11.75
"""The largest magnitudes of ordinary elements."""

_HALF, _END, _GELU_END = np.float32(0.5), np.float32(114.0), np.float32(14.5)
_FIRST_OF_TAIL = 14  # the number of the first piece


@inlined
def _positive(x):  # type: ignore[no-untyped-def]
    return select(x < ZERO, ZERO, x)


@inlined
def _negative(x):  # type: ignore[no-untyped-def]
    return select(x > ZERO, ZERO, x)


@inlined
def _magnitude(x, end):  # type: ignore[no-untyped-def]
    a = fabs(x)
    return select(a > end, end, a)


@inlined
def _minus_exp(y, y_rest):  # type: ignore[no-untyped-def]
    """Return w as the sum of two numbers, and 2^(n + 64), of e^-(y + y_rest)."""
    r, r_rest, n_bits = reduced(-y, -y_rest)
    return r, exp_tail(r, r_rest), from_bits(np.int32(n_bits + UP_BITS))


@inlined
def _slightly_less(y, y_rest, part):  # type: ignore[no-untyped-def]
    """Return w and 2^(n + 64) of e (1 - part e), for small e = e^-(y + y_rest)."""
    r, tail, power = _minus_exp(y, y_rest)
    w, unit = r + tail, power * (part * DOWN)
    less = fma(w, unit, unit)
    return r + (tail - fma(less, w, less)), power


@inlined
def _changed(base, weight, w, power):  # type: ignore[no-untyped-def]
    """base + weight e; the weight is given 2^-64 times as large."""
    return fma(power, fma(w, weight, weight), base)


def _gated(rows: Rows, width: float, limit: float, beyond: Any) -> tuple[Any, Any]:
    """The functions of any and of ordinary elements."""
    share = of_equal_width(rows, width)

    @inlined
    def ordinary(x):  # type: ignore[no-untyped-def]
        a = fabs(x)
        return fma(-a, share(a), _positive(x))

    return with_beyond(ordinary, limit, beyond), ordinary


def _beyond(end: float, exponent: Any) -> Any:
    """x times the sigmoid of y or -y, where y + its rest = exponent(|x|) is large."""
    end = np.float32(end)

    @inlined
    def beyond(x):  # type: ignore[no-untyped-def]
        a = _magnitude(x, end)
        y, y_rest = exponent(a)
        w, power = _slightly_less(y, y_rest, ONE)
        return _changed(_positive(x), a * -DOWN, w, power)

    return beyond


@inlined
def _itself(a):  # type: ignore[no-untyped-def]
    return a, ZERO


_tail_centre, _tail_constant, _tail_slope = pieces(
    [[*row[-_FIRST_OF_TAIL:], *row[:-_FIRST_OF_TAIL]] for row in GELU_TAIL]
)
_third = multiple_of(1 / 3)


@inlined
def _gelu_beyond(x):  # type: ignore[no-untyped-def]
    """The share of a = |x| is R(a) e^(-a^2 / 2); the pieces have a R(a)."""
    a = _magnitude(x, _GELU_END)
    half = _HALF * a
    y = fma(a, half, ZERO)
    r, tail, power = _minus_exp(y, fma(a, half, -y))
    i = _third(a)
    t = a - _tail_centre(i)
    weight = fma(t, _tail_slope(i, t), _tail_constant(i))
    return _changed(_positive(x), weight * -DOWN, r + tail, power)


gelu, gelu_of_ordinary = _gated(GELU, 1 / 6.375, GELU_LIMIT, _gelu_beyond)
fast_gelu, fast_gelu_of_ordinary = _gated(FAST_GELU, 1 / 6.375, GELU_LIMIT, _beyond(11.0, fast_exponent))
quick_gelu, quick_gelu_of_ordinary = _gated(QUICK_GELU, 1 / 4, QUICK_GELU_LIMIT, _beyond(66.0, quick_exponent))
silu, silu_of_ordinary = _gated(SIGMOID, 3 / 8, SIGMOID_LIMIT, _beyond(114.0, _itself))

_sigmoid = of_equal_width(SIGMOID, 3 / 8)
_log_sigmoid = of_equal_width(LOG_SIGMOID, 3 / 8)


@inlined
def sigmoid_of_ordinary(x):  # type: ignore[no-untyped-def]
    """1 / (1 + e^-x) for |x| <= SIGMOID_LIMIT."""
    share = _sigmoid(fabs(x))
    return select(x > ZERO, ONE - share, share)


@inlined
def _sigmoid_beyond(x):  # type: ignore[no-untyped-def]
    w, power = _slightly_less(_magnitude(x, _END), ZERO, ONE)
    return _changed(select(x > ZERO, ONE, ZERO), copysign(DOWN, -x), w, power)


@inlined
def logsigmoid_of_ordinary(x):  # type: ignore[no-untyped-def]
    """ln(1 / (1 + e^-x)) = min(x, 0) - ln(1 + e^-|x|) for |x| <= SIGMOID_LIMIT."""
    return _negative(x) - _log_sigmoid(fabs(x))


@inlined
def _logsigmoid_beyond(x):  # type: ignore[no-untyped-def]
    w, power = _slightly_less(_magnitude(x, _END), ZERO, _HALF)
    return _changed(_negative(x), -DOWN, w, power)


sigmoid = with_beyond(sigmoid_of_ordinary, SIGMOID_LIMIT, _sigmoid_beyond)
logsigmoid = with_beyond(logsigmoid_of_ordinary, SIGMOID_LIMIT, _logsigmoid_beyond)
