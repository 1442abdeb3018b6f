"""Devices: what has memory, streams and events."""

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
"""Bytes to which every allocation of every device is aligned."""


class Devices(Protocol):
    """The part of a `DeviceManager` that its devices know: the devices of its type, by number."""

    def device_type(self) -> DeviceType: ...

    def GetDevice(self, device_index: int) -> Device: ...

    def GetActiveDeviceIndex(self) -> int: ...

    def SetActiveDeviceByIndex(self, device_index: int) -> None: ...


class Device(ABC):
    """One device, such as the CPU or one GPU (`device.h`). Devices come from a DeviceManager.

    There is one object for each device of a process, so a copy is the device itself. Pickled, it is its type and
    number: another process gets its own device of that type and number.
    """

    def __reduce__(self) -> tuple[Any, tuple[Devices]]:
        return methodcaller("GetDevice", self.device_index()), (self.device_manager(),)

    @abstractmethod
    def SetAsActiveDevice(self) -> None:
        """Make this the calling thread's active device of its type."""

    @abstractmethod
    def Reset(self) -> None:
        """Drop what the device keeps between uses (memory caches); its streams must be idle."""

    @abstractmethod
    def device_type(self) -> DeviceType:
        """The type of the device."""

    @abstractmethod
    def device_index(self) -> int:
        """The number of the device among those of its type, from 0."""

    @abstractmethod
    def device_manager(self) -> Devices:
        """The manager that the device came from."""

    @abstractmethod
    def CreateStream(self) -> Stream:
        """Return a new stream."""

    @abstractmethod
    def DestroyStream(self, stream: Stream) -> None:
        """Finish with `stream`: its work is done when this returns, and it must not be used again."""

    @abstractmethod
    def CreateEvent(self) -> Event:
        """Return a new event."""

    @abstractmethod
    def DestroyEvent(self, event: Event) -> None:
        """Finish with `event`; it must not be used again."""

    def CreateEvents(self, count: int) -> list[Event]:
        """Return `count` new events."""
        return [self.CreateEvent() for _ in range(count)]

    def DestroyEvents(self, events: list[Event]) -> None:
        """Finish with `events`."""
        for event in events:
            self.DestroyEvent(event)

    @abstractmethod
    def Alloc(self, options: AllocationOptions, size: int) -> Buffer:
        """Return a flat uint8 buffer of `size` >= 0 bytes on the device, aligned to kMaxAlignmentRequirement bytes.

        Where the host can access the memory, the buffer is an ndarray. Elsewhere it is an object with
        - `dtype`, `size` (elements), `nbytes`, and `address`, an integer;
        - `view(dtype)`, the same bytes as elements of another type (ValueError where they are no whole number of
          those), and slices `[a:b]` of neighbouring elements, both of which keep the memory alive;
        - `copy_from_host(array, stream)`, in the order of the stream, after which the array may be changed;
        - `copy_to_host(stream)`, which waits for the stream and returns a flat ndarray.

        Raises TypeError where `size` is no integer, ValueError where it is negative and for an option that cannot be
        honoured, MemoryError if there is no room.
        """

    @abstractmethod
    def Free(self, options: AllocationOptions, buffer: Buffer) -> None:
        """Give back `buffer`, from `Alloc` with the same options; it must not be used again.

        Memory that nobody gives back is freed with the last buffer in it. TypeError for what is no buffer.
        """

    @abstractmethod
    def AllocPinned(self, options: AllocationOptions, size: int) -> Buffer:
        """Return a uint8 ndarray of `size` bytes of host memory that the device reads and writes directly.

        It is aligned to kMaxAlignmentRequirement bytes; errors are those of `Alloc`.
        """

    @abstractmethod
    def FreePinned(self, options: AllocationOptions, buffer: Buffer) -> None:
        """Give back `buffer`, from `AllocPinned` with the same options."""

    def IsStreamOrderedMemoryAllocationSupported(self) -> bool:
        """Return whether `Stream.AllocAsync` queues the allocation instead of doing it at once."""
        return False

    def facts(self) -> Mapping[str, Any]:
        """Return the facts that `ep devices` prints: names, and values that JSON has."""
        return {}

    def calibrate(self) -> str | None:
        """Measure what launches depend on, where that is not known yet; one line on it, None if it is nothing."""
        return None

    def findings(self) -> Iterable[Finding]:
        """Return the findings of `ep doctor` on the device; an exception becomes a finding that fails."""
        return ()
