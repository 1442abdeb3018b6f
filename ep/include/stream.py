"""Streams: queues of work on a device."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Protocol

from ep.include.allocation_options import AllocationOptions
from ep.include.buffer import Buffer
from ep.include.device_type import DeviceType
from ep.include.event import Event
from ep.include.process import ProcessBound


class DeviceOfStream(Protocol):
    """The part of a `Device` that a stream needs: memory and events.

    The device refers to its streams, not vice versa.
    """

    def device_type(self) -> DeviceType: ...

    def device_index(self) -> int: ...

    def SetAsActiveDevice(self) -> None: ...

    def CreateEvents(self, count: int) -> list[Event]: ...

    def DestroyEvents(self, events: list[Event]) -> None: ...

    def Alloc(self, options: AllocationOptions, size: int) -> Buffer: ...

    def Free(self, options: AllocationOptions, buffer: Buffer) -> None: ...


class Stream(ProcessBound, ABC):
    """A queue of work on one device, done in order (`stream.h`). Every `Launch` receives one.

    It can be neither copied nor pickled: each has one owner, in one process.
    """

    def device_type(self) -> DeviceType:
        """Return the type of the stream's device."""
        return self.device().device_type()

    @abstractmethod
    def device(self) -> DeviceOfStream:
        """Return the stream's device."""

    @abstractmethod
    def Sync(self) -> None:
        """Wait until all queued work is done. Raises the error of asynchronous work that failed."""

    @abstractmethod
    def RecordEvent(self, event: Event) -> None:
        """Queue `event`: it is done once all work queued before it is done."""

    @abstractmethod
    def WaitEvent(self, event: Event) -> None:
        """Make work queued from now on wait until `event` is done."""

    def GetAsyncError(self) -> Exception | None:
        """Return the error of queued work that failed since the last call, or None. Does not wait."""
        return None

    def AllocAsync(self, size: int) -> Buffer:
        """Return a uint8 buffer of `size` bytes that work queued from now on may use."""
        return self.device().Alloc(AllocationOptions(), size)

    def FreeAsync(self, buffer: Buffer) -> None:
        """Free `buffer`, from `AllocAsync`, once all work queued before is done.

        By default at once: a device whose memory lasts until queued work is done frees it so.
        """
        self.device().Free(AllocationOptions(), buffer)
