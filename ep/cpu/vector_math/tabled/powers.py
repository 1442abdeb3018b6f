"""The 16 powers of two whose exponents are multiples of 1/16, and their inverses."""

from decimal import Context, Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from ep.cpu.vector_math.constants import pair
from ep.cpu.vector_math.lookup import table

_DIGITS = Context(prec=50)


def _powers(sign: int) -> tuple[list[float], list[float]]:
    """2^(sign i/16), and what is missing of each, relative to it."""
    pairs = [pair(Fraction(_DIGITS.power(Decimal(2), Decimal(sign * i) / 16))) for i in range(16)]
    return [high for high, _ in pairs], [low / high for high, low in pairs]


def _tables(sign: int) -> tuple[Any, Any]:
    high, rest = _powers(sign)
    return table(high, np.float64), table(rest, np.float64)


power, power_rest = _tables(1)
inverse_power, inverse_power_rest = _tables(-1)
