"""Tables of numbers as sums of two doubles."""

from collections.abc import Iterable
from fractions import Fraction
from typing import Any

import numpy as np

from ep.cpu.vector_math.constants import pair
from ep.cpu.vector_math.lookup import table


def pair_tables(values: Iterable[Fraction], last_bit: int | None = None) -> tuple[Any, Any]:
    """Return the look-ups of the high and of the low parts of `values`."""
    high, low = zip(*(pair(value, last_bit) for value in values), strict=True)
    return table(high, np.float64), table(low, np.float64)
