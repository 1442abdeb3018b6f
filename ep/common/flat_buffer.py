"""What the buffers of devices with memory of their own have in common."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Self

import numpy as np

from ep.include.errors import ArgumentValueError


class FlatBuffer:
    """Neighbouring elements in the memory of a device: its parts are slices `[a:b]`, and `view(dtype)`."""

    __slots__ = ()
    dtype: np.dtype[Any]
    size: int

    @property
    def nbytes(self) -> int:
        """The bytes of all elements."""
        return self.size * self.dtype.itemsize

    @abstractmethod
    def part(self, offset: int, size: int, dtype: np.dtype[Any]) -> Self:
        """Return `size` elements of the same memory, from `offset` bytes on; it stays allocated with any of them."""

    def view(self, dtype: Any) -> Self:
        """Return the same bytes as elements of another dtype; ValueError if they are not a whole number of elements."""
        dtype = np.dtype(dtype)
        size, rest = divmod(self.nbytes, dtype.itemsize)
        if rest:
            raise ValueError(f"{self.nbytes} bytes are not a whole number of {dtype} elements")
        return self.part(0, size, dtype)

    def __getitem__(self, key: slice) -> Self:
        """Return elements a to b; TypeError for anything but a slice, ValueError for a step."""
        name = type(self).__name__
        if not isinstance(key, slice):
            raise TypeError(f"a {name} takes slices only, not {key!r}; copy_to_host brings elements to the host")
        start, stop, step = key.indices(self.size)
        if step != 1:
            raise ValueError(f"a {name} takes slices of neighbouring elements only, not {key!r}")
        return self.part(start * self.dtype.itemsize, max(stop - start, 0), self.dtype)

    def __len__(self) -> int:
        return self.size

    def as_contents(self, array: Any) -> np.ndarray[Any, Any]:
        """Return a C-contiguous array with contents for the buffer. Raises ValueError for another dtype or size."""
        array = np.asarray(array)
        if array.dtype != self.dtype or array.size != self.size:
            raise ArgumentValueError(
                "array", f"holds {array.size} {array.dtype}; the buffer holds {self.size} {self.dtype}"
            )
        return np.ascontiguousarray(array)
