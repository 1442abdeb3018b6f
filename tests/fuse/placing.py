"""Copies of host arrays on a device under test, with the same strides."""

import numpy as np

import ep
from ep import DeviceType


class Strided:
    """An array of another library on CUDA, which exports only the CUDA array interface."""

    def __init__(self, owner, shape, strides, offset=0):
        """Make the array. strides: in bytes. offset: that of the first element, in bytes."""
        self.owner, self.shape, self.dtype, self.strides = owner, shape, owner.dtype, strides
        self.__cuda_array_interface__ = {
            "shape": shape,
            "typestr": "<V2" if self.dtype == ep.DataType.kBFloat16.dtype else self.dtype.str,
            "data": (owner.address + offset, False),
            "strides": strides,
            "version": 3,
        }


def placed(device, array):
    """Return a copy of an array on a device under test, with the array's strides, which must not be negative."""
    if array.flags.c_contiguous:
        return array.copy() if device.type is DeviceType.kCPU else ep.ops.copy_to_device(array, device.type)
    last = sum((size - 1) * stride for size, stride in zip(array.shape, array.strides, strict=True))
    memory = np.zeros(last // array.itemsize + 1, array.dtype)
    view = np.lib.stride_tricks.as_strided(memory, array.shape, array.strides)
    view[...] = array
    if device.type is DeviceType.kCPU:
        return view
    return Strided(ep.ops.copy_to_device(memory, device.type), array.shape, array.strides)


def part(array, begin, end):
    """Return elements of an array with one axis, as `array[begin:end]`."""
    if isinstance(array, np.ndarray):
        return array[begin:end]
    return Strided(array, (end - begin,), (array.dtype.itemsize,), begin * array.dtype.itemsize)
