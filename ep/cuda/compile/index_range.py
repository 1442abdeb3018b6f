"""The position of an index of any integer type in a range, and whether it is in the range."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from ep.cuda.compile.numba_cuda import device_function


@cache
def place_in_range() -> Any:
    """place(index, low, size): index - low, and whether it is in [0, size); nothing wraps around.

    low: at most 2^62 in magnitude, and not negative if indices are unsigned.
    """

    def place_of(index: Any, low: int, size: int) -> Any:
        place = np.uint64(index) - np.uint64(low)  # one unsigned comparison tests both ends
        return np.int64(place), place < np.uint64(size)

    return device_function(place_of)
