"""The ways to make one value of many."""

from enum import Enum
from typing import Final


class ReduceOp(Enum):
    """The operations of Reduce: sum, product, least, largest, mean, whether any is true, whether all are."""

    kSum = 0
    kProd = 1
    kMin = 2
    kMax = 3
    kMean = 4
    kAny = 5
    kAll = 6


SUMS: Final = (ReduceOp.kSum, ReduceOp.kMean)
"""The operations that add up numbers."""
EXTREMES: Final = (ReduceOp.kMin, ReduceOp.kMax)
"""The operations that choose a number, and so need one at least."""
TRUTHS: Final = (ReduceOp.kAny, ReduceOp.kAll)
"""The operations that ask whether numbers are 0, and give a bool."""
