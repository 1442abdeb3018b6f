"""Operators on a device in the host's memory whose arrays are not the CPU's: ndarrays in a class of their own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ep.common.arrays.host import HostArrays
from ep.common.arrays.operators import Operators
from ep.common.lazy import lazy
from ep.include.arrays import ArrayLike, DeviceArrays
from ep.include.device_type import DeviceType
from ep.include.errors import ArgumentTypeError

NDArray = np.ndarray[Any, Any]


class WrappedArray(Operators):
    """An array of a device in the host's memory: the operands and results of operators.

    array: its elements; primitives get this ndarray.
    """

    def __init__(self, array: NDArray, device_type: DeviceType) -> None:
        self.array, self.device_type = array, device_type

    @property
    def shape(self) -> tuple[int, ...]:
        shape: tuple[int, ...] = self.array.shape
        return shape

    @property
    def dtype(self) -> np.dtype[Any]:
        dtype: np.dtype[Any] = self.array.dtype
        return dtype

    @property
    def size(self) -> int:
        return self.array.size

    def reshape(self, *shape: Any) -> WrappedArray:
        """Return the same elements with another shape."""
        return type(self)(self.array.reshape(*shape), self.device_type)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} on {self.device_type.tag}, {self.dtype}, shape {self.shape}>"


class WrappedDeviceArrays(DeviceArrays):
    """The DeviceArrays of a device type: it recognises the `WrappedArray`s of the type."""

    def __init__(self, device_type: DeviceType) -> None:
        self._device_type = device_type

    def recognises(self, value: Any) -> bool:
        return isinstance(value, WrappedArray) and value.device_type is self._device_type

    def index_of(self, value: Any) -> int:
        return 0

    def on(self, device_index: int) -> WrappedArrays:
        return self._arrays

    @lazy
    def _arrays(self) -> WrappedArrays:
        return WrappedArrays(self._device_type)


class WrappedArrays(HostArrays):
    """The Arrays of such a device. Operators work on the ndarrays inside: primitives accept them as buffers."""

    takes_host_arrays = False

    def __init__(self, device_type: DeviceType) -> None:
        super().__init__(device_type, f"{device_type.tag}:0")

    def as_buffer(self, value: ArrayLike, argument: str) -> NDArray:
        return super().as_buffer(value.array if isinstance(value, WrappedArray) else value, argument)

    def destination(self, shape: Sequence[int], dtype: np.dtype[Any], out: Any | None) -> NDArray:
        if out is not None and not isinstance(out, WrappedArray):
            raise ArgumentTypeError("out", f"must be a WrappedArray, not {type(out).__qualname__}")
        return super().destination(shape, dtype, None if out is None else out.array)

    def target(self, shape: Sequence[int], dtype: np.dtype[Any], out: Any) -> NDArray:
        self.destination(shape, dtype, out)
        array: NDArray = out.array
        return array

    def delivered(self, result: NDArray, out: Any | None) -> Any:
        if out is None:
            return WrappedArray(result, self.device_type)
        super().delivered(result, out.array)
        return out

    def copy_from_host(self, array: NDArray) -> Any:
        return WrappedArray(array.copy(), self.device_type)

    def copy_to_host(self, array: Any) -> NDArray:
        return self.as_buffer(array, "array").copy()
