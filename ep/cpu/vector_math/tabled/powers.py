"""The 16 powers of two whose exponents are multiples of 1/16, and their inverses."""

from decimal import Context, Decimal
from fractions import Fraction
from typing import Any, Final

import numpy as np

from ep.cpu.vector_math.constants import pair
from ep.cpu.vector_math.lookup import table

_DIGITS = Context(prec=50)


def _powers(sign: int) -> tuple[list[float], list[float]]:
    """Return 2^(sign i/16), and the relative error of each."""
    pairs = [pair(Fraction(_DIGITS.power(Decimal(2), Decimal(sign * i) / 16))) for i in range(16)]
    return [high for high, _ in pairs], [low / high for high, low in pairs]


def _tables(sign: int) -> tuple[Any, Any]:
    high, rest = _powers(sign)
    return table(high, np.float64), table(rest, np.float64)


POWERS: Final = tuple(np.array(each) for each in _powers(1))
"""The powers, and the relative error of each."""

SIXTEENTHS: Final = (POWERS[0].view(np.int64) - (np.arange(16) << 48)).view(np.float64)
"""The powers, without i/16 in their exponent: adding i << 48 to the bits of entry i gives them."""

power, power_rest = _tables(1)
inverse_power, inverse_power_rest = _tables(-1)
