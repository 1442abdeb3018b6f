"""The gradients of activations in float32 arithmetic: dy times a slope.

For ordinary elements, the slopes of gated activations are given by pieces. Those of silu and of the gelus at x and at
-x add up to 1: the pieces give that at -|x|. One piece has the zero of the slope as its centre, so that results near
the zero, where the terms of the formula cancel, have all bits. Beyond the limit they do not cancel: the slope at -|x|
is a multiple of an exponential. That of mish is evaluated by its formula.
"""

import math
from typing import Final

import numpy as np

from ep.common.functor.binary import activation_backward
from ep.common.functor.math_library import Maker, MathLibrary
from ep.common.functor.unary.activation import FAST_GELU_A, FAST_GELU_B
from ep.cpu.vector_math.bits import Binary, Unary, fabs, fma, select
from ep.cpu.vector_math.inlined import inlined
from ep.cpu.vector_math.polynomial import polynomial_chain
from ep.cpu.vector_math.single.activation import fast_exponent, quick_exponent
from ep.cpu.vector_math.single.coefficients import MILLS
from ep.cpu.vector_math.single.error_function import erfc
from ep.cpu.vector_math.single.exponential import ZERO, exp, exp_tail, power_of_2, reduced
from ep.cpu.vector_math.single.gate_pieces import GELU_LIMIT, MISH_LIMIT
from ep.cpu.vector_math.single.pieces import Rows, from_entry, multiple_of, of_equal_width, pieces
from ep.cpu.vector_math.single.sigmoid import DOWN, ONE
from ep.cpu.vector_math.single.slope_coefficients import FAST_GELU, GELU, MISH, SILU
from ep.cpu.vector_math.single.small_terms import magnitude

SILU_LIMIT: Final = 10.0
QUICK_GELU_LIMIT: Final = 5.875
"""The largest magnitudes of ordinary elements; those of the gelus and of mish are the ones of the functions."""

_LIBRARY: Final = MathLibrary(np.float32, {"exp": exp, "erfc": erfc, "fma": fma}, inlined)
_SILU_WIDTH: Final = 0.32
_HALF, _FAR = map(np.float32, (0.5, 80.0))
_SILU_END, _QUICK_GELU_END, _FAST_GELU_END, _GELU_END = map(np.float32, (201.0, 119.0, 14.0, 20.0))
"""From here on, the slope at -|x| vanishes, also times the largest dy."""
_LINEAR, _THREE_TIMES_CUBIC = map(np.float32, (2 * FAST_GELU_A, 6 * FAST_GELU_A * FAST_GELU_B))
_STEP_BITS: Final = np.int32(64 << 23)
_HALF_OF_EXPONENT: Final = np.int32(-(1 << 23))

Gradient = Binary[np.float32]


def _functions(
    maker: Maker, slope: Unary[np.float32], limit: float, beyond: Gradient | None = None
) -> tuple[Gradient, Gradient, Gradient]:
    """Return dy slope(x) by the formula, that of any x, and that of ordinary elements, which has the same bits.

    beyond: dy slope(x) beyond the limit; if None, by the formula.
    """
    formula, last = _LIBRARY.use(maker), np.float32(limit)
    other = beyond or formula

    @inlined
    def ordinary(dy: np.float32, x: np.float32) -> np.float32:
        return dy * slope(x)

    @inlined
    def function(dy: np.float32, x: np.float32) -> np.float32:
        return select(fabs(x) <= last, ordinary(dy, x), other(dy, x))

    return formula, function, ordinary


@inlined
def _exponential(y: np.float32, y_rest: np.float32) -> tuple[np.float32, np.int32]:
    """Return p and the bits of n shifted to the exponent, modulo 512: e^-(y + y_rest) = 2^n (1 + p)."""
    r, r_rest, n_bits = reduced(-y, -y_rest)
    return r + exp_tail(r, r_rest), n_bits


@inlined
def _times_tiny(dy: np.float32, y: np.float32, factor: np.float32, n_bits: np.int32) -> np.float32:
    """Return dy 2^n factor, where n is about -y / ln(2).

    The power of 2 is up to three factors, so that the product is rounded to a tiny number only once.
    """
    is_small = y > _FAR
    bits = np.int32(n_bits + select(is_small, _STEP_BITS, np.int32(0)))
    half = np.int32((bits >> 1) & _HALF_OF_EXPONENT)
    first = (select(is_small, dy * DOWN, dy) * power_of_2(half)) * factor
    return first * power_of_2(np.int32(bits - half))


@inlined
def _on_both_sides(dy: np.float32, x: np.float32, below: np.float32) -> np.float32:
    """Return dy times the slope at x, given that at -|x|."""
    return select(x < ZERO, below, dy - below)


@inlined
def _unless_far(y: np.float32, p: np.float32, n_bits: np.int32) -> np.float32:
    """Return e^-y = 2^n (1 + p), or 0 if it is not a normal number."""
    power = power_of_2(n_bits)
    return select(y < _FAR, fma(p, power, power), ZERO)


