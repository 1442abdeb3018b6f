"""Operators on ndarrays."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from typing import Any

import numpy as np

from ep.common.buffer_checks import check_plain
from ep.common.lazy import lazy
from ep.include.device_manager_registry import DeviceManagerRegistry
from ep.include.device_type import DeviceType
from ep.include.stream import Stream
from ep.ops.arrays import DTYPES, ArrayLike, Arrays, check_result, native_dtype
from ep.ops.cpu.indices import RESOLVERS
from ep.ops.dlpack import bfloat16_from_dlpack

NDArray = np.ndarray[Any, Any]


@cache
def default_stream() -> Stream:
    """The stream that operators launch on."""
    return DeviceManagerRegistry.GetDevice(DeviceType.kCPU).CreateStream()


class CpuArrays(Arrays):
    """Operands are whatever NumPy makes an array of and what exports DLPack from host memory, results are ndarrays."""

    device_type = DeviceType.kCPU
    place = "the host"

    @lazy
    def stream(self) -> Stream:
        return default_stream()

    def as_buffer(self, value: ArrayLike, argument: str) -> NDArray:
        array = value if type(value) is np.ndarray else _imported(value, argument)
        if array.dtype in DTYPES and array.flags.c_contiguous:
            return array
        return np.asarray(array, native_dtype(array.dtype, argument), order="C")

    def number(self, number: NDArray) -> NDArray:
        return number

    def indices(self, value: ArrayLike) -> NDArray:
        array = self.as_buffer(value, "indices")
        # a list without numbers in it, of which NumPy makes float64
        return array.astype(np.int64) if array.size == 0 and isinstance(value, list | tuple) else array

    def resolved(self, indices: NDArray, size: int, mode: str) -> NDArray:
        return RESOLVERS[mode](indices, size)

    def destination(self, shape: Sequence[int], dtype: np.dtype[Any], out: NDArray | None) -> NDArray:
        if out is None:
            return np.empty(shape, dtype)
        if type(out) is not np.ndarray:
            if not isinstance(out, np.ndarray):
                raise TypeError(f"out must be a numpy.ndarray, not {type(out).__qualname__}")
            check_plain(out, "out")
        check_result(out, shape, dtype, writable=out.flags.writeable)
        return out if out.flags.c_contiguous else np.empty(shape, dtype)

    def delivered(self, result: NDArray, out: NDArray | None) -> NDArray:
        if out is None or out is result:
            return result
        out[...] = result
        return out

    def copy_from_host(self, array: NDArray) -> NDArray:
        return array.copy()

    def copy_to_host(self, array: NDArray) -> NDArray:
        return array.copy()


def _imported(value: ArrayLike, argument: str) -> NDArray:
    _check_plain(value, argument)
    if isinstance(value, np.ndarray) or not hasattr(value, "__dlpack__"):
        return np.asarray(value)
    try:
        return np.from_dlpack(value)
    except Exception as error:  # each library has its own for what it does not export
        with suppress(Exception):
            return bfloat16_from_dlpack(value)
        raise TypeError(f"{argument} ({type(value).__qualname__}) cannot be read through DLPack: {error}") from error


def _check_plain(value: ArrayLike, argument: str) -> None:
    """As `check_plain`, also of the arrays in a list."""
    if isinstance(value, list | tuple):
        for one in value:
            if isinstance(one, list | tuple | np.ma.MaskedArray):
                _check_plain(one, argument)
    else:
        check_plain(value, argument)
