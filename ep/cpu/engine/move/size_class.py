"""The size classes of rows that Gather has movers for. This module imports no Numba."""

from __future__ import annotations

from typing import Final

MAX_UNIT: Final = 64  # bytes that are moved at once
ANY_SIZE: Final = 14  # the class of rows of more than two such units
SIZE_CLASSES: Final = (0, *range(2, ANY_SIZE + 1))


def size_class(size: int) -> int:
    """Return the class of rows of `size` bytes: 2n if they are one unit of 2**n bytes, 2n - 1 if two of 2**(n-1).

    Two units may overlap, so rows of more than 2**(n-1) and up to 2**n bytes are of class 2n - 1. Compiled code
    calls this function, too.
    """
    if size > 2 * MAX_UNIT:
        return ANY_SIZE
    unit, found = 1, 0
    while unit < size:
        unit *= 2
        found += 2
    return found if unit == size and size <= MAX_UNIT else found - 1
