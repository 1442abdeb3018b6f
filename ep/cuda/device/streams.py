"""The streams of a GPU, and the order of their work."""

from __future__ import annotations

import weakref
from collections import deque
from collections.abc import Callable
from contextlib import suppress

from ep.cuda.device.error_report import ErrorReports
from ep.cuda.device.stream import CudaStream
from ep.cuda.driver.interface import LEGACY_STREAM, CudaError, Driver
from ep.include.process import Rank, new_lock


class Streams:
    """The streams of one device: those that ep created, and those of other frameworks that it knows."""

    def __init__(
        self, driver: Driver, index: int, reports: ErrorReports, new: Callable[[int, bool], CudaStream]
    ) -> None:
        """index: of the device; new: makes the object of a stream from its handle and whether ep created the stream."""
        self._driver, self._index, self._reports, self._new = driver, index, reports, new
        self._lock = new_lock(Rank.STREAMS)
        self._known: weakref.WeakValueDictionary[int, CudaStream] = weakref.WeakValueDictionary()
        self._owned: dict[int, None] = {}  # handles that ep created and has not destroyed
        self._left: deque[int] = deque()  # those of them whose objects are gone
        self.legacy: CudaStream | None = None  # which lasts as long as the device
        self._events: deque[int] = deque()  # those that streams wait for each other by, and that no thread is using
        self._is_shared = False  # whether memory may be used on several streams, so that fences have work to do

    def create(self) -> CudaStream:
        """Return a new stream."""
        stream = self._new(self._driver.create_stream(self._index), True)
        with self._lock:
            self._known[stream.handle] = stream
            self._owned[stream.handle] = None
            self._is_shared = True  # until a fence finds one stream
        return stream

    def adopt(self, handle: int) -> tuple[CudaStream, bool]:
        """Return the stream with this handle, which another framework owns, and whether it is a new one."""
        with self._lock:
            stream = self._known.get(handle)
            if stream is not None:
                return stream, False
            stream = self._known[handle] = self._new(handle, False)
            if handle == LEGACY_STREAM:
                self.legacy = stream
            self._is_shared = True
        return stream, True

    def destroy(self, stream: CudaStream) -> None:
        """Wait for a stream's work and destroy it; raises the errors of that work."""
        if stream.handle >= 0:
            # finished before fences omit the stream: its memory may be freed already, and reused
            with suppress(CudaError):  # `destroy` of the stream raises this error
                self._driver.synchronize_stream(self._index, stream.handle)
        with self._lock:
            self._known.pop(stream.handle, None)
            self._owned.pop(stream.handle, None)
        stream.destroy()

    def leave(self, handle: int) -> None:
        """Record a stream that ep created whose object is gone; a later fence destroys it.

        Takes no lock and calls no driver, since the garbage collector may call it anywhere, in a capture too.
        """
        self._left.append(handle)
        self._is_shared = True

    def objects(self) -> list[CudaStream]:
        """Return the objects of all streams."""
        return list(self._known.values())

    def fence(self) -> None:
        """Make every stream wait for the work queued on the others; streams in capture are omitted."""
        if not self._is_shared:  # the usual case, and most allocations come here
            return
        with self._lock:
            self._destroy_left()
            handles = self._handles()
            if len(handles) < 2 or (len(handles) == 2 and self._are_in_order(*handles)):
                self._is_shared = bool(self._left)
                return
            handles = [handle for handle in handles if not self._driver.is_capturing(self._index, handle)]
            for handle in handles:
                for other in handles:
                    if other != handle and not self._are_in_order(handle, other):
                        self.let_wait(handle, other)

    def wait(self) -> None:
        """Wait for the work of all streams. Captured work does not run yet, and waiting for it would end the capture.

        Takes no lock: memory that the garbage collector finds is given back after it.
        """
        for handle in self._handles():
            with suppress(CudaError):  # the stream's own, or one that was destroyed meanwhile
                if not self._driver.is_capturing(self._index, handle):
                    self._driver.synchronize_stream(self._index, handle)

    def let_wait(self, consumer: int, producer: int) -> None:
        """Make work queued later on one stream wait for the work queued on another.

        If only the producer is captured, the consumer joins the capture.
        """
        try:
            event = self._events.pop()
        except IndexError:
            event = self._driver.create_event(self._index, timing=False)
        try:
            self._driver.wait_stream(self._index, consumer, producer, event)
        except BaseException:
            self._driver.destroy_event(self._index, event)
            raise
        self._events.append(event)  # what waits for it waits for what was recorded by then

    def _handles(self) -> list[int]:
        """Return the known streams, including those without an object."""
        adopted = [stream.handle for reference in self._known.valuerefs() if (stream := reference())]
        return list(dict.fromkeys([*self._owned, *adopted]))

    def _are_in_order(self, one: int, other: int) -> bool:
        """Return whether CUDA orders two streams: the default stream and one that ep created."""
        return (one <= LEGACY_STREAM and other in self._owned) or (other <= LEGACY_STREAM and one in self._owned)

    def _destroy_left(self) -> None:
        """Destroy the recorded streams whose work is done. Until then fences include them."""
        for _ in range(len(self._left)):
            handle = self._left.popleft()
            if self._driver.is_capturing(self._index, handle) or not self._driver.query_stream(self._index, handle):
                self._left.append(handle)
                continue
            self._reports.of(handle).take()  # the next stream with this handle starts without it
            del self._owned[handle]
            self._driver.destroy_stream(self._index, handle)
