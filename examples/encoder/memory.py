"""The memory of a device: buffers by name for one batch, and copies of arrays."""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any, Final

import numpy as np

import ep
from ep import MemcpyKind
from ep.include.primitive import MemcpyFactory

_ALIGNED: Final = 64  # copies begin at multiples of this many elements


class Memory:
    """Buffers of a device, and copies between them and arrays of the host."""

    def __init__(self, device: Any, stream: Any) -> None:
        self._device, self._stream = device, stream
        self._copy = ep.RequirePrimitive(MemcpyFactory, device.device_type(), MemcpyKind.kAuto).Launch
        self._counts: Mapping[str, int] = {}
        self._buffers = SimpleNamespace()

    def buffers(self, **counts: int) -> SimpleNamespace:
        """Return buffers of `counts` float32 elements, by name; those of the last call if the counts are equal."""
        if counts != self._counts:
            self._buffers = SimpleNamespace(**{name: self._empty(count, "f4") for name, count in counts.items()})
            self._counts = counts
        return self._buffers

    def upload(self, array: np.ndarray[Any, Any]) -> Any:
        """Return a buffer with a copy of an array."""
        array = np.ascontiguousarray(array)
        buffer = self._empty(array.size, array.dtype)
        self._copy(self._stream, buffer, array, array.nbytes)
        return buffer

    def upload_all(self, arrays: Mapping[str, np.ndarray[Any, Any]]) -> dict[str, Any]:
        """Return copies of float32 arrays, in one buffer: operating systems use large pages only for large buffers."""
        places = np.cumsum([0, *(-(-array.size // _ALIGNED) * _ALIGNED for array in arrays.values())]).tolist()
        whole, copies = self._empty(places[-1], "f4"), {}
        for (name, array), begin in zip(arrays.items(), places, strict=False):
            copies[name] = whole[begin : begin + array.size]
            self._copy(self._stream, copies[name], np.ascontiguousarray(array), array.nbytes)
        return copies

    def download(self, buffer: Any, *dims: int) -> np.ndarray[Any, Any]:
        """Return a float32 array with a copy of a buffer, after the stream's work is done."""
        array = np.empty(dims, np.float32)
        self._copy(self._stream, array, buffer, array.nbytes)
        self._stream.Sync()
        return array

    def _empty(self, count: int, dtype: Any) -> Any:
        size = count * np.dtype(dtype).itemsize
        return self._device.Alloc(ep.AllocationOptions(), size).view(np.dtype(dtype))
