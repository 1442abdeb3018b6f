"""tanh, asinh and erf in float32 arithmetic, by pieces."""

from typing import Any, Final

import numpy as np

from ep.cpu.vector_math.bits import copysign, fabs, fma, select, shift_right, to_bits
from ep.cpu.vector_math.inlined import inlined
from ep.cpu.vector_math.limits import at_least, at_most
from ep.cpu.vector_math.single import inverse_hyperbolic
from ep.cpu.vector_math.single.odd_coefficients import ASINH, ERF, TANH
from ep.cpu.vector_math.single.pieces import Rows, from_entry, multiple_of, pieces, with_beyond

ASINH_LIMIT: Final = 15.9375
"""The largest magnitude of ordinary elements."""

_LOWEST = np.float32(2.0**-4)
_QUARTER = np.int32(21)  # a right shift of a number's bits that counts quarters of octaves
_FIRST_QUARTER = 123 << 2  # the count up to 2^-4
_LINEAR = 1.25 * 2.0**-4  # the end of the first of them


@inlined
def _quarter(a):
    return shift_right(to_bits(at_least(a, _LOWEST)), _QUARTER)


def _odd(rows: Rows, index: Any, linear: float, end: float) -> Any:
    """Return an odd function that is constant from `end` on.

    Up to `linear` the rows give the function minus its argument.
    """
    centre, constant, slope = pieces(rows)
    linear, end = np.float32(linear), np.float32(end)

    @inlined
    def function(x):
        a = fabs(x)
        a = at_most(a, end)
        i = index(a)
        t = a - centre(i)
        return copysign(fma(t, slope(i, t), select(a < linear, a, constant(i))), x)

    return function


tanh = _odd(from_entry(TANH, _FIRST_QUARTER), _quarter, _LINEAR, 9.015)
asinh_of_ordinary = _odd(from_entry(ASINH, _FIRST_QUARTER), _quarter, _LINEAR, ASINH_LIMIT)
asinh = with_beyond(asinh_of_ordinary, ASINH_LIMIT, inverse_hyperbolic.asinh)
erf = _odd(ERF, multiple_of(1 / 8), 1.5 / 8, 3.93)
