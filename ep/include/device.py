"""Devices: they have memory, streams and events."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from operator import methodcaller
from typing import Any, Final, Protocol

from ep.include.allocation_options import AllocationOptions
from ep.include.buffer import Buffer
from ep.include.device_type import DeviceType
from ep.include.event import Event
from ep.include.finding import Finding
from ep.include.stream import Stream

kMaxAlignmentRequirement: Final = 512
"""The alignment, in bytes, of every allocation of every device."""


class Devices(Protocol):
    """The part of a `DeviceManager` that its devices use: the devices of its type, by number."""

    def device_type(self) -> DeviceType: ...

    def GetDevice(self, device_index: int) -> Device: ...

    def GetActiveDeviceIndex(self) -> int: ...

    def SetActiveDeviceByIndex(self, device_index: int) -> None: ...


class Device(ABC):
    """One device, such as the CPU or one GPU (`device.h`). Devices come from a DeviceManager.

    A process has one object for each device, so a copy is the device itself. It is pickled as its type and number:
    another process gets its own device of that type and number.
    """

    def __init__(self, device_manager: Devices, device_index: int = 0) -> None:
        """Create the device; called by its manager."""
        self._device_manager, self._index = device_manager, device_index

    def __reduce__(self) -> tuple[Any, tuple[Devices]]:
        return methodcaller("GetDevice", self.device_index()), (self.device_manager(),)

    def SetAsActiveDevice(self) -> None:
        """Make this the calling thread's active device of its type."""
        self.device_manager().SetActiveDeviceByIndex(self.device_index())

    def Reset(self) -> None:
        """Free the memory that the device caches between uses. Its streams must be idle."""
        return None

    def device_type(self) -> DeviceType:
        """Return the type of the device."""
        return self.device_manager().device_type()

    def device_index(self) -> int:
        """Return the number of the device among those of its type, from 0."""
        return self._index

    def device_manager(self) -> Devices:
        """Return the manager that the device came from."""
        return self._device_manager

    @abstractmethod
    def CreateStream(self) -> Stream:
        """Return a new stream."""

    @abstractmethod
    def DestroyStream(self, stream: Stream) -> None:
        """Wait for `stream`'s work and destroy it; it must not be used again."""

    @abstractmethod
    def CreateEvent(self) -> Event:
        """Return a new event."""

    @abstractmethod
    def DestroyEvent(self, event: Event) -> None:
        """Destroy `event`; it must not be used again."""

    def CreateEvents(self, count: int) -> list[Event]:
        """Return `count` new events."""
        return [self.CreateEvent() for _ in range(count)]

    def DestroyEvents(self, events: list[Event]) -> None:
        """Destroy `events`."""
        for event in events:
            self.DestroyEvent(event)

    @abstractmethod
    def Alloc(self, options: AllocationOptions, size: int) -> Buffer:
        """Return a flat uint8 buffer of `size` >= 0 bytes on the device, aligned to kMaxAlignmentRequirement bytes.

        If the host can access the memory, the buffer is an ndarray. Otherwise it is an object with
        - `dtype`, `size` (elements), `nbytes`, and `address`, an integer;
        - `view(dtype)`, the same bytes as elements of another type (ValueError if their number is not a multiple of its
          size), and slices `[a:b]` of neighbouring elements; both keep the memory alive;
        - `copy_from_host(array, stream)`, in the order of the stream, after which the array may be changed;
        - `copy_to_host(stream)`, which waits for the stream and returns a flat ndarray.

        Raises TypeError if `size` is not an integer, ValueError if it is negative or an option is not supported,
        MemoryError if there is not enough memory.
        """

    @abstractmethod
    def Free(self, options: AllocationOptions, buffer: Buffer) -> None:
        """Free `buffer`, from `Alloc` with the same options. It must not be used again.

        Memory that is not freed explicitly is freed with the last buffer in it. Raises TypeError if it is not a buffer.
        """

    @abstractmethod
    def AllocPinned(self, options: AllocationOptions, size: int) -> Buffer:
        """Return a uint8 ndarray of `size` bytes of host memory that the device reads and writes directly.

        It is aligned to kMaxAlignmentRequirement bytes. Raises the errors of `Alloc`.
        """

    @abstractmethod
    def FreePinned(self, options: AllocationOptions, buffer: Buffer) -> None:
        """Free `buffer`, from `AllocPinned` with the same options."""

    def IsStreamOrderedMemoryAllocationSupported(self) -> bool:
        """Return whether `Stream.AllocAsync` queues the allocation instead of doing it at once."""
        return False

    def facts(self) -> Mapping[str, Any]:
        """Return the facts that `ep devices` prints: names, and values that JSON supports."""
        return {}

    def calibrate(self) -> str | None:
        """Measure the properties that launches depend on, unless they are known. Return one line about it, or None."""
        return None

    def findings(self) -> Iterable[Finding]:
        """Return the findings of `ep doctor` on the device. An exception becomes a finding that fails."""
        return ()
