"""Plain numbers as operands of kernels, passed in words."""

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
    """A plain number as an operand of kernels: its bytes, in the type of the computation."""

    word0: int
    word1: int

    @property
    def contents(self) -> bytes:
        """The bytes of the words."""
        return _WORDS.pack(*self)


class NumberWords:
    """The numbers used for an operand so far, cached."""

    def __init__(
        self, data_type: DataType, stored: DataType, convert: Callable[[Any, DataType, str], Any] = convert_value
    ) -> None:
        """data_type: that of the operand; stored: the type that kernels load; convert: converts a number to an
        element."""
        self._data_type, self._stored, self._convert = data_type, stored, convert
        self._kept = BoundedCache()

    def of(self, number: Any, argument: str) -> Number:
        """Return a number, named `argument` in errors, in the form for kernels; raises the errors of `convert`."""
        key = number_key(number)
        kept: Number | None = self._kept.get(key)
        if kept is None:
            element = self._convert(number, self._data_type, argument)
            if self._stored in (DataType.kFloat16, DataType.kBFloat16):
                element = np.float32(element)
            kept = Number(*_WORDS.unpack(np.asarray(element).tobytes().ljust(_WORDS.size, b"\0")))
            self._kept.put(key, kept)
        return kept
