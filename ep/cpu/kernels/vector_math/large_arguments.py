"""The reduction of large arguments by pi/2 (Payne and Hanek): exact for every double, one at a time."""

from typing import Any

import numpy as np

from ep.cpu.kernels.jit import jit
from ep.cpu.kernels.vector_math.bits import fabs, fma, to_bits

_HALF_PI = (1.5707963267948966, 6.123233995736766e-17)

_LIMB = 24
_MASK = (1 << _LIMB) - 1
# 2 / pi = 0.a2f9836e..., in limbs, behind zeros: enough for the last bit of the largest double and 192 more
_TWO_OVER_PI = (
    "a2f9836e4e441529fc2757d1f534ddc0db6295993c439041fe5163abdebbc561b7246e3a424dd2e006492eea09d1921cfe1d"
    "eb1cb129a73ee88235f52ebb4484e99c7026b45f7e413991d639835339f49c845f8bbdf9283b1ff897ffde05980fef2f118b"
    "5a0a6d1f6d367ecf27cb09b74f463f669e5fea2d7527bac7ebe5f17b3d0739f78a5292ea6bfb5fb11f8d5d0856033046fc7b"
    "6babf0cfbc209af4361da9e3"
)
_DIGITS = _LIMB // 4
_ZEROS = 3
_LIMBS = np.array(
    [*(0,) * _ZEROS, *(int(_TWO_OVER_PI[i : i + _DIGITS], 16) for i in range(0, len(_TWO_OVER_PI), _DIGITS))]
)


@jit
def _window(start: int) -> int:
    """24 bits of 2 / pi from that of weight 2^-(start + 1) on; start >= -72."""
    place = start + _ZEROS * _LIMB
    limb, offset = place // _LIMB, place % _LIMB
    return (((_LIMBS[limb] << _LIMB) | _LIMBS[limb + 1]) >> (_LIMB - offset)) & _MASK


@jit
def reduce_large(x: float) -> Any:
    """(r, its rest, k): x = k pi/2 + r + rest, |r| <= pi/4, for finite |x| >= 1; k modulo 4.

    With |x| = m 2^e, bits of 2 / pi that give multiples of 4 are left out, and so are those beyond the next 192: the
    product is then off by 2^-137, and never nearer to an integer than 2^-62.
    """
    bits = to_bits(fabs(x))
    e, m = (bits >> 52) - 1075, (bits & ((1 << 52) - 1)) | (1 << 52)
    m0, m1, m2 = m & _MASK, (m >> _LIMB) & _MASK, m >> (2 * _LIMB)
    # the product's limbs from the lowest, modulo 2^192; the highest holds k and, signed, the top of the fraction
    lower, low, carry, total, k = 0, 0, 0, 0, 0
    value, rest, weight = 0.0, 0.0, 2.0**-190
    for i in range(7, -1, -1):
        limb = _window(e - 2 + _LIMB * i)
        total = m0 * limb + m1 * low + m2 * lower + carry
        carry, lower, low = total >> _LIMB, low, limb
        total &= _MASK
        if i == 0:
            k = (total + (1 << 21)) >> 22
            total -= k << 22
        term = float(total) * weight
        sum_ = value + term
        back = sum_ - value
        rest += (value - (sum_ - back)) + (term - back)
        value, weight = sum_, weight * 2.0**_LIMB
    r = fma(value, _HALF_PI[0], 0.0)
    r_rest = fma(value, _HALF_PI[0], -r) + fma(value, _HALF_PI[1], rest * _HALF_PI[0])
    if x < 0.0:
        return -r, -r_rest, -k
    return r, r_rest, k
