"""Small exponential terms of functions in float32 arithmetic: e = e^-y, or slightly less.

e is given as w and a power of 2, e = 2^n (1 + w), so the last rounding is that of the result, even if it is tiny.
"""

import numpy as np

from ep.cpu.vector_math.bits import fabs, fma, from_bits
from ep.cpu.vector_math.inlined import inlined
from ep.cpu.vector_math.limits import at_most
from ep.cpu.vector_math.single.exponential import exp_tail, reduced
from ep.cpu.vector_math.single.sigmoid import DOWN, UP_BITS


@inlined
def magnitude(x: np.float32, end: np.float32) -> np.float32:
    """Return |x|, or end if that is smaller."""
    return at_most(fabs(x), end)


@inlined
def minus_exp(y: np.float32, y_rest: np.float32) -> tuple[np.float32, np.float32, np.float32]:
    """Return w as the sum of two numbers, and 2^(n + 64), for e = e^-(y + y_rest)."""
    r, r_rest, n_bits = reduced(-y, -y_rest)
    return r, exp_tail(r, r_rest), from_bits(np.int32(n_bits + UP_BITS))


@inlined
def slightly_less(y: np.float32, y_rest: np.float32, part: np.float32) -> tuple[np.float32, np.float32]:
    """Return w and 2^(n + 64) of e (1 - part e), for small e = e^-(y + y_rest)."""
    r, tail, power = minus_exp(y, y_rest)
    w, unit = r + tail, power * (part * DOWN)
    less = fma(w, unit, unit)
    return r + (tail - fma(less, w, less)), power


@inlined
def changed(base: np.float32, weight: np.float32, w: np.float32, power: np.float32) -> np.float32:
    """Return base + weight e. The weight is given times 2^-64."""
    return fma(power, fma(w, weight, weight), base)
