"""CUDA events, with timing."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from ep.cuda.driver.interface import CudaError, Driver
from ep.include.errors import ArgumentTypeError, ArgumentValueError
from ep.include.event import Event


class CudaEvent(Event):
    """A mark in a stream of a CUDA device; `handle` is its CUevent."""

    def __init__(self, driver: Driver, device_index: int) -> None:
        """An event of a device of `driver`; `Device.CreateEvent` makes them."""
        self._driver, self._index = driver, device_index
        self._recorded = False
        self.handle = 0  # for __del__ if the next line fails
        self.handle = self._driver.create_event(self._index)

    def Record(self, stream: int) -> None:
        """Queue the event on the stream with this handle, as `Stream.RecordEvent` does."""
        self._driver.record_event(self._index, self.handle, stream)
        self._recorded = True

    def QueryDone(self) -> bool:
        return self._driver.query_event(self._index, self.handle)

    def Sync(self) -> None:
        self._driver.synchronize_event(self._index, self.handle)

    def ElapsedTime(self, end: CudaEvent) -> float:
        """Return the milliseconds from this event to `end`, after waiting for both; ValueError if one was not
        recorded."""
        check_event(end)
        if not (self._recorded and end._recorded):
            raise ValueError("both events must have been recorded")
        self.Sync()
        end.Sync()
        return self._driver.elapsed_milliseconds(self._index, self.handle, end.handle)

    def destroy(self) -> None:
        """Destroy the CUevent; the event must not be used again."""
        handle, self.handle = self.handle, 0
        if handle:
            self._driver.destroy_event(self._index, handle)

    def __del__(self) -> None:
        with suppress(CudaError):  # at exit the driver may be unloaded already
            self.destroy()


def check_event(event: Any) -> CudaEvent:
    """Return `event`; TypeError if it is not an event of a CUDA device, ValueError if it was destroyed."""
    if not isinstance(event, CudaEvent):
        raise ArgumentTypeError("event", f"must be an event of a CUDA device, not {event!r}")
    if not event.handle:
        raise ArgumentValueError("event", "was destroyed")
    return event
