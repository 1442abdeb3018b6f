"""Plain numbers given in place of arrays: converted to arrays of one element, which are cached."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ep.common.bounded_cache import BoundedCache
from ep.common.scalar import convert_value, number_key
from ep.include.data_type import DataType

Array = np.ndarray[Any, Any]


class Numbers:
    """A cache of the numbers that were given, as read-only arrays without dims."""

    def __init__(self, data_type: DataType, convert: Callable[[Any, DataType, str], Any] = convert_value) -> None:
        """data_type: of the elements; convert: converts a number to an element, raises an error for anything else."""
        self._data_type, self._convert = data_type, convert
        self._kept = BoundedCache()
        self._last: tuple[Any, Array | None] = None, None  # found without hashing

    def array(self, number: Any, argument: str) -> Array:
        """Return the array of a number. argument: the caller's name for it. Raises the errors of `convert`."""
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
