"""The arrays of the device that operators run on: what they are given as buffers, and buffers for results.

Everything an operator needs to know of a device is here; the operators themselves know only buffers and shapes.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from typing import Any, Final

import numpy as np

from ep.include.data_type import DataType
from ep.include.device_manager_registry import DeviceManagerRegistry
from ep.include.device_type import DeviceType
from ep.include.stream import Stream
from ep.ops.dlpack import bfloat16_from_dlpack

Array = np.ndarray[Any, Any]
ArrayLike = Any
"""What NumPy makes an array of, and what exports DLPack from host memory."""

DEVICE_TYPE: Final = DeviceType.kCPU
_DTYPES: Final = frozenset(data_type.dtype for data_type in DataType)


@cache
def default_stream() -> Stream:
    """The stream that operators launch on."""
    return DeviceManagerRegistry.GetDevice(DEVICE_TYPE).CreateStream()


def as_buffer(value: ArrayLike, argument: str) -> Array:
    """Return the array that `value` is, C-contiguous and in native byte order; a copy only where it was not.

    Raises TypeError for a dtype that is no DataType and for what NumPy cannot read.
    """
    array = value if type(value) is np.ndarray else _imported(value, argument)
    if array.dtype in _DTYPES and array.flags.c_contiguous:
        return array
    native = array.dtype.newbyteorder("=")
    if native not in _DTYPES:
        names = ", ".join(sorted(dtype.name for dtype in _DTYPES))
        raise TypeError(f"{argument} has dtype {array.dtype}; it must be one of {names}")
    return np.asarray(array, native, order="C")


def destination(shape: Sequence[int], dtype: np.dtype[Any], out: Array | None) -> Array:
    """Return the buffer for a result: `out` itself where Launch can write it, else a new one (see `delivered`).

    Raises TypeError where `out` is no ndarray or has another dtype, ValueError where it has another shape or is
    read-only.
    """
    if out is None:
        return np.empty(shape, dtype)
    if not isinstance(out, np.ndarray):
        raise TypeError(f"out must be a numpy.ndarray, not {type(out).__qualname__}")
    if out.dtype != dtype:
        raise TypeError(f"out has dtype {out.dtype}; the result has {dtype}")
    if out.shape != tuple(shape):
        raise ValueError(f"out has shape {out.shape}; the result has {tuple(shape)}")
    if not out.flags.writeable:
        raise ValueError("out is read-only")
    return out if out.flags.c_contiguous else np.empty(shape, dtype)


def delivered(result: Array, out: Array | None) -> Array:
    """Return the result where the caller wants it: in `out`, if that was given."""
    if out is None or out is result:
        return result
    out[...] = result
    return out


def _imported(value: ArrayLike, argument: str) -> Array:
    if isinstance(value, np.ndarray) or not hasattr(value, "__dlpack__"):
        return np.asarray(value)
    try:
        return np.from_dlpack(value)
    except Exception as error:  # each library has its own for what it does not export
        with suppress(Exception):
            return bfloat16_from_dlpack(value)
        raise TypeError(f"{argument} ({type(value).__qualname__}) cannot be read through DLPack: {error}") from error
