"""Checks of indices between the launches of a list, in Python."""

from __future__ import annotations

from typing import Any

import numpy as np

from ep.common.arrays.host_indices import RESOLVERS
from ep.common.native.object_layout import data_address
from ep.cpu.shared.listed import CALLED, Listed
from ep.include.errors import ArgumentIndexError

NDArray = np.ndarray[Any, Any]


class IndexCheck:
    """A function of the arrays of a call that returns whether the launches may use indices.

    array, begin: the number of a contiguous array of the call, and the first of their bytes in it; or the indices, if
    they are in other memory. shape, dtype: theirs. size, mode: as for the functions in RESOLVERS.
    address: a word of the list. The function writes to it the address of the indices that launches read.
    """

    address: NDArray

    def __init__(
        self, array: int | NDArray, begin: int, shape: tuple[int, ...], dtype: np.dtype[Any], size: int, mode: str
    ) -> None:
        self.array: Any = array
        self.begin, self.shape, self.dtype, self.size, self.mode = begin, shape, dtype, size, mode
        self._found: NDArray | None = None

    def listed(self, plan: Any, args: Any) -> Listed:
        """Return the call of the function in the form for a list."""
        return Listed(CALLED, (id(self),), np.zeros(0, np.int64), (), ())

    def __call__(self, *given: NDArray) -> bool:
        now = self.array
        if isinstance(now, int):
            now = np.ndarray(self.shape, self.dtype, given[now], self.begin)
        try:
            found = RESOLVERS[self.mode](now, self.size)
        except ArgumentIndexError:
            return False  # the operator raises it again, with its own names
        self._found = None if found is now else found  # not an array of the call, which would live as long
        self.address[0] = data_address(found)
        return True
