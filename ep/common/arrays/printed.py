"""The elements of an array in memory of a device, as NumPy prints those of its arrays."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from ep.common.arrays.numpy_functions import FUNCTIONS

_WHOLE: Final = 2**16  # bytes that are copied to the host as they are: this takes less time than a kernel


def elements_of(array: Any, begin: str) -> str:
    """Return the elements of an array as text, of a large one those at the ends, by NumPy's options for printing.

    array: has `copy_to_host`. begin: the text before the elements, by which lines are indented.

    It waits for the work on the array, and raises the errors of that work.
    """
    options = np.get_printoptions()
    edge, is_long = options["edgeitems"], array.size > options["threshold"]
    if is_long and array.nbytes > _WHOLE:
        # of each long axis, the elements that are shown and one more, for which NumPy writes dots
        for axis, size in enumerate(array.shape):
            if size > 2 * edge + 1:
                ends = (slice(0, edge + 1), slice(size - edge, size))
                parts = [FUNCTIONS["slice"](array, *[slice(None)] * axis, end) for end in ends]
                array = FUNCTIONS["concat"](parts, axis)
    threshold = 0 if is_long else options["threshold"]
    return np.array2string(array.copy_to_host(), separator=", ", prefix=begin, threshold=threshold)
