"""Plain numbers as operands of kernels, which take them in their words."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any, Final, NamedTuple

import numpy as np

from ep.common.bounded_cache import BoundedCache
from ep.common.scalar import convert_value, number_key
from ep.include.data_type import DataType

_WORDS: Final = struct.Struct("2q")


class Number(NamedTuple):
    """A plain number in the place of an operand, as kernels take it: its bytes, in the type that it is computed in."""

    word0: int
    word1: int

    @property
    def contents(self) -> bytes:
        """The bytes of the words."""
        return _WORDS.pack(*self)


class NumberWords:
    """The numbers that were given for an operand, kept for the next time."""

    def __init__(
        self, data_type: DataType, stored: DataType, convert: Callable[[Any, DataType, str], Any] = convert_value
    ) -> None:
        """data_type: of the operand; stored: what kernels load it as; convert: makes an element of a number."""
        self._data_type, self._stored, self._convert = data_type, stored, convert
        self._kept = BoundedCache()

    def of(self, number: Any, argument: str) -> Number:
        """Return a number that the caller calls `argument` as kernels take it; raises what `convert` raises."""
        key = number_key(number)
        kept: Number | None = self._kept.get(key)
        if kept is None:
            element = self._convert(number, self._data_type, argument)
            if self._stored in (DataType.kFloat16, DataType.kBFloat16):
                element = np.float32(element)
            kept = Number(*_WORDS.unpack(np.asarray(element).tobytes().ljust(_WORDS.size, b"\0")))
            self._kept.put(key, kept)
        return kept
