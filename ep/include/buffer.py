"""Buffers: flat pieces of a device's memory."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np


class Buffer(Protocol):
    """A flat piece of memory, as `Device.Alloc` and `Stream.AllocAsync` return it: bytes, or elements of another dtype.

    Memory that the host can read and write is a `numpy.ndarray`. Other memory is an object of the device's own.
    """

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the elements; uint8 for new memory."""

    @property
    def size(self) -> int:
        """The number of elements."""

    @property
    def nbytes(self) -> int:
        """The number of bytes."""

    def view(self, dtype: Any, /) -> Any:
        """Return the same memory as elements of another dtype."""

    def __getitem__(self, key: slice, /) -> Any:
        """Return elements a to b of the same memory."""

    def __len__(self) -> int:
        """Return the number of elements."""
