"""Tables of numbers as the sums of two doubles."""

from collections.abc import Iterable
from fractions import Fraction
from math import floor
from typing import Any

import numpy as np

from ep.cpu.vector_math.lookup import table


def pair(value: Fraction, last_bit: int | None = None) -> tuple[float, float]:
    """`value` as high + low. last_bit: high is the next lower multiple of 2 to this power, else the nearest double."""
    unit = Fraction(2) ** (last_bit or 0)
    high = float(value if last_bit is None else floor(value / unit) * unit)
    return high, float(value - Fraction(high))


def pair_tables(values: Iterable[Fraction], last_bit: int | None = None) -> tuple[Any, Any]:
    """The look-ups of the high and of the low parts of `values`."""
    high, low = zip(*(pair(value, last_bit) for value in values), strict=True)
    return table(high, np.float64), table(low, np.float64)
