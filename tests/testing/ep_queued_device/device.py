"""The manager of one device, the device, its streams and its events."""

import threading

import numpy as np
from ep_queued_device.memory import Buffer, Memory

from ep import DeviceType
from ep.common.checks import as_size
from ep.common.host.device import aligned_bytes, as_size_anywhere
from ep.common.indexed_devices import IndexedDeviceManager
from ep.include import Device, Event, Stream
from ep.include.errors import ArgumentTypeError, ArgumentValueError

kQueued = DeviceType.Register("kQueued", "queued")


class QueuedDeviceManager(IndexedDeviceManager):
    def __init__(self):
        super().__init__(kQueued)

    def new_device(self, index):
        return QueuedDevice(self)

    def GetDeviceCount(self):
        return 1


class QueuedDevice(Device):
    def __init__(self, device_manager):
        super().__init__(device_manager)
        self._memory = Memory()

    def CreateStream(self):
        return QueuedStream(self)

    def DestroyStream(self, stream):
        check_stream(stream).Sync()

    def CreateEvent(self):
        return QueuedEvent()

    def DestroyEvent(self, event):
        check_event(event)

    def Alloc(self, options, size):
        size = as_size(size, "size")
        if options.HasNumaNodeAffinity() or options.pinned_device_type is not None:
            raise ArgumentValueError("numa_node_affinity", "and pinned_device_type are for memory of the host")
        block = self._memory.take(size)
        return Buffer(block, block.bytes)

    def Free(self, options, buffer):
        check_buffer(buffer).block.free()

    def AllocPinned(self, options, size):
        return aligned_bytes(as_size_anywhere(options, size))

    def FreePinned(self, options, buffer):
        if not isinstance(buffer, np.ndarray):
            raise ArgumentTypeError("buffer", f"must be a buffer from AllocPinned, not {buffer!r}")


class QueuedStream(Stream):
    """A queue. Work is submitted in bulk, and the device does it when somebody waits."""

    def __init__(self, device):
        self._device = device
        self._queued, self.num_submitted, self._num_done = [], 0, 0
        self._lock = threading.RLock()

    def device(self):
        return self._device

    def queue(self, work):
        with self._lock:
            self._queued.append(work)

    def flush(self):
        """Submit what is queued; return the number of all that is submitted."""
        with self._lock:
            self.num_submitted = self._num_done + len(self._queued)
            return self.num_submitted

    def run(self, number):
        """Do the work until `number` of all that was ever queued are done."""
        with self._lock:
            while self._num_done < number:
                if self._num_done == self.num_submitted:
                    threading.Event().wait()  # for ever: a device does not know of what is not submitted
                work = self._queued.pop(0)
                self._num_done += 1
                work()

    def Sync(self):
        self.run(self.flush())

    def RecordEvent(self, event):
        check_event(event).mark(self, self.flush())

    def WaitEvent(self, event):
        stream, number = check_event(event).recorded
        if stream is not None:
            self.queue(lambda: stream.run(number))

    def FreeAsync(self, buffer):
        block = check_buffer(buffer).block
        self.Sync()
        block.free()


class QueuedEvent(Event):
    """recorded: a stream, and the number of its pieces of work that come before the event."""

    recorded = None, 0

    def mark(self, stream, number):
        self.recorded = stream, number

    def QueryDone(self):
        stream, number = self.recorded
        if stream is None or stream._num_done >= number:
            return True
        stream.run(min(stream._num_done + 1, number))  # the device goes on while somebody asks
        return stream._num_done >= number

    def Sync(self):
        stream, number = self.recorded
        if stream is not None:
            stream.run(number)


def check_stream(stream):
    if not isinstance(stream, QueuedStream):
        raise ArgumentTypeError("stream", f"must be a stream of the queued device, not {stream!r}")
    return stream


def check_event(event):
    if not isinstance(event, QueuedEvent):
        raise ArgumentTypeError("event", f"must be an event of the queued device, not {event!r}")
    return event


def check_buffer(buffer):
    if not isinstance(buffer, Buffer):
        raise ArgumentTypeError("buffer", f"must be a buffer of the queued device, not {buffer!r}")
    return buffer
