"""tanh, asinh and erf in float32 arithmetic, by pieces."""

from typing import Final

import numpy as np

from ep.cpu.vector_math.bits import shift_right, to_bits
from ep.cpu.vector_math.inlined import inlined
from ep.cpu.vector_math.limits import at_least
from ep.cpu.vector_math.single import inverse_hyperbolic
from ep.cpu.vector_math.single.odd_coefficients import ASINH, ERF, TANH
from ep.cpu.vector_math.single.pieces import from_entry, multiple_of, odd, with_beyond

ASINH_LIMIT: Final = 15.9375
"""The largest magnitude of ordinary elements."""

_LOWEST = np.float32(2.0**-4)
_QUARTER = np.int32(21)  # a right shift of a number's bits that counts quarters of octaves
_FIRST_QUARTER = 123 << 2  # the count up to 2^-4
_LINEAR = 1.25 * 2.0**-4  # the end of the first of them


@inlined
def _quarter(a: np.float32) -> int:
    return shift_right(to_bits(at_least(a, _LOWEST)), _QUARTER)


tanh = odd(from_entry(TANH, _FIRST_QUARTER), _quarter, _LINEAR, 9.015)
asinh_of_ordinary = odd(from_entry(ASINH, _FIRST_QUARTER), _quarter, _LINEAR, ASINH_LIMIT)
asinh = with_beyond(asinh_of_ordinary, ASINH_LIMIT, inverse_hyperbolic.asinh)
erf = odd(ERF, multiple_of(1 / 8), 1.5 / 8, 3.93)
