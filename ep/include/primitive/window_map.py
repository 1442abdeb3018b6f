"""WindowMap: the places of a matrix of windows in an array."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np


class WindowMap(NamedTuple):
    """The places in an array of a matrix that is not written out: element (k, n) is at rows[k] + columns[n].

    rows, columns: int64 arrays of places, in elements. step: the difference of most columns to the previous one.
    size: the elements of the array. strides: elements from one matrix to the next along each axis of the batch.
    inside: a bool array [places, columns], or None if all elements are in the array. Element (k, n) is in it if
        inside[k % places, n]; the others are 0.
    """

    rows: np.ndarray[Any, Any]
    columns: np.ndarray[Any, Any]
    step: int
    size: int
    strides: tuple[int, ...]
    inside: np.ndarray[Any, Any] | None = None
