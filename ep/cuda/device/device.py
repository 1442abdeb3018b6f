"""A GPU as a device."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from ep.common.host.device import as_size_anywhere
from ep.common.lazy import lazy
from ep.cuda.device import report
from ep.cuda.device.allocator import CachingAllocator, HomeLease, Lease
from ep.cuda.device.buffer import Allocation, CudaBuffer
from ep.cuda.device.error_report import ErrorReports
from ep.cuda.device.event import CudaEvent, check_event
from ep.cuda.device.graph_memory import GraphMemory
from ep.cuda.device.host_copies import HostCopies, Pinned
from ep.cuda.device.stream import CudaStream, check_stream
from ep.cuda.device.streams import Streams
from ep.cuda.driver.current import driver
from ep.cuda.driver.interface import LEGACY_STREAM, CudaError, DeviceProperties
from ep.include.allocation_options import AllocationOptions
from ep.include.buffer import Buffer
from ep.include.device import Device
from ep.include.device_type import DeviceType
from ep.include.errors import ArgumentTypeError, ArgumentValueError
from ep.include.event import Event
from ep.include.finding import Finding
from ep.include.stream import Stream

if TYPE_CHECKING:
    from ep.include.device_manager import DeviceManager

T = TypeVar("T")
_UINT8 = np.dtype(np.uint8)
_ANYWHERE = AllocationOptions()


class CudaDevice(Device):
    """One GPU, used through its primary context, which other frameworks of the process share."""

    def __init__(self, device_manager: DeviceManager, device_index: int) -> None:
        """Created by the device manager; the GPU is not accessed yet."""
        super().__init__(device_manager, device_index)
        self.driver = driver()
        self.reports = ErrorReports(self.driver, device_index)
        self._streams = Streams(
            self.driver, device_index, self.reports, lambda handle, owned: CudaStream(self, handle, owned=owned)
        )
        self.let_wait, self.leave_stream = self._streams.let_wait, self._streams.leave
        self._allocator = CachingAllocator(self.driver, device_index, self._streams.fence, self._give_back)
        self._graph_memory = GraphMemory(self.driver, device_index, self._allocator)
        self.host_copies = HostCopies(self.driver, device_index)

    @lazy
    def properties(self) -> DeviceProperties:
        """Return the properties of the GPU."""
        return self.driver.properties(self._index)

    def Reset(self) -> None:
        self._graph_memory.collect()
        self._allocator.empty()
        self.host_copies.empty()

    # streams and events

    def CreateStream(self) -> CudaStream:
        stream = self._streams.create()
        self._allocator.fence()  # so that memory allocated before is safe on the new stream too
        return stream

    def adopt(self, handle: int) -> CudaStream:
        """Return the stream with this handle, which another framework owns; `CudaStream.from_handle` checks it."""
        if handle == LEGACY_STREAM and self._streams.legacy is not None:
            return self._streams.legacy
        stream, is_new = self._streams.adopt(handle)
        if is_new:
            self._allocator.fence()
        return stream

    def DestroyStream(self, stream: Stream) -> None:
        self._streams.destroy(check_stream(stream))

    def _give_back(self) -> None:
        """Free the scratch memory of all streams, and wait for their work."""
        for stream in self._streams.objects():
            stream.drop_scratch()
        self._streams.wait()

    def free_at_once(self, address: int) -> None:
        """Return memory to the driver after the work of all streams has finished."""
        self._streams.wait()
        self.driver.free(self._index, address)

    def CreateEvent(self) -> CudaEvent:
        return CudaEvent(self.driver, self._index)

    def DestroyEvent(self, event: Event) -> None:
        check_event(event).destroy()

    # memory

    def Alloc(self, options: AllocationOptions, size: int) -> CudaBuffer:
        number = as_size_anywhere(options, size)
        if options.HasPinnedDevice():
            raise ArgumentValueError(
                "pinned_device_type", f"is {options.pinned_device_type!r}; memory of a GPU is not pinned"
            )
        if number == 0:
            return self.buffer(0, Allocation(0, lambda: None))
        if number > self.properties.total_memory:
            raise self._allocator.out_of_memory(number)
        self._graph_memory.collect()
        block = self._allocator.allocate(number)
        allocator = self._allocator
        return self.buffer(number, Allocation(block.address, lambda: allocator.free(block)))

    def alloc_on(self, stream: CudaStream, size: int) -> CudaBuffer:
        """Return memory for work on a stream, as `Alloc` does; during a capture, memory of the graph.

        So nothing else is given memory that the graph uses, however long it lasts.
        """
        capture = self.driver.capture_of(self._index, stream.handle)
        if not capture or size == 0 or size > self.properties.total_memory:
            return self.Alloc(_ANYWHERE, size)
        address, release = self._graph_memory.allocate(stream.handle, capture, size)
        return self.buffer(size, Allocation(address, release))

    def memory_on(self, stream: CudaStream, size: int) -> tuple[int, Any]:
        """Return the address of such memory, and what keeps it: it goes back when nothing refers to that any more."""
        if not 0 < size <= self.properties.total_memory or self.driver.capture_of(self._index, stream.handle):
            buffer = self.alloc_on(stream, size)
            return buffer.address, buffer
        self._graph_memory.collect()
        block = self._allocator.allocate(size)
        return block.address, Lease(block, self._allocator.free)

    def memory_at_home(self, stream: CudaStream, size: int) -> tuple[int, Any]:
        """Return what `memory_on` does, for the one stream of the device that operators work on."""
        if not 0 < size <= self.properties.total_memory or self.driver.capture_of(self._index, stream.handle):
            return self.memory_on(stream, size)
        self._graph_memory.collect()
        lease = self._allocator.lease_at_home(size)
        return lease.block.address, lease

    def note_capture(self, stream: CudaStream) -> None:
        """Note whether work that uses memory of operators, but allocates none, is captured."""
        if stream.is_capturing():
            self._allocator.share_home()

    def lease_maker(self, size: int) -> Callable[[], HomeLease] | None:
        """Return a function for many calls of `memory_at_home` that are not captured; None for a size that it refuses
        or that is 0."""
        return self._allocator.lease_maker(size) if 0 < size <= self.properties.total_memory else None

    def Free(self, options: AllocationOptions, buffer: Buffer) -> None:
        if not isinstance(buffer, CudaBuffer):
            raise ArgumentTypeError("buffer", f"must be a buffer from Alloc, not {buffer!r}")
        release = buffer.allocation.take_release()
        if release is None:
            raise ValueError(f"{buffer!r} was freed already")
        release()

    def AllocPinned(self, options: AllocationOptions, size: int) -> Buffer:
        number = as_size_anywhere(options, size)
        if options.pinned_device_type not in (None, DeviceType.kCUDA):
            raise ArgumentValueError(
                "pinned_device_type", f"is {options.pinned_device_type!r}; a GPU pins memory for GPUs"
            )
        if number == 0:
            return np.empty(0, np.uint8)
        address = self.with_room(number, lambda: self.driver.alloc_host(self._index, number))
        driver, index, wait = self.driver, self._index, self._streams.wait

        def release() -> None:
            with suppress(CudaError):  # at exit the driver may be gone already
                wait()
                driver.free_host(index, address)

        return np.asarray(Pinned(number, Allocation(address, release)))

    def FreePinned(self, options: AllocationOptions, buffer: Buffer) -> None:
        base = buffer
        while isinstance(base, np.ndarray) and base.base is not None:
            base = base.base
        if isinstance(base, np.ndarray) and base.size == 0:
            return
        if not isinstance(base, Pinned):
            raise ArgumentTypeError("buffer", f"must be a buffer from AllocPinned, not {buffer!r}")
        release = base.allocation.take_release()
        if release is None:
            raise ArgumentValueError("buffer", "was freed already")
        release()

    def IsStreamOrderedMemoryAllocationSupported(self) -> bool:
        return self.properties.memory_pools

    def with_room(self, size: int, allocate: Callable[[], T]) -> T:
        """Return what `allocate` does; if there is no room for `size` bytes, cached memory is given back first."""
        try:
            return allocate()
        except MemoryError:
            self._allocator.empty()
        try:
            return allocate()
        except MemoryError:
            raise self._allocator.out_of_memory(size) from None

    def buffer(self, size: int, allocation: Allocation) -> CudaBuffer:
        """Return a uint8 buffer of all of an allocation."""
        memory = (allocation.address, size, _UINT8, True, True, self._index, None)
        return CudaBuffer(self.driver, memory, allocation)

    def memory_figures(self) -> dict[str, int]:
        """Return bytes: `free` and `total` of the device, `allocated` and `cached` by `Alloc`."""
        self._graph_memory.collect()
        free, total = self.driver.memory_info(self._index)
        allocated, cached = self._allocator.figures()
        return {"free": free, "total": total, "allocated": allocated, "cached": cached}

    def facts(self) -> Mapping[str, Any]:
        return report.facts(self.properties)

    def findings(self) -> Iterable[Finding]:
        return report.findings(self._index, self.properties, self.memory_figures(), self.driver.version())

    def __repr__(self) -> str:
        return f"<CudaDevice {self._index}: {self.properties.name}>"
