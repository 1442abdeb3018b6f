"""Operators on arrays in host memory."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any, Final

import numpy as np

from ep.common.arrays.checks import DTYPES, check_distinct, check_result, native_dtype
from ep.common.arrays.dlpack import bfloat16_from_dlpack
from ep.common.arrays.host_indices import RESOLVERS
from ep.common.arrays.host_views import gains, to_c_order, write_view
from ep.common.buffer_checks import check_plain, is_masked_array
from ep.common.lazy import lazy
from ep.include.arrays import ArrayLike, Arrays, DeviceArrays
from ep.include.device_manager_registry import DeviceManagerRegistry
from ep.include.device_type import DeviceType
from ep.include.errors import ArgumentTypeError, ArgumentValueError
from ep.include.shown import shown
from ep.include.stream import Stream

NDArray = np.ndarray[Any, Any]
_LINE: Final = 64  # bytes
_OF_NUMPY: Final = (np.ndarray, np.generic, list, tuple)


class HostArrays(Arrays):
    """The arrays of a device in host memory. Operands are anything that NumPy or DLPack can read, results are ndarrays.

    It is the base class of the CPU's arrays, and of those of devices with another type of array in host memory.
    """

    takes_host_arrays = has_views = True

    def __init__(self, device_type: DeviceType, place: str) -> None:
        """place: the place of the arrays, in words for users."""
        self.device_type, self.place = device_type, place

    @lazy
    def stream(self) -> Stream:
        return DeviceManagerRegistry.GetDevice(self.device_type).CreateStream()

    def as_buffer(self, value: ArrayLike, argument: str) -> NDArray:
        array = value if type(value) is np.ndarray else _imported(value, argument)
        if array.dtype in DTYPES and array.flags.c_contiguous:
            return array
        dtype = native_dtype(array.dtype, argument)
        # the stream is created only if it is needed
        return to_c_order(self.stream, array, dtype) if gains(array) else np.asarray(array, dtype, order="C")

    def as_buffers(self, values: Sequence[ArrayLike], argument: str) -> list[NDArray]:
        dtype = self.as_buffer(values[0], f"{argument}[0]").dtype if values else None
        return [
            # most arrays are like the first one; a call for each would take longer than copying a small one
            value
            if type(value) is np.ndarray and value.dtype is dtype and value.flags.c_contiguous
            else self.as_buffer(value, f"{argument}[{position}]")
            for position, value in enumerate(values)
        ]

    def number(self, number: NDArray) -> NDArray:
        return number

    def resolved(self, indices: NDArray, size: int, mode: str) -> NDArray:
        return RESOLVERS[mode](indices, size)

    empty: Any = staticmethod(np.empty)  # not wrapped in a Python function, since every call comes here

    def within(self, memory: NDArray, offset: int, shape: Sequence[int], dtype: np.dtype[Any]) -> NDArray:
        begin = -memory.__array_interface__["data"][0] % _LINE
        return np.ndarray(shape, dtype, memory, begin + offset)

    def destination(self, shape: Sequence[int], dtype: np.dtype[Any], out: NDArray | None) -> NDArray:
        if out is None:
            return np.empty(shape, dtype)
        if type(out) is not np.ndarray:
            if not isinstance(out, np.ndarray):
                raise ArgumentTypeError("out", f"must be a numpy.ndarray, not {type(out).__qualname__}")
            check_plain(out, "out")
        check_result(out, shape, dtype, writable=out.flags.writeable)
        if out.flags.c_contiguous:
            return out
        check_distinct(out.shape, out.strides, out.itemsize)
        return np.empty(shape, dtype)

    def delivered(self, result: NDArray, out: NDArray | None) -> NDArray:
        if out is None or out is result:
            return result
        if gains(out):
            write_view(self.stream, result, out)
        else:
            out[...] = result
        return out

    def as_view(self, value: ArrayLike, argument: str) -> NDArray:
        if type(value) is np.ndarray and value.dtype in DTYPES and _steps_evenly(value):
            return value
        return self.as_buffer(value, argument)

    def target(self, shape: Sequence[int], dtype: np.dtype[Any], out: NDArray) -> NDArray:
        self.destination(shape, dtype, out)
        return out if type(out) is np.ndarray else np.asarray(out)

    def view(
        self,
        array: NDArray,
        places: tuple[slice | int, ...] | None,
        axes: Sequence[int | None] | None,
        shape: Sequence[int] | None,
    ) -> NDArray:
        if places is not None:
            if len(places) != array.ndim:
                raise ValueError(f"places has {len(places)} entries, expected {array.ndim}, one for each axis")
            array = array[(*places, ...)]  # without dots, a number is copied
        if axes is not None:
            old = [axis for axis in axes if axis is not None]
            array = array.transpose(old)
            if len(old) < len(axes):
                array = array[tuple(None if axis is None else slice(None) for axis in axes)]
        return array if shape is None else np.broadcast_to(array, shape)

    may_share_memory: Any = staticmethod(np.may_share_memory)

    def is_same(self, one: NDArray, other: NDArray) -> bool:
        places = [each.__array_interface__["data"][0] for each in (one, other)]
        layouts = [(each.shape, each.strides, each.dtype) for each in (one, other)]
        return places[0] == places[1] and layouts[0] == layouts[1]

    def copy_from_host(self, array: NDArray) -> NDArray:
        memory = np.empty(array.nbytes + _LINE, np.uint8)
        begin = (
            -memory.__array_interface__["data"][0] % _LINE
        )  # if an array begins at a cache line, each of its vectors is in one line
        copy: NDArray = memory[begin : begin + array.nbytes].view(array.dtype).reshape(array.shape)
        copy[...] = array
        return copy

    def copy_to_host(self, array: NDArray) -> NDArray:
        return array.copy()


def _steps_evenly(array: NDArray) -> bool:
    """Return whether the strides are multiples of the element size. Those of a field of a record may not be."""
    return array.flags.c_contiguous or all(stride % array.itemsize == 0 for stride in array.strides)


def _imported(value: ArrayLike, argument: str) -> NDArray:
    _check_plain(value, argument)
    if isinstance(value, np.ndarray) or not hasattr(value, "__dlpack__"):
        try:
            return np.asarray(value)
        except ValueError as error:
            if not isinstance(value, list | tuple):
                raise  # by a method of the value
            raise ArgumentValueError(argument, f"is {shown(value)}; all its parts must have one shape") from error
    try:
        return np.from_dlpack(value)
    except Exception as error:  # each library has its own error for arrays that it does not export
        with suppress(Exception):
            return bfloat16_from_dlpack(value)
        raise ArgumentTypeError(
            argument, f"({type(value).__qualname__}) cannot be read through DLPack: {error}"
        ) from error


def _check_plain(value: ArrayLike, argument: str) -> None:
    """Do the same as `check_plain`, also for the arrays in a list."""
    if isinstance(value, list | tuple):
        for one in value:
            if isinstance(one, list | tuple) or is_masked_array(one):
                _check_plain(one, argument)
    else:
        check_plain(value, argument)


class NumpyArrays(DeviceArrays):
    """The arrays of the host: NumPy's, and anything that NumPy makes an array of."""

    def __init__(self, arrays: HostArrays) -> None:
        """arrays: those of the one device that works on them."""
        self._arrays = arrays

    def recognises(self, value: Any) -> bool:
        return isinstance(value, _OF_NUMPY)

    def index_of(self, value: Any) -> int:
        return 0

    def on(self, device_index: int) -> HostArrays:
        return self._arrays
