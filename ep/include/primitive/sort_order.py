"""The orders of ArgSort."""

from enum import Enum


class SortOrder(Enum):
    """The orders in which ArgSort finds elements; of equal ones, the first comes first.

    kAscending: from the least on, NaN last. kDescending: from the largest on, NaN first. kAscendingNanFirst: NaN first,
    then from the least on.
    """

    kAscending = 0
    kDescending = 1
    kAscendingNanFirst = 2
