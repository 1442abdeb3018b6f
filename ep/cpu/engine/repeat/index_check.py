"""Checks of indices between the launches of a list. Compiled code does those of int32 and int64 that are all there."""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np

from ep.common.arrays.host_indices import RESOLVERS
from ep.common.arrays.index_types import resolved_type
from ep.common.native.object_layout import data_address
from ep.cpu.shared.listed import CALLED, Indices, Listed
from ep.include.errors import ArgumentIndexError

NDArray = np.ndarray[Any, Any]

_TYPES: Final = np.dtype(np.int32), np.dtype(np.int64)


class IndexCheck:
    """A function of the arrays of a call that returns the indices that launches read; None for wrong ones.

    array, begin: the number of a contiguous array of the call, and the first of their bytes in it; or the indices, if
    they are in other memory. shape, dtype: theirs. size, mode: as for the functions in RESOLVERS. place: the number of
    the check among those of a list.
    """

    def __init__(
        self,
        array: int | NDArray,
        begin: int,
        shape: tuple[int, ...],
        dtype: np.dtype[Any],
        size: int,
        mode: str,
        place: int = 0,
    ) -> None:
        self.array: Any = array
        self.begin, self.shape, self.dtype, self.size, self.mode, self.place = begin, shape, dtype, size, mode, place

    def listed(self, plan: Any, args: Any) -> Listed:
        """Return the check in the form for a list."""
        count, is_same = math.prod(self.shape), resolved_type(self.dtype, self.size, self.mode) == self.dtype
        words = [0] * Indices.num_words
        words[Indices.function], words[Indices.place] = id(self), self.place
        is_given = isinstance(self.array, int)
        if self.dtype in _TYPES and is_same and (is_given or self.array.flags.c_contiguous):
            words[Indices.count], words[Indices.begin] = count, self.begin
            words[Indices.array if is_given else Indices.fixed] = self.array if is_given else data_address(self.array)
            words[Indices.size], words[Indices.are_words] = self.size, self.dtype.itemsize == 8
            words[Indices.low] = -self.size if self.mode == "wrap_negative" else 0
        return Listed(CALLED, words, np.zeros(0, np.int64), (), ())

    def __call__(self, *given: NDArray) -> NDArray | None:
        now = self.array
        if isinstance(now, int):
            now = np.ndarray(self.shape, self.dtype, given[now], self.begin)
        try:
            return RESOLVERS[self.mode](now, self.size)
        except ArgumentIndexError:
            return None  # the operator raises it again, with its own names
