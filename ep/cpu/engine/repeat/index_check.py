"""Checks of indices between the launches of a list, in Python."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ep.common.arrays.host_indices import RESOLVERS
from ep.include.errors import ArgumentIndexError


class IndexCheck(NamedTuple):
    """A function of the arrays of a call that returns whether indices may be used as they are.

    array: the number of the array whose first elements are the indices; or the indices, if they are in other memory.
    shape: that of the indices. size, mode: as for the functions in RESOLVERS.
    """

    array: int | np.ndarray[Any, Any]
    shape: tuple[int, ...]
    size: int
    mode: str

    def __call__(self, *given: np.ndarray[Any, Any]) -> bool:
        now = self.array
        if isinstance(now, int):
            now = given[now].reshape(-1)[: math.prod(self.shape)].reshape(self.shape)
        try:
            return RESOLVERS[self.mode](now, self.size) is now
        except ArgumentIndexError:
            return False  # the operator raises it again, with its own names
