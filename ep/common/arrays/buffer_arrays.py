"""Operators on a device with memory of its own, whose arrays are objects of one class."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np

from ep.common.arrays.checks import check_result, is_weak, native_dtype
from ep.common.arrays.host_indices import RESOLVERS
from ep.common.lazy import lazy
from ep.include.arrays import ArrayLike, Arrays, DeviceArrays
from ep.include.device import Device
from ep.include.device_manager_registry import DeviceManagerRegistry
from ep.include.device_type import DeviceType
from ep.include.errors import ArgumentTypeError
from ep.include.stream import Stream


class BufferArrays(Arrays):
    """The Arrays of a device whose arrays are C-contiguous buffers with `shape` and `device`.

    array_class: their class, which also has `copy_from_host` and `begin_copy_to_host`, each with an array and a stream.
    """

    array_class: ClassVar[type[Any]]

    def __init__(self, device: Device) -> None:
        self.device, self.device_type = device, device.device_type()
        self.place = f"{self.device_type.tag}:{device.device_index()}"

    @lazy
    def stream(self) -> Stream:
        return self.device.CreateStream()

    @abstractmethod
    def empty(self, shape: Sequence[int], dtype: np.dtype[Any]) -> Any:
        """Return a new array, with undefined contents."""

    def as_buffer(self, value: ArrayLike, argument: str) -> Any:
        if is_weak(value):
            return self.filled(np.asarray(value))
        if not isinstance(value, self.array_class) or value.device is not self.device:
            what = f"{type(value).__qualname__}; ep.ops.copy_to_device copies an array to it"
            raise ArgumentTypeError(argument, f"must be an array on {self.place}, not {what}")
        return value

    def resolved(self, indices: Any, size: int, mode: str) -> Any:
        if mode == "zero":
            return indices
        return self.copy_from_host(RESOLVERS[mode](self.copy_to_host(indices), size))

    def destination(self, shape: Sequence[int], dtype: np.dtype[Any], out: Any | None) -> Any:
        if out is not None:
            check_result(self.as_buffer(out, "out"), shape, dtype, writable=True)
            return out
        return self.empty(shape, dtype)

    def copy_from_host(self, array: np.ndarray[Any, Any]) -> Any:
        result = self.empty(array.shape, native_dtype(array.dtype, "array"))
        result.copy_from_host(np.asarray(array, result.dtype), self.stream)
        return result

    def copy_to_host(self, array: Any) -> np.ndarray[Any, Any]:
        return self.begin_copy_to_host(array)()

    def begin_copy_to_host(self, array: Any) -> Callable[[], np.ndarray[Any, Any]]:
        wait = array.begin_copy_to_host(self.stream)
        return lambda: wait().reshape(array.shape)


class BufferDeviceArrays(DeviceArrays):
    """The DeviceArrays of such a device."""

    def __init__(self, device_type: DeviceType, arrays: type[BufferArrays]) -> None:
        """arrays: the class of the Arrays of one call."""
        self._device_type, self._arrays = device_type, arrays
        self._made: dict[int, BufferArrays] = {}

    def recognises(self, value: Any) -> bool:
        return isinstance(value, self._arrays.array_class)

    def index_of(self, value: Any) -> int:
        index: int = value.device.device_index()
        return index

    def on(self, device_index: int) -> BufferArrays:
        made = self._made.get(device_index)  # one for each device: its stream keeps operators in order
        if made is None:
            device = DeviceManagerRegistry.GetDevice(self._device_type, device_index)
            made = self._made.setdefault(device_index, self._arrays(device))
        return made