@inlined
def _gate_beyond(dy: np.float32, x: np.float32, y: np.float32, y_rest: np.float32, w: np.float32) -> np.float32:
    """Return dy times the derivative of x sigmoid(v(x)), large y + y_rest = |v|, w = |x| v'(x).

    At -|x| it is e r (1 - w r), r = 1 / (1 + e), e = e^-y.
    """
    p, n_bits = _exponential(y, y_rest)
    r = ONE - _unless_far(y, p, n_bits)  # to e^2
    factor = r * fma(-w, r, ONE)
    return _on_both_sides(dy, x, _times_tiny(dy, y, fma(p, factor, factor), n_bits))


@inlined
def _silu_beyond(dy: np.float32, x: np.float32) -> np.float32:
    a = magnitude(x, _SILU_END)
    return _gate_beyond(dy, x, a, ZERO, a)


@inlined
def _quick_gelu_beyond(dy: np.float32, x: np.float32) -> np.float32:
    y, y_rest = quick_exponent(magnitude(x, _QUICK_GELU_END))
    return _gate_beyond(dy, x, y, y_rest, y)


@inlined
def _fast_gelu_beyond(dy: np.float32, x: np.float32) -> np.float32:
    a = magnitude(x, _FAST_GELU_END)
    y, y_rest = fast_exponent(a)
    return _gate_beyond(dy, x, y, y_rest, a * fma(_THREE_TIMES_CUBIC * a, a, _LINEAR))


_mills = polynomial_chain(*MILLS)
_DENSITY: Final = np.float32(math.sqrt(0.5 / math.pi))


@inlined
def _gelu_beyond(dy: np.float32, x: np.float32) -> np.float32:
    """Return dy times the slope of gelu for large |x|. At -|x| it is a multiple of |x| e^(-x^2 / 2)."""
    a = magnitude(x, _GELU_END)
    half = _HALF * a
    y = fma(a, half, ZERO)
    p, n_bits = _exponential(y, fma(a, half, -y))
    u = _HALF / y
    factor = a * _DENSITY * fma(u, _mills(u), -ONE)
    return _on_both_sides(dy, x, _times_tiny(dy, y, fma(p, factor, factor), n_bits))


def _of_both_sides(below: Unary[np.float32]) -> Unary[np.float32]:
    """Return the slope at x, if `below` gives the one at -|x|."""

    @inlined
    def slope(x: np.float32) -> np.float32:
        share = below(fabs(x))
        return select(x < ZERO, share, ONE - share)

    return slope


def _of_gate(rows: Rows, width: float) -> Unary[np.float32]:
    return _of_both_sides(of_equal_width(rows, width))


_quick_centre, _quick_constant, _quick_change = pieces(SILU)
_quick_index = multiple_of(_SILU_WIDTH)


@inlined
def _quick_gelu_below(a: np.float32) -> np.float32:
    """Return the slope of silu at -1.702 a."""
    z, z_rest = quick_exponent(a)
    i = _quick_index(z)
    t = (z - _quick_centre(i)) + z_rest
    return fma(t, _quick_change(i, t), _quick_constant(i))


silu_formula, silu, silu_of_ordinary = _functions(
    activation_backward.silu_backward, _of_gate(SILU, _SILU_WIDTH), SILU_LIMIT, _silu_beyond
)
quick_gelu_formula, quick_gelu, quick_gelu_of_ordinary = _functions(
    activation_backward.quick_gelu_backward, _of_both_sides(_quick_gelu_below), QUICK_GELU_LIMIT, _quick_gelu_beyond
)
gelu_formula, gelu, gelu_of_ordinary = _functions(
    activation_backward.gelu_backward, _of_gate(GELU, 1 / 6.375), GELU_LIMIT, _gelu_beyond
)
fast_gelu_formula, fast_gelu, fast_gelu_of_ordinary = _functions(
    activation_backward.fast_gelu_backward, _of_gate(FAST_GELU, 1 / 6.375), GELU_LIMIT, _fast_gelu_beyond
)
mish_formula, mish, mish_of_ordinary = _functions(
    activation_backward.mish_backward, of_equal_width(from_entry(MISH, -16), 3 / 8), MISH_LIMIT
)


@inlined
def softplus(dy: np.float32, x: np.float32, beta: np.float32, threshold: np.float32) -> np.float32:
    """Return dy if beta x > threshold, else dy sigmoid(beta x), with beta x as a sum of two numbers."""
    z = fma(beta, x, ZERO)
    rest = fma(beta, x, -z)
    y = magnitude(z, _SILU_END)
    p, n_bits = _exponential(y, select(fabs(z) < _SILU_END, select(z < ZERO, -rest, rest), ZERO))
    r = ONE / (ONE + _unless_far(y, p, n_bits))
    not_below = select(z >= ZERO, dy * r, z)  # NaN, unlike y
    sigmoid = select(z < ZERO, _times_tiny(dy, y, fma(p, r, r), n_bits), not_below)
    return select(fma(beta, x, -threshold) > ZERO, dy, sigmoid)
