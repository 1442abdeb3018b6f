"""ArgSort, by comparisons of Python's numbers."""

from typing import Any

import numpy as np

from ep.include.primitive import SortOrder


def arg_sort(order: SortOrder, x: np.ndarray, num_places: int) -> np.ndarray:
    """Return the places of the first elements along axis 1."""
    places = np.empty((x.shape[0], num_places, x.shape[2]), np.int64)
    for i, j in np.ndindex(x.shape[0], x.shape[2]):
        row = [_rank(order, one) for one in x[i, :, j].tolist()]
        found = [row.index(min(row))] if num_places == 1 else sorted(range(len(row)), key=row.__getitem__)
        places[i, :, j] = found[:num_places]
    return places


def _rank(order: SortOrder, number: Any) -> tuple[int, Any]:
    """Return what is compared: NaN comes first or last, whatever the others are."""
    if number != number:
        return (1 if order is SortOrder.kAscending else -1), 0
    return 0, -number if order is SortOrder.kDescending else number
