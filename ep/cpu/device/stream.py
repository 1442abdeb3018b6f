"""The CPU's stream and event: work is done when Launch returns."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from ep.include.allocation_options import AllocationOptions
from ep.include.buffer import Buffer
from ep.include.device import Device
from ep.include.device_type import DeviceType
from ep.include.errors import ArgumentTypeError
from ep.include.event import Event
from ep.include.stream import Stream


class CpuEvent(Event):
    """A mark in a CPU stream, done as soon as it is recorded."""

    def __init__(self) -> None:
        self._recorded_at: float | None = None

    def Record(self) -> None:
        """Record the time, as `Stream.RecordEvent` does."""
        self._recorded_at = time.perf_counter()

    def QueryDone(self) -> bool:
        return True

    def Sync(self) -> None:
        return None

    def ElapsedTime(self, end: CpuEvent) -> float:
        """Return the milliseconds from this event to `end`. Raises ValueError if one of the two was not recorded."""
        if self._recorded_at is None or end._recorded_at is None:
            raise ValueError("both events must have been recorded")
        return (end._recorded_at - self._recorded_at) * 1e3


class CpuStream(Stream):
    """A stream of the CPU. A launch has finished when `Launch` returns, so there is never anything to wait for."""

    def __init__(self, device: Device) -> None:
        """Create a stream of `device`; called by `Device.CreateStream`."""
        self._device = device

    def device_type(self) -> DeviceType:
        return DeviceType.kCPU

    def device(self) -> Device:
        return self._device

    def Sync(self) -> None:
        return None

    def RecordEvent(self, event: Event) -> None:
        _check_event(event).Record()

    def WaitEvent(self, event: Event) -> None:
        _check_event(event)

    def AllocAsync(self, size: int) -> Buffer:
        return self._device.Alloc(AllocationOptions(), size)

    def FreeAsync(self, buffer: Buffer) -> None:
        self._device.Free(AllocationOptions(), buffer)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self._device!r}>"


class RecordingStream(CpuStream):
    """A stream whose launches are noted: Python does each, and compiled code does none without it."""

    def __init__(
        self, device: Device, note: Callable[[Any, Any, tuple[Any, ...]], None], *, computes: bool = True
    ) -> None:
        """note: it gets the primitive of each launch, its plan or None, and the other arguments of `_enter`. computes:
        whether the launches are done, too."""
        super().__init__(device)
        self.note, self.computes = note, computes


def _check_event(event: Event) -> CpuEvent:
    if not isinstance(event, CpuEvent):
        raise ArgumentTypeError("event", f"must be an event of the CPU, not {event!r}")
    return event
