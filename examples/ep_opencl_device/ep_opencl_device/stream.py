"""Streams, which are command queues, and events."""

from collections import deque
from contextlib import suppress

from ep.common.buffer_checks import check_class
from ep.include import Event, Stream
from ep.include.process import Rank, new_lock
from ep_opencl_device.opencl import cl, opencl_errors

_WORK = "work on an OpenCL device"


class OpenCLStream(Stream):
    """A command queue. Each command waits for the one before it, so it fails if that has failed.

    Events are kept while their commands may run: pocl ends the process if one without an owner fails.
    """

    def __init__(self, device):
        self._device, self._lock, self._events = device, new_lock(Rank.DRIVER), deque()
        self._queue = cl.CommandQueue(device.context)

    def device(self):
        return self._device

    def queue(self, command, *arguments, after=(), **options):
        """Queue a command of OpenCL after all work so far, and after the events `after`; return its event."""
        with self._lock, opencl_errors(_WORK):
            before = [*([self._events[-1]] if self._events else ()), *after]
            for failed in [one for one in before if one.command_execution_status < 0]:
                self._events.clear()
                failed.wait()  # raises its error; a command after it would wait for ever, on pocl
            event = command(self._queue, *arguments, wait_for=before, **options)
            self._events.append(event)
            while self._events[0] is not event and _is_done(self._events[0]):
                self._events.popleft()
            return event

    def flush(self):
        """Have the work so far begin."""
        with opencl_errors(_WORK):
            self._queue.flush()

    def Sync(self):
        with self._lock, opencl_errors(_WORK):
            events, self._events = self._events, deque()  # later work does not wait for what has failed
            if events:
                events[-1].wait()

    def wait(self, event, result):
        """Return the result of a command of this stream when it is done; raise the errors of the work up to it."""
        try:
            with opencl_errors(_WORK):
                event.wait()
            return result
        except Exception:
            with suppress(Exception):
                self.Sync()
            raise

    def RecordEvent(self, event):
        check_event(event).marker = self.queue(cl.enqueue_marker)
        self.flush()  # else who asks for the event, or another queue, could wait for ever

    def WaitEvent(self, event):
        if check_event(event).marker is not None:
            self.queue(cl.enqueue_barrier, after=[event.marker])


class OpenCLEvent(Event):
    """A marker in a queue, None before it is recorded."""

    marker = None

    def QueryDone(self):
        return self.marker is None or _is_done(self.marker)

    def Sync(self):
        if self.marker is not None:
            with opencl_errors("work before an event"):
                self.marker.wait()


def _is_done(event):
    """Return whether a command is done, or has failed."""
    return event.command_execution_status <= cl.command_execution_status.COMPLETE


def check_event(event):
    """Return `event`; TypeError if it is not an event of this device."""
    return check_class(event, OpenCLEvent, "event", "an event of an OpenCL device")
