"""The device for tests: buffers on it, and copies of them as arrays.

The suite requires only these two things of buffers; `docs/adding-a-device.md` describes them.
"""

from typing import Any

import numpy as np

from ep import AllocationOptions, DeviceManagerRegistry, DeviceType, RequirePrimitive
from ep.include import DataType
from ep.testing.tolerances import Library


class DeviceUnderTest:
    """A device of one type and a stream on it."""

    def __init__(self, device_type: DeviceType) -> None:
        self.type = device_type
        self.device = DeviceManagerRegistry.GetDevice(device_type, 0)
        self.stream = self.device.CreateStream()
        self.simulated: bool = getattr(self.device, "simulated", False)
        """Whether the device is simulated, which is thousands of times slower: the samples are smaller then."""
        self.library = self._library()
        """The library of elementary functions that the device calls."""
        self.on_host = isinstance(self.empty(0, DataType.kUInt8), np.ndarray)
        """Whether buffers are NumPy's arrays."""

    def _library(self) -> Library:
        if self.type is DeviceType.kCPU:
            return Library.VECTOR_MATH
        if self.type is not DeviceType.kCUDA:
            return Library.HOST
        # a driver that runs kernels from their PTX, without a GPU, computes approximate instructions exactly, unless it
        # was told to deviate
        driver: Any = self.device.driver  # type: ignore[attr-defined]
        return Library.LIBDEVICE if driver.loads_ptx and not driver.deviation else Library.APPROXIMATED

    def require(self, interface: Any, *args: Any, **kwargs: Any) -> Any:
        """Return the primitive for a key."""
        return RequirePrimitive(interface, self.type, *args, **kwargs)

    def buffer(self, array: Any) -> Any:
        """Return a buffer on the device with a copy of `array`."""
        array = np.asarray(array)
        buffer = self.device.Alloc(AllocationOptions(), array.nbytes).view(array.dtype)
        self.write(buffer, array)
        return buffer

    def empty(self, count: int, data_type: DataType) -> Any:
        """Return an uninitialized buffer of `count` elements."""
        return self.device.Alloc(AllocationOptions(), count * data_type.itemsize).view(data_type.dtype)

    def write(self, buffer: Any, array: np.ndarray[Any, Any], stream: Any = None) -> None:
        """Copy `array` to a buffer, or part of one, on `stream`; by default on the device's own."""
        if isinstance(buffer, np.ndarray):
            buffer[...] = array.reshape(-1)
        else:
            buffer.copy_from_host(array.reshape(-1), stream or self.stream)

    def filled(self, count: int, data_type: DataType, byte: int = 0xA5) -> Any:
        """Return a buffer of `count` elements whose bytes are all `byte`, to show the bytes that a launch leaves."""
        return self.buffer(np.full(count * data_type.itemsize, byte, np.uint8).view(data_type.dtype))

    def array(self, buffer: Any, shape: Any = -1, stream: Any = None) -> np.ndarray[Any, Any]:
        """Return a copy of a buffer on the host, after the work on `stream`, by default the device's own, is done."""
        stream = stream or self.stream
        stream.Sync()
        array = np.array(buffer) if isinstance(buffer, np.ndarray) else buffer.copy_to_host(stream)
        return array.reshape(shape)

    def guarded(self, array: Any) -> Any:
        """Return a buffer with a copy of `array`, and elements of `filled` after it, which no launch may write."""
        guards = np.full(3 * array.itemsize, 0xA5, np.uint8).view(array.dtype)
        return self.buffer(np.concatenate([array.reshape(-1), guards]))

    def written(self, buffer: Any, shape: int | tuple[int, ...], begin: int = 0) -> np.ndarray[Any, Any]:
        """Return an array that a launch wrote to a buffer of `filled` or `guarded`, from the element `begin` on.

        The test fails if anything around it was written, too.
        """
        elements, end = self.array(buffer), begin + int(np.prod(shape))
        around = np.concatenate([elements[:begin], elements[end:]])
        assert around.size, "the buffer has no elements around those that are written"
        assert set(around.view(np.uint8)) == {0xA5}, "elements around the result were written"
        return elements[begin:end].reshape(shape)

    def __str__(self) -> str:
        return self.type.tag


def address(buffer: Any) -> int:
    """Return the address of a buffer."""
    return int(buffer.ctypes.data if isinstance(buffer, np.ndarray) else buffer.address)
