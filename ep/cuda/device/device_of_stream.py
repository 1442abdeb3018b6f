"""What a stream needs of its device."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, TypeVar

from ep.cuda.device.buffer import Allocation, CudaBuffer
from ep.cuda.device.error_report import ErrorReports
from ep.cuda.device.host_copies import HostCopies
from ep.cuda.driver.interface import DeviceProperties, Driver
from ep.include.allocation_options import AllocationOptions
from ep.include.buffer import Buffer
from ep.include.device_type import DeviceType
from ep.include.event import Event

T = TypeVar("T")

CudaStream = Any
"""The class of streams, whose file imports this one."""


class DeviceOfStream(Protocol):
    """The part of a device (`CudaDevice`) that a stream needs: memory, and the order among streams."""

    driver: Driver
    reports: ErrorReports
    host_copies: HostCopies

    @property
    def properties(self) -> DeviceProperties: ...

    def device_type(self) -> DeviceType: ...

    def device_index(self) -> int: ...

    def SetAsActiveDevice(self) -> None: ...

    def CreateEvents(self, count: int) -> list[Event]: ...

    def DestroyEvents(self, events: list[Event]) -> None: ...

    def Alloc(self, options: AllocationOptions, size: int) -> CudaBuffer: ...

    def Free(self, options: AllocationOptions, buffer: Buffer) -> None: ...

    def IsStreamOrderedMemoryAllocationSupported(self) -> bool: ...

    def buffer(self, size: int, allocation: Allocation) -> CudaBuffer: ...

    def with_room(self, size: int, allocate: Callable[[], T]) -> T: ...

    def alloc_on(self, stream: CudaStream, size: int) -> CudaBuffer: ...

    def memory_on(self, stream: CudaStream, size: int) -> tuple[int, Any]: ...

    def memory_at_home(self, stream: CudaStream, size: int) -> tuple[int, Any]: ...

    def lease_maker(self, size: int) -> Callable[[], Any] | None: ...

    def note_capture(self, stream: CudaStream) -> None: ...

    def free_at_once(self, address: int) -> None: ...

    def let_wait(self, consumer: int, producer: int) -> None: ...

    def leave_stream(self, handle: int) -> None: ...
