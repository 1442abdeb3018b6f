"""A GPU as a device."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from ep.common.checks import as_size
from ep.common.lazy import lazy
from ep.cuda import report
from ep.cuda.allocator import CachingAllocator
from ep.cuda.buffer import Allocation, CudaBuffer
from ep.cuda.driver import CudaError, DeviceProperties, driver
from ep.cuda.error_report import ErrorReports
from ep.cuda.event import CudaEvent, check_event
from ep.cuda.stream import CudaStream, check_stream
from ep.include.allocation_options import AllocationOptions
from ep.include.buffer import Buffer
from ep.include.device import Device
from ep.include.device_type import DeviceType
from ep.include.event import Event
from ep.include.finding import Finding
from ep.include.process import Rank, new_lock
from ep.include.stream import Stream

if TYPE_CHECKING:
    from ep.include.device_manager import DeviceManager

T = TypeVar("T")
_UINT8 = np.dtype(np.uint8)


class CudaDevice(Device):
    """One GPU, used through its primary context, which other frameworks of the process share."""

    def __init__(self, device_manager: DeviceManager, device_index: int) -> None:
        """Made by the device manager; nothing is asked of the GPU yet."""
        self.driver = driver()
        self.simulated = self.driver.simulated
        self.reports = ErrorReports(self.driver, device_index)
        self._device_manager, self._index = device_manager, device_index
        self._allocator = CachingAllocator(self.driver, device_index, self._fence)
        self._lock = new_lock(Rank.STREAMS)
        self._streams: weakref.WeakValueDictionary[int, CudaStream] = weakref.WeakValueDictionary()

    @lazy
    def properties(self) -> DeviceProperties:
        """What the GPU is."""
        return self.driver.properties(self._index)

    def SetAsActiveDevice(self) -> None:
        self._device_manager.SetActiveDeviceByIndex(self._index)

    def Reset(self) -> None:
        self._allocator.empty()

    def device_type(self) -> DeviceType:
        return DeviceType.kCUDA

    def device_index(self) -> int:
        return self._index

    def device_manager(self) -> DeviceManager:
        return self._device_manager

    # streams and events

    def CreateStream(self) -> CudaStream:
        stream = CudaStream(self, self.driver.create_stream(self._index), owned=True)
        with self._lock:
            self._streams[stream.handle] = stream
        self._allocator.fence()  # so that memory which was given out before is safe on the new stream too
        return stream

    def adopt(self, handle: int) -> CudaStream:
        """The stream with this handle, which another framework owns; `CudaStream.from_handle` checks it."""
        with self._lock:
            stream = self._streams.get(handle)
            if stream is not None:
                return stream
            stream = self._streams[handle] = CudaStream(self, handle, owned=False)
        self._allocator.fence()
        return stream

    def DestroyStream(self, stream: Stream) -> None:
        checked = check_stream(stream)
        if checked.handle >= 0:
            # done before fences leave the stream out: what it uses may be freed already, and be given out again
            with suppress(CudaError):  # which `destroy` raises
                self.driver.synchronize_stream(self._index, checked.handle)
        with self._lock:
            self._streams.pop(checked.handle, None)
        checked.destroy()

    def _fence(self) -> None:
        """Let every stream wait for what is queued on the others; those that are being captured stay out of it."""
        with self._lock:
            streams = list(self._streams.values())
            if len(streams) < 2:
                return
            streams = [stream for stream in streams if not stream.is_capturing()]
            for stream in streams:
                for other in streams:
                    stream.wait_for(other.handle)

    def CreateEvent(self) -> CudaEvent:
        return CudaEvent(self)

    def DestroyEvent(self, event: Event) -> None:
        check_event(event).destroy()

    # memory

    def Alloc(self, options: AllocationOptions, size: int) -> CudaBuffer:
        number = as_size(size, "size")
        _refuse_node(options)
        if options.HasPinnedDevice():
            raise ValueError(f"pinned_device_type is {options.pinned_device_type!r}; memory of a GPU is not pinned")
        if number == 0:
            return self.buffer(0, Allocation(0, lambda: None))
        if number > self.properties.total_memory:
            raise self._allocator.out_of_memory(number)
        block = self._allocator.allocate(number)
        allocator = self._allocator
        return self.buffer(number, Allocation(block.address, lambda: allocator.free(block)))

    def Free(self, options: AllocationOptions, buffer: Buffer) -> None:
        if not isinstance(buffer, CudaBuffer):
            raise TypeError(f"buffer must be a buffer from Alloc, not {buffer!r}")
        release = buffer.allocation.take_release()
        if release is None:
            raise ValueError(f"{buffer!r} was freed already")
        release()

    def AllocPinned(self, options: AllocationOptions, size: int) -> Buffer:
        number = as_size(size, "size")
        _refuse_node(options)
        if options.pinned_device_type not in (None, DeviceType.kCUDA):
            raise ValueError(f"pinned_device_type is {options.pinned_device_type!r}; a GPU pins memory for GPUs")
        if number == 0:
            return np.empty(0, np.uint8)
        address = self.with_room(number, lambda: self.driver.alloc_host(self._index, number))
        driver, index = self.driver, self._index

        def release() -> None:
            with suppress(CudaError):  # at exit the driver may be gone already
                driver.free_host(index, address)

        return np.asarray(_Pinned(address, number, Allocation(address, release)))

    def FreePinned(self, options: AllocationOptions, buffer: Buffer) -> None:
        base = buffer
        while isinstance(base, np.ndarray) and base.base is not None:
            base = base.base
        if isinstance(base, np.ndarray) and base.size == 0:
            return
        if not isinstance(base, _Pinned):
            raise TypeError(f"buffer must be a buffer from AllocPinned, not {buffer!r}")
        release = base.allocation.take_release()
        if release is None:
            raise ValueError("buffer was freed already")
        release()

    def IsStreamOrderedMemoryAllocationSupported(self) -> bool:
        return self.properties.memory_pools

    def with_room(self, size: int, allocate: Callable[[], T]) -> T:
        """Return what `allocate` does; where there is no room for `size` bytes, cached memory is given back first."""
        try:
            return allocate()
        except MemoryError:
            self._allocator.empty()
        try:
            return allocate()
        except MemoryError:
            raise self._allocator.out_of_memory(size) from None

    def buffer(self, size: int, allocation: Allocation) -> CudaBuffer:
        """A uint8 buffer of all of an allocation."""
        memory = (allocation.address, size, _UINT8, True, True, self._index, None)
        return CudaBuffer(self.driver, memory, allocation)

    def memory_figures(self) -> dict[str, int]:
        """Bytes: `free` and `total` of the device, `allocated` and `cached` by `Alloc`."""
        free, total = self.driver.memory_info(self._index)
        allocated, cached = self._allocator.figures()
        return {"free": free, "total": total, "allocated": allocated, "cached": cached}

    def facts(self) -> Mapping[str, Any]:
        return report.facts(self)

    def findings(self) -> Iterable[Finding]:
        return report.findings(self)

    def __repr__(self) -> str:
        return f"<CudaDevice {self._index}: {self.properties.name}>"


class _Pinned:
    """Page-locked memory in the form that NumPy makes an array of; the array keeps it, and so the memory, alive."""

    def __init__(self, address: int, size: int, allocation: Allocation) -> None:
        self.allocation = allocation
        self.__array_interface__ = {
            "version": 3,
            "shape": (size,),
            "typestr": "|u1",
            "data": (address, False),
        }


def _refuse_node(options: AllocationOptions) -> None:
    if options.HasNumaNodeAffinity():
        raise ValueError(f"numa_node_affinity is {options.numa_node_affinity}; CUDA cannot place memory on a node")
