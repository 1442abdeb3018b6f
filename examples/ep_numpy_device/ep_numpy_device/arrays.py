"""The arrays of this device, and the classes with which `ep.ops` runs operators on them."""

from ep.common.arrays.host import HostArrays
from ep.include import DeviceArrays
from ep.include.errors import ArgumentTypeError
from ep_numpy_device.device import kNumpy


class NumpyArray:
    """An array of this device, in the host's memory: the operands and results of operators."""

    def __init__(self, array):
        self.array = array
        self.shape, self.dtype, self.size = array.shape, array.dtype, array.size


class NumpyDeviceArrays(DeviceArrays):
    """The DeviceArrays of this device: it recognises values that are its arrays."""

    def recognises(self, value):
        return isinstance(value, NumpyArray)

    def index_of(self, value):
        return 0

    def on(self, device_index):
        return NumpyArrays(kNumpy, f"numpy:{device_index}")


class NumpyArrays(HostArrays):
    """The Arrays of the device. Operators work on the ndarrays inside: primitives accept them as buffers."""

    takes_host_arrays = False

    def as_buffer(self, value, argument):
        return super().as_buffer(value.array if isinstance(value, NumpyArray) else value, argument)

    def destination(self, shape, dtype, out):
        if out is not None and not isinstance(out, NumpyArray):
            raise ArgumentTypeError("out", f"must be a NumpyArray, not {type(out).__qualname__}")
        return super().destination(shape, dtype, out and out.array)

    def delivered(self, result, out):
        if out is None:
            return NumpyArray(result)
        super().delivered(result, out.array)
        return out

    def copy_from_host(self, array):
        return NumpyArray(array.copy())

    def copy_to_host(self, array):
        return self.as_buffer(array, "array").copy()
