"""A device of OpenCL: its memory, and the programs that were compiled for it."""

import numpy as np

from ep.common.buffer_checks import check_class
from ep.common.host.device import aligned_bytes, as_size_anywhere
from ep.common.lazy import once
from ep.include import Device
from ep.include.errors import ArgumentValueError
from ep.include.process import Rank, new_lock
from ep_opencl_device.buffer import Buffer, Memory
from ep_opencl_device.opencl import cl, kOpenCL, opencl_errors
from ep_opencl_device.stream import OpenCLEvent, OpenCLStream, check_event

_GROUP = 64
"""The work-items of a group: of one size, since some platforms compile a kernel anew for each size."""
_OPTIONS = ["-cl-fp32-correctly-rounded-divide-sqrt", "-w"]


class OpenCLDevice(Device):
    """A device with a context of its own."""

    def __init__(self, device_manager, index, device):
        super().__init__(device_manager, index)
        self.opencl_device, self.context = device, cl.Context([device])

    def CreateStream(self):
        return OpenCLStream(self)

    def DestroyStream(self, stream):
        check_class(stream, OpenCLStream, "stream", "a stream of an OpenCL device").Sync()

    def CreateEvent(self):
        return OpenCLEvent()

    def DestroyEvent(self, event):
        check_event(event)

    def facts(self):
        device = self.opencl_device
        return {"name": device.name.strip(), "version": device.version, "memory": device.global_mem_size}

    def Alloc(self, options, size):
        size = self._checked_size(options, size)
        return Buffer(self, Memory(self, size), 0, size, np.uint8)

    def Free(self, options, buffer):
        check_class(buffer, Buffer, "buffer", "a buffer from Alloc").memory.release()

    def AllocPinned(self, options, size):
        return aligned_bytes(self._checked_size(options, size))

    def FreePinned(self, options, buffer):
        check_class(buffer, np.ndarray, "buffer", "a buffer from AllocPinned")

    def _checked_size(self, options, size):
        if options.pinned_device_type not in (None, kOpenCL):
            raise ArgumentValueError("pinned_device_type", f"is {options.pinned_device_type}; it pins for itself alone")
        return as_size_anywhere(options, size)

    @once
    def kernel(self, source):
        """Return the kernel of a source, which has one."""
        with opencl_errors("compiling a kernel"):
            return Kernel(cl.Program(self.context, source).build(_OPTIONS))


class Kernel:
    """The kernel of a program. One thread at a time sets its arguments."""

    def __init__(self, program):
        (self._kernel,), self._lock = program.all_kernels(), new_lock(Rank.LAUNCH)

    def launch(self, stream, count, *arguments):
        """Queue the kernel with groups of work-items for `count` > 0 items; arguments: memory, and NumPy's numbers."""
        with self._lock:
            with opencl_errors("the arguments of a kernel"):
                self._kernel.set_args(*arguments)
            groups = -(-count // _GROUP)
            stream.queue(cl.enqueue_nd_range_kernel, self._kernel, (groups * _GROUP,), (_GROUP,))
