"""Plain numbers where arrays are taken: as arrays of one element, which are kept."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ep.common.bounded_cache import BoundedCache
from ep.common.scalar import convert_value, number_key
from ep.include.data_type import DataType

Array = np.ndarray[Any, Any]


class Numbers:
    """The numbers that were given, as read-only arrays without dims, kept for the next time."""

    def __init__(self, data_type: DataType, convert: Callable[[Any, DataType, str], Any] = convert_value) -> None:
        """data_type: of the elements; convert: makes one of a number, and of what else was given an error."""
        self._data_type, self._convert = data_type, convert
        self._kept = BoundedCache()
        self._last: tuple[Any, Array | None] = None, None  # found without hashing

    def array(self, number: Any, argument: str) -> Array:
        """Return the array of a number, which the caller calls `argument`; raises what `convert` raises."""
        last, array = self._last
        if array is None or number is not last:
            array = self._find(number, argument)
            self._last = number, array
        return array

    def _find(self, number: Any, argument: str) -> Array:
        key = number_key(number)
        array: Array | None = self._kept.get(key)
        if array is None:
            made = np.array(self._convert(number, self._data_type, argument), self._data_type.dtype)
            made.flags.writeable = False
            array = self._kept.keep(key, lambda: made)
        return array
