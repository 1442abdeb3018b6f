"""The buffer of `beyond_limit.py`, and the numbers of its functions: what a kernel needs to call its tasks."""

from typing import Final

WHICH: Final = {"sin": 0, "cos": 1, "tan": 2}

BLOCK: Final = 1024
"""The elements that are checked together for one beyond the limit of a vectorised function."""

MOST: Final = 256
"""Elements that are computed together."""

# words of a buffer: the number of elements beyond the limit, the end of the buffer's part of the block, and for each
# element its value, its index, and quarters of a turn
COUNT, STOP = 0, 1
VALUES, PLACES, QUARTERS = 2, 2 + MOST, 2 + 2 * MOST
BUFFER_BYTES: Final = (8 * (2 + 3 * MOST) + 63) & -64  # whole cache lines
