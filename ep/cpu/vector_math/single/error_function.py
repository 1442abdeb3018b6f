"""erf, erfc and gelu in float32 arithmetic, by pieces in small tables.

For a = |x|, erfc(a) and what gelu(a) lacks of a are products of e^-y, where y = a^2 or a^2 / 2, and a factor that
varies little: the pieces give this factor. e^-y is given as w and a power of two, 2^n (1 + w). The product is the sum
of a constant of the piece and of smaller terms, so it is rounded little more than once. The power of two is 2^64 times
too large until the end, so that tiny results are rounded once.
"""

from collections.abc import Callable

import numpy as np

from ep.cpu.vector_math.bits import copysign, fabs, fma, from_bits, select, shift_right, to_bits
from ep.cpu.vector_math.constants import SHIFT_FLOAT32 as SHIFT
from ep.cpu.vector_math.inlined import inlined
from ep.cpu.vector_math.limits import at_least, at_most
from ep.cpu.vector_math.polynomial import polynomial_pairs
from ep.cpu.vector_math.single.coefficients import EXP
from ep.cpu.vector_math.single.error_coefficients import ERF, ERFC, GELU
from ep.cpu.vector_math.single.exponential import LN2, LN2_REST, LOG2_E
from ep.cpu.vector_math.single.pieces import Rows, from_entry, multiple_of, odd, pieces
from ep.cpu.vector_math.single.sigmoid import DOWN, ONE

_HALF = np.float32(0.5)
_HALF_OCTAVE = np.int32(22)  # a right shift of a number's bits that counts halves of octaves
_UP_SHIFT = SHIFT + np.float32(127.0 + 64.0)  # leaves the exponent of 2^(n + 64) in the low bits of the sum
_exp_rest = polynomial_pairs(*EXP)

_ERF_WIDTH = 0.53125  # the first piece ends at a float32 number, for which the index is that of the second
erf = odd(ERF, multiple_of(_ERF_WIDTH), _ERF_WIDTH / 2, 3.93)


def _of_halves_of_octaves(rows: Rows, first: float) -> Callable[[np.float32], tuple[np.float32, np.float32, bool]]:
    """Return the compiled function that gives the constant of a piece, the change from it, and whether it is the first.

    The pieces are the halves of octaves of the rounded sum of a number and `first`.
    """
    added = np.float32(first)
    first_count = np.int32(added.view(np.int32) >> _HALF_OCTAVE)
    centre, constant, slope = pieces(from_entry(rows, int(first_count)))

    @inlined
    def terms(a: np.float32) -> tuple[np.float32, np.float32, bool]:
        i = shift_right(to_bits(a + added), _HALF_OCTAVE)
        t = a - centre(i)
        return constant(i), t * slope(i, t), i == first_count

    return terms


def _exp_of_minus(factor: float) -> Callable[[np.float32], tuple[np.float32, np.float32]]:
    """Return the compiled function of a that gives w and 2^(n + 64): e^-y = 2^n (1 + w) for y = factor a^2."""
    minus = -np.float32(factor)
    scale = minus * LOG2_E

    @inlined
    def exp_of_minus(a: np.float32) -> tuple[np.float32, np.float32]:
        shifted = fma(a * a, scale, _UP_SHIFT)
        n = shifted - _UP_SHIFT
        r = fma(n, -LN2_REST, fma(minus * a, a, -(n * LN2)))  # n LN2 is exact
        return fma(r * r, _exp_rest(r), r), from_bits(np.int32(to_bits(shifted) << 23))

    return exp_of_minus


@inlined
def _product(constant: np.float32, change: np.float32, w: np.float32) -> np.float32:
    """Return (constant + change) (1 + w)."""
    return constant + fma(constant + change, w, change)


_GELU_END, _MINUS_ZERO = np.float32(14.5), np.float32(-0.0)
_gelu_terms, _gelu_exp = _of_halves_of_octaves(GELU, 1.0), _exp_of_minus(0.5)


@inlined
def gelu(x: np.float32) -> np.float32:
    """Return x / 2 (1 + erf(x / sqrt 2)): max(x, 0) less a share of |x|; -0 from -14.5 on."""
    a = fabs(x)
    a = at_most(a, _GELU_END)
    constant, change, is_first = _gelu_terms(a)
    w, power = _gelu_exp(a)
    # the change of the first piece is that of a / 2
    share = _product(select(is_first, _HALF * a, constant), change, w)
    return fma(-power * share, DOWN, at_least(x, _MINUS_ZERO))


_ERFC_END = np.float32(10.1)
_erfc_terms, _erfc_exp = _of_halves_of_octaves(ERFC, 0.75), _exp_of_minus(1.0)


@inlined
def erfc(x: np.float32) -> np.float32:
    """Return 1 - erf(x), or 2 less that of -x; 0 from 10.1 on. The pieces are 2^64 times too small."""
    a = fabs(x)
    a = at_most(a, _ERFC_END)
    constant, change, _ = _erfc_terms(a)
    w, power = _erfc_exp(a)
    return fma(copysign(power, x), _product(constant, change, w), ONE - copysign(ONE, x))
