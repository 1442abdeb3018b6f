"""erfc in float32 arithmetic, by pieces for ordinary elements."""

from typing import Final

import numpy as np

from ep.cpu.vector_math.bits import copysign, fabs, fma, select
from ep.cpu.vector_math.inlined import inlined
from ep.cpu.vector_math.single.erfc_coefficients import ERFC, ERFC_TAIL
from ep.cpu.vector_math.single.exponential import ZERO
from ep.cpu.vector_math.single.pieces import from_entry, of_equal_width, with_beyond
from ep.cpu.vector_math.single.sigmoid import DOWN
from ep.cpu.vector_math.single.small_terms import changed, magnitude, minus_exp

ERFC_LIMIT: Final = 4.4375
"""The largest magnitude of ordinary elements."""

_TWO, _END = np.float32(2.0), np.float32(10.1)
_erfc = of_equal_width(ERFC, 1 / 7)
_tail = of_equal_width(from_entry(ERFC_TAIL, 20), 1 / 5)


@inlined
def erfc_of_ordinary(x: np.float32) -> np.float32:
    """Return 1 - erf(x) for |x| <= ERFC_LIMIT."""
    value = _erfc(fabs(x))
    return select(x < ZERO, _TWO - value, value)


@inlined
def _beyond(x: np.float32) -> np.float32:
    """Return R(a) e^(-a^2), or 2 minus that, for a = |x|."""
    a = magnitude(x, _END)
    y = fma(a, a, ZERO)
    r, tail, power = minus_exp(y, fma(a, a, -y))
    return changed(select(x < ZERO, _TWO, ZERO), copysign(_tail(a) * DOWN, x), r + tail, power)


erfc = with_beyond(erfc_of_ordinary, ERFC_LIMIT, _beyond)
