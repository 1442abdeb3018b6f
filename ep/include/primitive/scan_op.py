"""The operations of Scan."""

from enum import Enum
from typing import Final


class ScanOp(Enum):
    """The operations of Scan: sums and products of all elements up to each, or from each to the end."""

    kSum = 0
    kProd = 1
    kSumToEnd = 2
    kProdToEnd = 3


SCANS_OF_SUMS: Final = (ScanOp.kSum, ScanOp.kSumToEnd)
"""The operations that add up numbers."""
SCANS_TO_END: Final = (ScanOp.kSumToEnd, ScanOp.kProdToEnd)
"""The operations that begin with the last element."""
