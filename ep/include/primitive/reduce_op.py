"""The reduction operations."""

from enum import Enum
from typing import Final


class ReduceOp(Enum):
    """The operations of Reduce: sum, product, minimum, maximum, mean, any and all."""

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
"""The operations that choose one of the numbers, and so need at least one."""
TRUTHS: Final = (ReduceOp.kAny, ReduceOp.kAll)
"""The operations that test whether numbers are 0, and give a bool."""
