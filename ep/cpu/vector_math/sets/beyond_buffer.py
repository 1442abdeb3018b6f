"""The buffer of `beyond_limit.py`, and the numbers of its functions: what a kernel needs to call its tasks."""

from typing import Final

from ep.common.native.fields import reals, word, words
from ep.common.native.record import Record

WHICH: Final = {"sin": 0, "cos": 1, "tan": 2}

BLOCK: Final = 1024
"""The elements that are checked together for one beyond the limit of a vectorised function."""

MOST: Final = 256
"""Elements that are computed together."""


class BeyondLimit(Record):
    """The elements of a part of a block that are beyond the limit, which a kernel's task writes and puts back."""

    count = word()
    stop = word()  # the end of the part
    values = reals(MOST)
    indices = words(MOST)
    quarters = words(MOST)  # of a turn


BUFFER_BYTES: Final = (8 * BeyondLimit.num_words + 63) & -64  # whole cache lines
