"""What operators ask of the arrays of a device. They know shapes, dtypes and buffers; all else is here."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from ep.include.data_type import DataType
from ep.include.device_type import DeviceType
from ep.include.stream import Stream

Array = Any
"""An array of one device, as operators return it: it has `shape`, `dtype`, `size`, and Launch takes it as a buffer."""

ArrayLike = Any
"""What is taken as an array: what NumPy makes one of, and what exports DLPack or the CUDA array interface."""


class Arrays(ABC):
    """The arrays that one call of an operator works on: those of one device.

    A device brings its own, and says with `devices.register_arrays` which operands they are for.
    """

    device_type: DeviceType
    place: str
    """Where the arrays are, in words for a user: "the host"."""

    @property
    @abstractmethod
    def stream(self) -> Stream:
        """The stream that operators launch on."""

    @abstractmethod
    def as_buffer(self, value: ArrayLike, argument: str) -> Array:
        """Return the array that `value` is, C-contiguous and in native byte order; a copy only where it was not.

        Raises TypeError for a dtype that is no DataType, for a mask and for what is no array of the device, ValueError
        for a tensor that is conjugated or negated lazily.
        """

    @abstractmethod
    def number(self, number: np.ndarray[Any, Any]) -> Any:
        """Return a number, given as an array without axes, in the form in which Launch takes one."""

    @abstractmethod
    def indices(self, value: ArrayLike) -> Array:
        """Return the indices of gather as a buffer of integers; TypeError for what is none."""

    @abstractmethod
    def resolved(self, indices: Array, size: int, mode: str) -> Array:
        """Return indices (one at least) as the primitive reads them, which gives zeros outside `0 ... size - 1`.

        mode: one of `indices.MODES`; where it forbids an index, an IndexError is raised, or else comes out of `stream`.
        """

    @abstractmethod
    def destination(self, shape: Sequence[int], dtype: np.dtype[Any], out: Array | None) -> Array:
        """Return the buffer for a result: `out` itself where Launch can write it, else a new one (see `delivered`).

        Raises TypeError where `out` is no array of the device or has another dtype, ValueError where it has another
        shape or is read-only.
        """

    @abstractmethod
    def delivered(self, result: Array, out: Array | None) -> Array:
        """Return the result where the caller wants it: in `out`, if that was given. Ends a call."""

    @abstractmethod
    def copy_from_host(self, array: np.ndarray[Any, Any]) -> Array:
        """Return a copy of an array in host memory."""

    @abstractmethod
    def copy_to_host(self, array: Array) -> np.ndarray[Any, Any]:
        """Return a copy in host memory of what `as_buffer` or an operator returned; raises errors of work before it."""


DTYPES: Final = frozenset(data_type.dtype for data_type in DataType)
"""The dtypes that arrays may have."""


def native_dtype(dtype: np.dtype[Any], argument: str) -> np.dtype[Any]:
    """Return a dtype in native byte order; TypeError where it is no DataType's."""
    if dtype in DTYPES:
        return dtype
    native = dtype.newbyteorder("=")
    if native not in DTYPES:
        names = ", ".join(sorted(known.name for known in DTYPES))
        raise TypeError(f"{argument} has dtype {dtype}; it must be one of {names}")
    return native


def check_result(out: Array, shape: Sequence[int], dtype: np.dtype[Any], *, writable: bool) -> None:
    """Raise TypeError where `out` has another dtype than the result, ValueError for another shape or if read-only."""
    if out.dtype != dtype:
        raise TypeError(f"out has dtype {out.dtype}; the result has {dtype}")
    if out.shape != tuple(shape):
        raise ValueError(f"out has shape {out.shape}; the result has {tuple(shape)}")
    if not writable:
        raise ValueError("out is read-only")
