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

_SIXTEEN_OVER_PI = 5.092958178940651
_SIXTEENTH = (0.19634954084936207, 7.654042494670958e-18, -1.8717311310739623e-34)  # of pi, to 160 bits

# the sines of 0, pi/16, ... pi/2, and what they lack
_SINES = (
    (0.0, 0.0),
    (0.19509032201612828, -7.991079068461731e-18),
    (0.3826834323650898, -1.0050772696461588e-17),
    (0.5555702330196022, 4.709410940561677e-17),
    (0.7071067811865476, -4.833646656726457e-17),
    (0.8314696123025452, 1.4073856984728024e-18),
    (0.9238795325112867, 1.7645047084336677e-17),
    (0.9807852804032304, 1.8546939997825006e-17),
    (1.0, 0.0),
)


def _turned(by: int) -> tuple[list[float], list[float]]:
    """The sines of (i + by) pi/16, high and low, for i from 0 to 15; a sine of 0 is -0."""
    quarters = [_SINES[min(i % 16, 16 - i % 16)] for i in range(by, by + 16)]
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

# (1 - sin(sqrt z) / sqrt z) / z, (1 - cos(sqrt z)) / z and (tan(sqrt z) / sqrt z - 1) / z on 0 <= z <= (pi/32)^2, good
# to 2^-67, 2^-64 and 2^-59 of 1: least squares on Chebyshev nodes, coefficients rounded one by one from the first.
_sine_rest = polynomial(0.16666666666666666, -0.008333333333321237, 0.00019841269414941815, -2.755168702199245e-06)
_cosine_rest = polynomial(0.49999999999999983, -0.04166666666649905, 0.0013888888364156457, -2.4795111379491475e-05)
_tangent_rest = polynomial(
    0.33333333333334103, 0.13333333332216774, 0.05396825925735478, 0.02186839277243219, 0.008966306444825677
)


@inlined
def _reduced(x: float) -> Any:
    """r, lost and the integer k but for its upper bits: x = k pi/16 + r - lost."""
    shifted = fma(x, _SIXTEEN_OVER_PI, SHIFT)
    k = shifted - SHIFT
    t = fma(-k, _SIXTEENTH[0], x)  # exact
    r = t - fma(k, _SIXTEENTH[1], 0.0)  # through fma, lest the difference be fused
    # r - t is exact, since t is a multiple of the last bit of the product
    return r, fma(k, _SIXTEENTH[2], fma(k, _SIXTEENTH[1], r - t)), to_bits(shifted)


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
