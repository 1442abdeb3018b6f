"""A device in the host's memory, whose work is done when Launch returns: the CPU is one.

A package that adds a device can begin with these classes: with a manager and one primitive, models run. Later its own
classes replace them, one after the other.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from ep.common.checks import as_size
from ep.common.host.arrays import WrappedDeviceArrays
from ep.common.indexed_devices import IndexedDeviceManager
from ep.include.allocation_options import AllocationOptions
from ep.include.arrays import DeviceArrays
from ep.include.buffer import Buffer
from ep.include.device import Device, kMaxAlignmentRequirement
from ep.include.device_manager_registry import DeviceManagerRegistry
from ep.include.device_type import DeviceType
from ep.include.errors import ArgumentTypeError, ArgumentValueError
from ep.include.event import Event
from ep.include.stream import Stream


class HostDeviceManager(IndexedDeviceManager["HostDevice"]):
    """The manager of one device, number 0. Operators work on its `WrappedArray`s."""

    def __init__(self, device_type: DeviceType) -> None:
        super().__init__(device_type)
        self._arrays: DeviceArrays = WrappedDeviceArrays(device_type)

    def new_device(self, index: int) -> HostDevice:
        return HostDevice(self)

    def GetDeviceCount(self) -> int:
        return 1

    def arrays(self) -> DeviceArrays:
        return self._arrays


class HostDevice(Device):
    """The device of a HostDeviceManager. Its buffers are ndarrays."""

    def CreateStream(self) -> HostStream:
        return HostStream(self)

    def DestroyStream(self, stream: Stream) -> None:
        check_stream(stream, self.device_type())

    def CreateEvent(self) -> HostEvent:
        return HostEvent(self.device_type())

    def DestroyEvent(self, event: Event) -> None:
        check_event(event, self.device_type())

    def Alloc(self, options: AllocationOptions, size: int) -> Buffer:
        number = as_size_anywhere(options, size)
        if options.pinned_device_type not in (None, self.device_type()):
            device = DeviceManagerRegistry.GetDevice(options.pinned_device_type, options.pinned_device_index)
            return device.AllocPinned(options, number)
        return aligned_bytes(number)

    def Free(self, options: AllocationOptions, buffer: Buffer) -> None:
        if not isinstance(buffer, np.ndarray):
            raise ArgumentTypeError("buffer", f"must be a buffer from Alloc, not {buffer!r}")
        if options.pinned_device_type not in (None, self.device_type()):
            device = DeviceManagerRegistry.GetDevice(options.pinned_device_type, options.pinned_device_index)
            device.FreePinned(options, buffer)

    def AllocPinned(self, options: AllocationOptions, size: int) -> Buffer:
        return self.Alloc(options, size)

    def FreePinned(self, options: AllocationOptions, buffer: Buffer) -> None:
        self.Free(options, buffer)


class HostStream(Stream):
    """A stream whose work is always done, so there is never anything to wait for."""

    def __init__(self, device: Device) -> None:
        """Create a stream of `device`; called by `Device.CreateStream`."""
        self._device = device

    def device(self) -> Device:
        return self._device

    def Sync(self) -> None:
        return None

    def RecordEvent(self, event: Event) -> None:
        check_event(event, self.device_type()).Record()

    def WaitEvent(self, event: Event) -> None:
        check_event(event, self.device_type())

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self._device!r}>"


class HostEvent(Event):
    """A mark in such a stream, done as soon as it is recorded."""

    def __init__(self, device_type: DeviceType) -> None:
        self.device_type = device_type
        self._recorded_at: float | None = None

    def Record(self) -> None:
        """Record the time, as `Stream.RecordEvent` does."""
        self._recorded_at = time.perf_counter()

    def QueryDone(self) -> bool:
        return True

    def Sync(self) -> None:
        return None

    def ElapsedTime(self, end: HostEvent) -> float:
        """Return the milliseconds from this event to `end`. Raises ValueError if one of the two was not recorded."""
        if self._recorded_at is None or end._recorded_at is None:
            raise ValueError("both events must have been recorded")
        return (end._recorded_at - self._recorded_at) * 1e3


def aligned_bytes(size: int) -> np.ndarray[Any, Any]:
    """Return new memory of the host, aligned as a device's."""
    block = np.empty(size + kMaxAlignmentRequirement, np.uint8)
    start = -block.ctypes.data % kMaxAlignmentRequirement
    return block[start : start + size]


def as_size_anywhere(options: AllocationOptions, size: int) -> int:
    """Return the checked size of an allocation. Raises ValueError for memory on a NUMA node, too."""
    if options.HasNumaNodeAffinity():
        raise ArgumentValueError(
            "numa_node_affinity", f"is {options.numa_node_affinity}; this memory is not placed on a node"
        )
    return as_size(size, "size")


def check_stream(stream: Stream, device_type: DeviceType) -> HostStream:
    """Return `stream`; TypeError if it is not a HostStream of this device type."""
    if not isinstance(stream, HostStream) or stream.device_type() is not device_type:
        raise ArgumentTypeError("stream", f"must be a stream of the {_name(device_type)} device, not {stream!r}")
    return stream


def check_event(event: Event, device_type: DeviceType) -> HostEvent:
    """Return `event`; TypeError if it is not a HostEvent of this device type."""
    if not isinstance(event, HostEvent) or event.device_type is not device_type:
        raise ArgumentTypeError("event", f"must be an event of the {_name(device_type)} device, not {event!r}")
    return event


def _name(device_type: DeviceType) -> str:
    return device_type.name.removeprefix("k")
