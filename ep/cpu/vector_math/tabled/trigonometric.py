"""sin, cos and tan in float64 by tables, without branches, for |x| <= trigonometric.LIMIT.

x = k pi/16 + r with |r| <= pi/32, and sin x = s cos r + c sin r with the sine and the cosine of k pi/16. pi/16 is taken
in three doubles, as pi is in `trigonometric`, and the reduced argument is a sum of two doubles. The rounding error of
s + c r is kept: it counts where c r may be half of s. Signs are such that -0 stays.
"""

from typing import Any

import numpy as np

from ep.cpu.vector_math.bits import fma, from_bits, to_bits
from ep.cpu.vector_math.constants import SHIFT
from ep.cpu.vector_math.inlined import inlined
from ep.cpu.vector_math.lookup import table
from ep.cpu.vector_math.polynomial import polynomial
from ep.cpu.vector_math.tabled.coefficients import COSINE, SINE, SINES, SIXTEEN_OVER_PI, SIXTEENTH_PI, TANGENT


def _turned(by: int) -> tuple[list[float], list[float]]:
    """The sines of (i + by) pi/16, high and low, for i from 0 to 15; a sine of 0 is -0."""
    quarters = [SINES[min(i % 16, 16 - i % 16)] for i in range(by, by + 16)]
    signs = [-1.0 if i % 32 > 16 or i % 16 == 0 else 1.0 for i in range(by, by + 16)]
    high, low = ([sign * pair[part] for sign, pair in zip(signs, quarters, strict=True)] for part in (0, 1))
    return high, low


def _tables(by: int) -> tuple[Any, Any]:
    """The look-ups of those sines, and of what they have too much."""
    high, low = _turned(by)
    return table(high, np.float64), table([-y for y in low], np.float64)


_sine, _sine_lost = _tables(0)
_cosine, _cosine_lost = _tables(8)
_minus_sine, _ = _tables(16)

_sine_rest, _cosine_rest, _tangent_rest = polynomial(*SINE), polynomial(*COSINE), polynomial(*TANGENT)


@inlined
def _reduced(x: float) -> Any:
    """r, lost and the integer k but for its upper bits: x = k pi/16 + r - lost."""
    shifted = fma(x, SIXTEEN_OVER_PI, SHIFT)
    k = shifted - SHIFT
    t = fma(-k, SIXTEENTH_PI[0], x)  # exact
    r = t - fma(k, SIXTEENTH_PI[1], 0.0)  # through fma, lest the difference be fused
    # r - t is exact, since t is a multiple of the last bit of the product
    return r, fma(k, SIXTEENTH_PI[2], fma(k, SIXTEENTH_PI[1], r - t)), to_bits(shifted)


@inlined
def _rotated(s: float, s_lost: float, c: float, r: float, lost: float, k: int) -> float:
    """(s - s_lost) cos(r - lost) + c sin(r - lost), with the sign changed for every half turn in k."""
    z = r * r
    high = fma(c, r, s)
    excess = fma(-c, r, high - s) + fma(z, fma(s, _cosine_rest(z), c * r * _sine_rest(z)), fma(c, lost, s_lost))
    return from_bits(to_bits(high - excess) ^ ((k & 16) << 59))


@inlined
def sin(x: float) -> float:
    """The sine of x."""
    r, lost, k = _reduced(x)
    return _rotated(_sine(k), _sine_lost(k), _cosine(k), r, lost, k)


@inlined
def cos(x: float) -> float:
    """The cosine of x."""
    r, lost, k = _reduced(x)
    return _rotated(_cosine(k), _cosine_lost(k), _minus_sine(k), r, lost, k)


@inlined
def tan(x: float) -> float:
    """The tangent of x: (s + c t) / (c - s t) with t = tan r, and what rounding lost of both."""
    r, lost, k = _reduced(x)
    s, c = _sine(k), _cosine(k)
    z = r * r
    t_lost = fma(-z * r, _tangent_rest(z), lost)
    above, below = fma(c, r, s), fma(-s, r, c)
    above_lost = fma(-c, r, above - s) + fma(c, t_lost, _sine_lost(k))
    below_lost = fma(s, r, below - c) + fma(-s, t_lost, _cosine_lost(k))
    inverse = 1.0 / (below - below_lost)
    quotient = (above - above_lost) * inverse
    excess = fma(-quotient, below_lost, fma(quotient, below, -above) + above_lost)
    return fma(-excess, inverse, quotient)
