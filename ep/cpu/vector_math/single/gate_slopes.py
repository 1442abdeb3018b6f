"""The gradients of gated activations in float32 arithmetic, dy times a slope, by pieces for ordinary elements.

The slopes of silu and of the gelus at x and at -x add up to 1: the pieces give that at -|x|. One piece has the zero of
the slope as its centre, so that results near the zero, where the terms of the formula cancel, have all bits. Beyond the
limit they do not cancel, and the formula is evaluated in float32.
"""

from typing import Any, Final

import numpy as np

from ep.common.functor.binary import activation_backward
from ep.common.functor.math_library import Maker, MathLibrary
from ep.cpu.vector_math.bits import fabs, fma, select
from ep.cpu.vector_math.inlined import inlined
from ep.cpu.vector_math.sets.names import FLOAT32, OfThisProcessor
from ep.cpu.vector_math.single.activation import quick_exponent
from ep.cpu.vector_math.single.exponential import ZERO
from ep.cpu.vector_math.single.gate_pieces import GELU_LIMIT, MISH_LIMIT
from ep.cpu.vector_math.single.pieces import Rows, from_entry, multiple_of, of_equal_width, pieces
from ep.cpu.vector_math.single.sigmoid import ONE
from ep.cpu.vector_math.single.slope_coefficients import FAST_GELU, GELU, MISH, SILU

SILU_LIMIT: Final = 10.0
QUICK_GELU_LIMIT: Final = 5.875
"""The largest magnitudes of ordinary elements; those of the gelus and of mish are the ones of the functions."""

_LIBRARY: Final = MathLibrary(np.float32, OfThisProcessor(FLOAT32), inlined)
_SILU_WIDTH: Final = 0.32


def _functions(maker: Maker, slope: Any, limit: float) -> tuple[Any, Any, Any]:
    """Return dy slope(x) by the formula, that of any x, and that of ordinary elements, which has the same bits."""
    formula, limit = _LIBRARY.use(maker), np.float32(limit)

    @inlined
    def ordinary(dy, x):
        return dy * slope(x)

    @inlined
    def function(dy, x):
        return select(fabs(x) <= limit, ordinary(dy, x), formula(dy, x))

    return formula, function, ordinary


def _of_both_sides(below: Any) -> Any:
    """Return the slope at x, if `below` gives the one at -|x|."""

    @inlined
    def slope(x):
        share = below(fabs(x))
        return select(x < ZERO, share, ONE - share)

    return slope


def _of_gate(rows: Rows, width: float) -> Any:
    return _of_both_sides(of_equal_width(rows, width))


_quick_centre, _quick_constant, _quick_change = pieces(SILU)
_quick_index = multiple_of(_SILU_WIDTH)


@inlined
def _quick_gelu_below(a):
    """Return the slope of silu at -1.702 a."""
    z, z_rest = quick_exponent(a)
    i = _quick_index(z)
    t = (z - _quick_centre(i)) + z_rest
    return fma(t, _quick_change(i, t), _quick_constant(i))


silu_beyond, silu, silu_of_ordinary = _functions(
    activation_backward.silu_backward, _of_gate(SILU, _SILU_WIDTH), SILU_LIMIT
)
quick_gelu_beyond, quick_gelu, quick_gelu_of_ordinary = _functions(
    activation_backward.quick_gelu_backward, _of_both_sides(_quick_gelu_below), QUICK_GELU_LIMIT
)
gelu_beyond, gelu, gelu_of_ordinary = _functions(
    activation_backward.gelu_backward, _of_gate(GELU, 1 / 6.375), GELU_LIMIT
)
fast_gelu_beyond, fast_gelu, fast_gelu_of_ordinary = _functions(
    activation_backward.fast_gelu_backward, _of_gate(FAST_GELU, 1 / 6.375), GELU_LIMIT
)
mish_beyond, mish, mish_of_ordinary = _functions(
    activation_backward.mish_backward, of_equal_width(from_entry(MISH, -16), 3 / 8), MISH_LIMIT
)
