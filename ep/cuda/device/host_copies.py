"""Queued copies between a GPU and the host, by way of page-locked memory, which a GPU reads and writes by itself."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, Final

import numpy as np

from ep.cuda.device.allocator import capacity_of
from ep.cuda.device.buffer import Allocation
from ep.cuda.driver.interface import Driver

NDArray = np.ndarray[Any, Any]
_MOST: Final = 2**24
"""The most bytes of a queued copy to the device: the host copies them once more, and the memory is kept."""


class _Block:
    """Page-locked memory. event: is recorded after each copy. is_known: whether the event tells of the last copy."""

    def __init__(self, address: int, capacity: int, event: int) -> None:
        self.address, self.capacity, self.event, self.is_known = address, capacity, event, True


class HostCopies:
    """The queued copies of one device. It keeps their memory for later ones: locking pages takes long."""

    def __init__(self, driver: Driver, device: int) -> None:
        self._driver, self._device = driver, device
        self._free: dict[int, deque[_Block]] = {}  # by capacity, the longest free first

    def from_device(
        self, stream: int, source: int, shape: Sequence[int], dtype: np.dtype[Any]
    ) -> tuple[NDArray, Callable[[], None]]:
        """Queue a copy from an address of the device; return the array that gets the elements, and the function that
        waits for them.

        stream: a handle. The memory lives until the copy is done and nothing refers to the array.
        """
        array, block = self._array(shape, dtype)
        self._queue(stream, block, array.ctypes.data, source, array.nbytes)
        return array, partial(self._driver.synchronize_event, self._device, block.event)

    def to_device(self, stream: int, target: int, array: NDArray) -> bool:
        """Queue a copy to an address of the device, and return whether that was done: the array may be changed then.
        One without elements, or of too many bytes, is not copied."""
        if not 0 < array.nbytes <= _MOST:
            return False
        copy, block = self._array(array.shape, array.dtype)
        copy[...] = array
        self._queue(stream, block, target, copy.ctypes.data, array.nbytes)
        return True

    def empty(self) -> None:
        """Give the memory that is free back to CUDA, after the copies from and to it."""
        for blocks in self._free.values():
            with suppress(IndexError):  # another thread took the last one
                while blocks:
                    block = blocks.popleft()
                    self._driver.synchronize_event(self._device, block.event)
                    self._driver.destroy_event(self._device, block.event)
                    self._driver.free_host(self._device, block.address)

    def _array(self, shape: Sequence[int], dtype: np.dtype[Any]) -> tuple[NDArray, _Block]:
        """Return an array in memory that no copy uses, and the memory."""
        num_bytes = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
        block = self._block(capacity_of(num_bytes))
        pinned = Pinned(num_bytes, Allocation(block.address, partial(self._give_back, block)))
        return np.asarray(pinned).view(dtype).reshape(shape), block

    def _block(self, capacity: int) -> _Block:
        blocks = self._free.setdefault(capacity, deque())
        for _ in range(len(blocks)):
            with suppress(IndexError):
                block = blocks.popleft()
                if self._driver.query_event(self._device, block.event):
                    return block
                blocks.append(block)
        try:
            address = self._driver.alloc_host(self._device, capacity)
        except MemoryError:
            self.empty()
            address = self._driver.alloc_host(self._device, capacity)
        return _Block(address, capacity, self._driver.create_event(self._device, timing=False))

    def _queue(self, stream: int, block: _Block, target: int, source: int, num_bytes: int) -> None:
        block.is_known = False
        self._driver.copy(self._device, target, source, num_bytes, stream)
        self._driver.record_event(self._device, block.event, stream)
        block.is_known = True

    def _give_back(self, block: _Block) -> None:
        """Keep a block for later copies. Takes no lock and calls no driver, since the garbage collector may call it. A
        block is lost if an interrupt came between the last copy and its event."""
        if block.is_known:
            self._free[block.capacity].append(block)


class Pinned:
    """Page-locked memory in the form that NumPy makes an array of; the array keeps it, and so the memory, alive."""

    def __init__(self, size: int, allocation: Allocation) -> None:
        self.allocation = allocation
        self.__array_interface__ = {
            "version": 3,
            "shape": (size,),
            "typestr": "|u1",
            "data": (allocation.address, False),
        }
