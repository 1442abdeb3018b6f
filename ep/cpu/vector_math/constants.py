"""Constants with more digits than needed, and constants that leave an integer in the low bits of a sum."""

from decimal import Context, Decimal
from fractions import Fraction
from math import floor
from typing import Final

import numpy as np

SHIFT: Final = 1.5 * 2.0**52
"""Adding it leaves the nearest integer in the low bits of the sum."""

SHIFT_BITS: Final = 0x4338 << 48
"""The bits of SHIFT."""

SHIFT_SIXTEENTHS: Final = SHIFT / 16
"""Adding it leaves the nearest multiple of 1/16, whose sixteenths are the lowest bits of the sum."""

SHIFT_FLOAT32: Final = np.float32(1.5 * 2.0**23)
"""Like SHIFT, in float32."""


def pair(value: Fraction, last_bit: int | None = None) -> tuple[float, float]:
    """Return `value` as high + low.

    last_bit: high is rounded down to a multiple of 2^last_bit, by default to nearest.
    """
    unit = Fraction(2) ** (last_bit or 0)
    high = float(value if last_bit is None else floor(value / unit) * unit)
    return high, float(value - Fraction(high))


def ln(x: float) -> Fraction:
    """Return the natural logarithm, to 50 digits."""
    return Fraction(Decimal(x).ln(Context(prec=50)))


LN2: Final = pair(ln(2))
LN2_SHORT: Final = pair(ln(2), -42)
"""ln(2) as high + low. The last 11 bits of high are 0: its product with an integer below 2^11 is exact."""

LOG10_2_SHORT: Final = pair(ln(2) / ln(10), -43)
LOG2_E: Final = pair(1 / ln(2))
LOG10_E: Final = pair(1 / ln(10))
