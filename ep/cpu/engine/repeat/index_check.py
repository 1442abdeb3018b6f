"""Checks of indices between the launches of a list, in Python."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ep.common.arrays.host_indices import RESOLVERS
from ep.include.errors import ArgumentIndexError


class IndexCheck(NamedTuple):
    """A function of the arrays of a call that returns whether the launches may use indices.

    array: the number of the array whose first elements are the indices; or the indices, if they are in other memory.
    shape: that of the indices. size, mode: as for the functions in RESOLVERS. target: where the function writes those
    that the launches read; None if they read the indices as they are.
    """

    array: int | np.ndarray[Any, Any]
    shape: tuple[int, ...]
    size: int
    mode: str
    target: np.ndarray[Any, Any] | None = None

    def __call__(self, *given: np.ndarray[Any, Any]) -> bool:
        now = self.array
        if isinstance(now, int):
            now = given[now].reshape(-1)[: math.prod(self.shape)].reshape(self.shape)
        try:
            found = RESOLVERS[self.mode](now, self.size)
        except ArgumentIndexError:
            return False  # the operator raises it again, with its own names
        if self.target is None:
            return found is now
        self.target[...] = found
        return True
