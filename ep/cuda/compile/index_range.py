"""Whether an index, of any integer type, is one of a range, and which."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from ep.cuda.compile.numba_cuda import device_function


@cache
def place_in_range() -> Any:
    """place(index, low, size): index - low, and whether it is in [0, size); nothing wraps around.

    low: of a magnitude of 2^62 at most, and not negative where indices are unsigned.
    """

    def place_of(index, low, size):
        place = np.uint64(index) - np.uint64(low)  # one unsigned comparison tests both ends
        return np.int64(place), place < np.uint64(size)

    return device_function(place_of)
