"""Memory of a device, and buffers: parts of it."""

import itertools
from functools import partial

import numpy as np

from ep.common.buffer_checks import check_class, check_dtype, check_size
from ep.common.flat_buffer import FlatBuffer
from ep.include import kMaxAlignmentRequirement
from ep.include.errors import ArgumentValueError
from ep.include.process import ProcessBound
from ep_opencl_device.opencl import cl, opencl_errors

_FIRST_ADDRESSES = itertools.count(kMaxAlignmentRequirement, 2**48)  # no allocation is as large as their distance


class Memory(ProcessBound):
    """A memory object. It has no address, so it gets a range of numbers that no other one has, for checks of overlap.

    OpenCL frees the object after its last use by queued commands, so it may be released before them.
    """

    def __init__(self, device, num_bytes, contents=None):
        """contents: an array of as many bytes, which is copied."""
        most = device.opencl_device.max_mem_alloc_size
        if num_bytes > most:
            raise MemoryError(f"{num_bytes} bytes are more than an OpenCL device allocates at once: {most}")
        with opencl_errors(f"{num_bytes} bytes"):
            given = {"size": max(num_bytes, 1)} if contents is None else {"hostbuf": contents}
            flags = cl.mem_flags.READ_WRITE if contents is None else cl.mem_flags.COPY_HOST_PTR
            self.memory_object = cl.Buffer(device.context, flags, **given)
        self.address = next(_FIRST_ADDRESSES)

    def release(self):
        """Free the memory."""
        self.memory_object = None


class Buffer(FlatBuffer, ProcessBound):
    """`size` elements of `dtype` in a Memory, from `offset` bytes on."""

    def __init__(self, device, memory, offset, size, dtype):
        self.device, self.memory, self.offset, self.dtype, self.size = device, memory, offset, np.dtype(dtype), size

    @property
    def address(self):
        return self.memory.address + self.offset

    def memory_object(self, argument="buffer"):
        """Return the object of OpenCL; ValueError if it was freed."""
        if self.memory.memory_object is None:
            raise ArgumentValueError(argument, f"is {self!r}, which was freed")
        return self.memory.memory_object

    def part(self, offset, size, dtype):
        return Buffer(self.device, self.memory, self.offset + offset, size, dtype)

    def copy_from_host(self, array, stream):
        array = self.as_contents(array)
        if array.size:
            bytes_, options = array.reshape(-1).view(np.uint8), {"dst_offset": self.offset, "is_blocking": False}
            stream.queue(cl.enqueue_copy, self.memory_object(), bytes_, **options)
        stream.Sync()  # a blocking copy waits for ever where work before it fails, on pocl

    def copy_to_host(self, stream):
        return self.begin_copy_to_host(stream)()

    def begin_copy_to_host(self, stream):
        """Queue a copy; return the function that waits for it alone, and returns it."""
        array, source = np.empty(self.size, self.dtype), self.memory_object()
        if not array.size:
            stream.Sync()
            return lambda: array
        options = {"src_offset": self.offset, "is_blocking": False}  # the event keeps the array
        event = stream.queue(cl.enqueue_copy, array.view(np.uint8), source, **options)
        stream.flush()
        return partial(stream.wait, event, array)

    def __repr__(self):
        return f"<buffer of {self.size} {self.dtype} on opencl:{self.device.device_index()}>"


def constant(device, array):
    """Return a new buffer with the elements of an array, or with a number, for kernels that read it."""
    array = np.asarray(array)
    return Buffer(device, Memory(device, array.nbytes, array), 0, array.size, array.dtype)


def reader(stream):
    """Return the reader of buffers, for `Signature.read`, of a launch on a stream."""

    def read(buffer, argument, data_type, count, written):
        check_class(buffer, Buffer, argument, "a buffer of an OpenCL device").memory_object(argument)
        if buffer.device is not stream.device():
            raise ArgumentValueError(argument, f"is {buffer!r}; the stream is of another device")
        check_dtype(argument, buffer.dtype, data_type)
        check_size(argument, buffer.size, count)
        return buffer, buffer.address

    return read
