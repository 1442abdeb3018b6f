"""The arrays of the device, on which `ep.ops` runs operators."""

import math

import numpy as np

from ep.common.arrays.buffer_arrays import BufferArrays, BufferDeviceArrays
from ep.common.arrays.indexing import reshaped
from ep.common.arrays.operators import Operators
from ep_opencl_device.buffer import Buffer
from ep_opencl_device.opencl import kOpenCL


class OpenCLArray(Operators, Buffer):
    """A buffer with a shape: the operands and results of operators."""

    def __init__(self, device, memory, offset, shape, dtype):
        super().__init__(device, memory, offset, math.prod(shape), dtype)
        self.shape = tuple(shape)

    def reshape(self, *shape):
        """Return the same memory in another shape."""
        return OpenCLArray(self.device, self.memory, self.offset, reshaped(self, shape), self.dtype)

    def __repr__(self):
        return f"<array of shape {self.shape}, {self.dtype}, on opencl:{self.device.device_index()}>"


class OpenCLArrays(BufferArrays):
    """The Arrays of one device."""

    array_class = OpenCLArray

    def empty(self, shape, dtype):
        memory = self.stream.AllocAsync(math.prod(shape) * np.dtype(dtype).itemsize).memory
        return OpenCLArray(self.device, memory, 0, shape, dtype)

    def within(self, memory, offset, shape, dtype):
        return OpenCLArray(self.device, memory.memory, memory.offset + offset, shape, dtype)


ARRAYS = BufferDeviceArrays(kOpenCL, OpenCLArrays)
