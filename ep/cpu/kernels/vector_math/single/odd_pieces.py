"""tanh and erf in float32 arithmetic, by pieces."""

from typing import Any

import numpy as np

from ep.cpu.kernels.vector_math.bits import copysign, fabs, fma, select, shift_right, to_bits
from ep.cpu.kernels.vector_math.inlined import inlined
from ep.cpu.kernels.vector_math.single.odd_coefficients import ERF, TANH
from ep.cpu.kernels.vector_math.single.pieces import Rows, multiple_of, pieces

_LOWEST = np.float32(2.0**-4)
_QUARTER = np.int32(21)  # this shift of the bits of a number counts the quarters of octaves up to it
_LOWEST_ENTRY = (123 << 2) % 32  # the count, as an index


@inlined
def _quarter(a):  # type: ignore[no-untyped-def]
    return shift_right(to_bits(select(a > _LOWEST, a, _LOWEST)), _QUARTER)


def _odd(rows: Rows, index: Any, linear: float, end: float) -> Any:
    """An odd function that is 1 from `end` on; up to `linear` the rows have the function less its argument."""
    centre, constant, slope = pieces(rows)
    linear, end = np.float32(linear), np.float32(end)

    @inlined
    def function(x):  # type: ignore[no-untyped-def]
        a = fabs(x)
        a = select(a > end, end, a)
        i = index(a)
        t = a - centre(i)
        return copysign(fma(t, slope(i, t), select(a < linear, a, constant(i))), x)

    return function


tanh = _odd([[*row[-_LOWEST_ENTRY:], *row[:-_LOWEST_ENTRY]] for row in TANH], _quarter, 1.25 * 2.0**-4, 9.015)
erf = _odd(ERF, multiple_of(1 / 8), 1.5 / 8, 3.93)
