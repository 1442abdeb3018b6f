"""The manager of one device, the device, and its streams and events. Work is done when `Launch` returns."""

import sys
import threading
import time

import numpy as np

from ep import AllocationOptions, DeviceType, DeviceUnavailableError
from ep.common.checks import as_integer, as_size
from ep.include import Device, DeviceManager, Event, Finding, Stream, kMaxAlignmentRequirement
from ep.include.errors import ArgumentTypeError, ArgumentValueError

kNumpy = DeviceType.Register("kNumpy", "numpy")


class NumpyDeviceManager(DeviceManager):
    """The manager of one device, number 0, which is always present."""

    def __init__(self):
        self._device, self._lock = None, threading.Lock()

    def device_type(self):
        return kNumpy

    def GetDevice(self, device_index):
        self.SetActiveDeviceByIndex(device_index)
        with self._lock:
            if self._device is None:
                self._device = NumpyDevice(self)
        return self._device

    def GetDeviceCount(self):
        return 1

    def GetActiveDeviceIndex(self):
        return 0

    def SetActiveDeviceByIndex(self, device_index):
        if as_integer(device_index, "device_index") != 0:
            raise DeviceUnavailableError(f"device_index is {device_index}; there is one device, number 0")

    def IsStreamWaitEventSupported(self):
        return True

    def arrays(self):
        from ep_numpy_device.arrays import NumpyDeviceArrays  # imported when an operator first needs it

        return NumpyDeviceArrays()


class NumpyDevice(Device):
    """The host as a device. Its buffers are ndarrays."""

    def __init__(self, device_manager):
        self._device_manager = device_manager

    def SetAsActiveDevice(self):
        self._device_manager.SetActiveDeviceByIndex(0)

    def Reset(self):
        pass

    def device_type(self):
        return kNumpy

    def device_index(self):
        return 0

    def device_manager(self):
        return self._device_manager

    def CreateStream(self):
        return NumpyStream(self)

    def DestroyStream(self, stream):
        check_stream(stream)

    def CreateEvent(self):
        return NumpyEvent()

    def DestroyEvent(self, event):
        check_event(event)

    def facts(self):
        return {"numpy": np.__version__}

    def findings(self):
        yield Finding("byte order", "pass" if sys.byteorder == "little" else "fail", sys.byteorder)

    def Alloc(self, options, size):
        size = as_size(size, "size")
        if options.HasNumaNodeAffinity():
            raise ArgumentValueError("numa_node_affinity", f"is {options.numa_node_affinity}; no memory is placed")
        if options.pinned_device_type not in (None, kNumpy):
            raise ArgumentValueError("pinned_device_type", f"is {options.pinned_device_type}; it pins for itself alone")
        block = np.empty(size + kMaxAlignmentRequirement, np.uint8)
        start = -block.ctypes.data % kMaxAlignmentRequirement
        return block[start : start + size]

    def Free(self, options, buffer):
        if not isinstance(buffer, np.ndarray):
            raise ArgumentTypeError("buffer", f"must be a buffer from Alloc, not {buffer!r}")

    def AllocPinned(self, options, size):
        return self.Alloc(options, size)

    def FreePinned(self, options, buffer):
        self.Free(options, buffer)


class NumpyStream(Stream):
    """A stream whose work is always done."""

    def __init__(self, device):
        self._device = device

    def device_type(self):
        return kNumpy

    def device(self):
        return self._device

    def Sync(self):
        pass

    def RecordEvent(self, event):
        check_event(event).recorded_at = time.perf_counter()

    def WaitEvent(self, event):
        check_event(event)

    def AllocAsync(self, size):
        return self._device.Alloc(AllocationOptions(), size)

    def FreeAsync(self, buffer):
        self._device.Free(AllocationOptions(), buffer)


class NumpyEvent(Event):
    """An event that is done as soon as it is recorded."""

    recorded_at = None

    def QueryDone(self):
        return True

    def Sync(self):
        pass


def check_stream(stream):
    """Return `stream`; TypeError if it is not a stream of this device."""
    if not isinstance(stream, NumpyStream):
        raise ArgumentTypeError("stream", f"must be a stream of the NumPy device, not {stream!r}")
    return stream


def check_event(event):
    """Return `event`; TypeError if it is not an event of this device."""
    if not isinstance(event, NumpyEvent):
        raise ArgumentTypeError("event", f"must be an event of the NumPy device, not {event!r}")
    return event
