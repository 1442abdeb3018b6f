"""The ways to make one value of many."""

from enum import Enum


class ReduceOp(Enum):
    """The operations of Reduce: sum, product, least, largest, mean, whether any is true, whether all are."""

    kSum = 0
    kProd = 1
    kMin = 2
    kMax = 3
    kMean = 4
    kAny = 5
    kAll = 6
