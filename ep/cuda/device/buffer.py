"""Buffers: flat pieces of device memory, as `Device.Alloc` and `Stream.AllocAsync` return them."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from ep.common.flat_buffer import FlatBuffer
from ep.cuda.device.slots import ArraySlots
from ep.cuda.driver.interface import LEGACY_STREAM, Driver
from ep.include.errors import ArgumentValueError
from ep.include.process import ProcessBound

Memory = tuple[int, int, "np.dtype[Any]", bool, bool, int, "int | None"]
"""A buffer as a launch needs it: address, number of elements, dtype, whether it may be written, whether it is
C-contiguous, the index of its device, and the stream to wait for (None: there is nothing to wait for)."""


class Queue(Protocol):
    """The part of a stream (`CudaStream`) that a buffer needs to be copied on it."""

    handle: int

    def Sync(self) -> None: ...


class Allocation(ProcessBound):
    """Memory that is freed when it is released, at the latest with the last buffer in it.

    It knows its buffers and invalidates them when the memory is freed, so launches need no further check.
    """

    def __init__(self, address: int, release: Callable[[], None], stream: Queue | None = None) -> None:
        """release: frees the memory; stream: the stream of the allocation, None if it does not matter."""
        self.address, self.stream = address, stream
        self._release: Callable[[], None] | None = release
        self._buffers: set[weakref.ref[CudaBuffer]] = set()

    def add(self, buffer: CudaBuffer) -> None:
        """Record a buffer in this memory; ValueError if the memory was freed."""
        self._buffers.add(weakref.ref(buffer, self._buffers.discard))
        if self._release is None:
            raise ValueError(f"the memory at {self.address:#x} was freed")

    def take_release(self) -> Callable[[], None] | None:
        """Return the function that frees the memory, to the first caller only; then None."""
        release, self._release = self._release, None
        for reference in tuple(self._buffers):
            if buffer := reference():
                buffer.memory = None
        return release

    def __del__(self) -> None:
        if release := self.take_release():
            release()


class CudaBuffer(ArraySlots, FlatBuffer, ProcessBound):
    """A one-dimensional piece of device memory: `address`, `nbytes`, `dtype`, and `size` elements.

    Slices `[a:b]` and `view(dtype)` are buffers of the same memory, which stays allocated while any of them is in use.
    Once it is freed, by `Free` or `FreeAsync` of any of them, none can be used: launches and copies raise ValueError.
    """

    __slots__ = ("__weakref__", "_driver", "address", "allocation", "device_index", "dtype", "size")
    memory: Memory | None

    def __init__(self, driver: Driver, memory: Memory, allocation: Allocation) -> None:
        """memory: in the form for launches; its device is the device of the allocation."""
        self._driver, self.allocation = driver, allocation
        self.memory = memory
        """None once the memory was freed."""
        self.address, self.size, self.dtype = memory[:3]
        self.device_index = memory[5]
        """The number of the device that the memory is on."""
        allocation.add(self)

    def live_memory(self, argument: str = "the buffer") -> Memory:
        """Return the memory in the form for launches; ValueError, which names the argument, if it was freed."""
        memory = self.memory
        if memory is None:
            raise ArgumentValueError(argument, f"is {self!r}, which was freed")
        return memory

    @property
    def shape(self) -> tuple[int]:
        """(size,)."""
        return (self.size,)

    def part(self, offset: int, size: int, dtype: np.dtype[Any]) -> CudaBuffer:
        return CudaBuffer(self._driver, (self.address + offset, size, dtype, *self.live_memory()[3:]), self.allocation)

    def copy_from_host(self, array: Any, stream: Queue, *, wait: bool = True) -> None:
        """Queue a copy of an array of the same dtype and number of elements into this buffer.

        wait: return when the array may be changed. If False, `array` must not change before `stream.Sync()`; the copy
        overlaps other work if `array` is in memory from `AllocPinned`.
        """
        self.live_memory()
        contents = self.as_contents(array)
        if not wait and not np.asarray(array).flags.c_contiguous:
            raise ArgumentValueError("array", "is not C-contiguous, so the copy must be waited for")
        if contents.nbytes:
            self._driver.copy(self.device_index, self.address, contents.ctypes.data, contents.nbytes, stream.handle)
        if wait:
            stream.Sync()

    def copy_to_host(self, stream: Queue, out: np.ndarray[Any, Any] | None = None) -> np.ndarray[Any, Any]:
        """Return a flat array of the elements, once all work queued on `stream` is done; raises errors of that work.

        out: the array to fill, C-contiguous, of the same dtype and number of elements.
        """
        self.live_memory()
        array = np.empty(self.size, self.dtype) if out is None else out
        if array.dtype != self.dtype or array.size != self.size or not array.flags.c_contiguous:
            raise ArgumentValueError("out", f"must be C-contiguous and hold {self.size} elements of {self.dtype}")
        if array.nbytes:
            self._driver.copy(self.device_index, array.ctypes.data, self.address, array.nbytes, stream.handle)
        stream.Sync()
        return array

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        self.live_memory()
        stream = self.allocation.stream
        return {
            "version": 3,
            "shape": (self.size,),
            "typestr": self.dtype.str,
            "data": (self.address, False),
            "strides": None,
            # waiting for the legacy default stream includes all streams that ep makes, also destroyed ones
            "stream": stream.handle if stream and stream.handle >= 0 else LEGACY_STREAM,
        }

    def __repr__(self) -> str:
        return f"<CudaBuffer of {self.size} {self.dtype} on cuda:{self.device_index} at {self.address:#x}>"
