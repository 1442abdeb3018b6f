"""The reader of arrays of any library on a CUDA device, through DLPack or else the CUDA array interface."""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from typing import Any, Final, NamedTuple

import numpy as np

from ep.common.arrays import dlpack
from ep.common.buffer_checks import check_plain
from ep.common.primitive.strides import contiguous_strides
from ep.cuda.arrays.array import DLPACK_CUDA, CudaArray
from ep.cuda.arrays.streams import current_stream_of
from ep.cuda.device.buffer import CudaBuffer, Memory
from ep.cuda.device.stream import CudaStream
from ep.cuda.driver.current import driver
from ep.cuda.driver.interface import LEGACY_STREAM
from ep.include.data_type import DataType
from ep.include.errors import ArgumentTypeError, ArgumentValueError

_ON_CUDA: Final = (DLPACK_CUDA, 13)  # kDLCUDA, kDLCUDAManaged
_UNNAMED: Final = np.dtype("V2")


class ForeignArray(NamedTuple):
    """An array of any library on a CUDA device.

    strides: in elements; None if it is C-contiguous.
    before: the handle of the stream to wait for, None if no wait is necessary.
    after: the handle of the stream that must wait for work on the array, None if there is no such stream.
    owner: what keeps the memory allocated.
    """

    address: int
    shape: tuple[int, ...]
    strides: tuple[int, ...] | None
    dtype: np.dtype[Any]
    writable: bool
    device: int
    before: int | None
    after: int | None
    owner: Any

    def memory(self) -> Memory:
        """Return the part that a launch needs."""
        size = math.prod(self.shape)
        return self.address, size, self.dtype, self.writable, self.strides is None, self.device, self.before

    def reshape(self, shape: Sequence[int]) -> ForeignArray:
        """Return the same elements in a shape that differs in axes of size 1."""
        steps = iter([step for size, step in zip(self.shape, self.strides or (), strict=False) if size != 1])
        strides = self.strides and tuple(0 if size == 1 else next(steps) for size in shape)
        return self._replace(shape=tuple(shape), strides=strides)


def is_on_cuda(value: Any) -> bool:
    """Return whether a value is an array on a CUDA device."""
    if isinstance(value, CudaArray | CudaBuffer | ForeignArray):
        return True
    if hasattr(value, "__dlpack_device__"):  # cheaper than the interface of some libraries, which may refuse
        with suppress(Exception):  # each library has its own for what it does not export
            return value.__dlpack_device__()[0] in _ON_CUDA
    return hasattr(value, "__cuda_array_interface__")


def device_of(value: Any) -> int:
    """Return the number of the device that an array on CUDA is on."""
    if isinstance(value, CudaArray | CudaBuffer):
        return value.device_index
    if isinstance(value, ForeignArray):
        return value.device
    if hasattr(value, "__dlpack_device__"):
        return int(value.__dlpack_device__()[1])
    address = value.__cuda_array_interface__["data"][0]
    return (driver().device_of(address) if address else None) or 0


def read(value: Any, argument: str, stream: CudaStream) -> ForeignArray | None:
    """Return the description of an array on CUDA; None for other values.

    `stream` must wait for `before`; an exporter of DLPack makes it wait itself. Raises TypeError for arrays that DLPack
    does not export, ValueError for strides that are not whole numbers of elements and for freed memory, and the errors
    of `check_plain`.
    """
    if isinstance(value, CudaArray):
        address, _, dtype, writable, _, device, producer = value.memory
        if producer != stream.order:
            value.share()
        return ForeignArray(address, value.shape, None, dtype, writable, device, producer, None, value)
    if isinstance(value, ForeignArray):
        return value
    if isinstance(value, CudaBuffer):
        address, _, dtype, writable, _, device, _ = value.live_memory(argument)
        # any stream of ep may use it; the legacy default stream and all of these wait for each other
        return ForeignArray(address, value.shape, None, dtype, writable, device, LEGACY_STREAM, LEGACY_STREAM, value)
    if not is_on_cuda(value):
        return None
    check_plain(value, argument)
    # DLPack supports bfloat16 of more libraries, and the exporter handles the waiting
    by_dlpack = hasattr(value, "__dlpack_device__")
    return _from_dlpack(value, argument, stream) if by_dlpack else _from_interface(value, argument)


def _from_dlpack(value: Any, argument: str, stream: CudaStream) -> ForeignArray:
    try:
        tensor = dlpack.read(value, stream=stream.handle)  # the exporter makes our stream wait for its own
    except Exception as error:  # each library has its own for what it does not export
        raise ArgumentTypeError(
            argument, f"({type(value).__qualname__}) cannot be read through DLPack: {error}"
        ) from error
    if tensor.dtype is None:
        raise ArgumentTypeError(argument, f"({type(value).__qualname__}) has elements of a type that is not a DataType")
    return ForeignArray(
        address=tensor.address,
        shape=tensor.shape,
        strides=None if is_contiguous(tensor.shape, tensor.strides, 1) else tensor.strides,
        dtype=tensor.dtype,
        writable=not tensor.read_only,
        device=tensor.device_id,
        before=None,
        after=_needs_waiting(current_stream_of(value, tensor.device_id)),
        owner=tensor.owner,
    )


def _from_interface(value: Any, argument: str) -> ForeignArray | None:
    """Return the contents of `__cuda_array_interface__`, version 2 or 3; None for memory that is on no device."""
    interface = value.__cuda_array_interface__
    address, read_only = interface["data"]
    shape, dtype = tuple(interface["shape"]), dtype_of_interface(interface["typestr"])
    device = 0 if 0 in shape else driver().device_of(address)
    if device is None:
        return None
    producer = interface.get("stream")
    return ForeignArray(
        address=address or 0,
        shape=shape,
        strides=_in_elements(shape, interface.get("strides"), dtype, argument),
        dtype=dtype,
        writable=not read_only,
        device=device,
        before=producer,
        after=_needs_waiting(producer),
        owner=value,
    )


@cache
def dtype_of_interface(name: str) -> np.dtype[Any]:
    """Return the dtype of elements that `__cuda_array_interface__` describes by `name`."""
    dtype = np.dtype(name)
    return DataType.kBFloat16.dtype if dtype == _UNNAMED else dtype  # the only data type without a name there


def _needs_waiting(stream: int | None) -> int | None:
    """Return the stream; None for the legacy default stream, which waits for our streams without a call."""
    return None if stream is None or stream <= LEGACY_STREAM else stream


def _in_elements(
    shape: Sequence[int], strides: tuple[int, ...] | None, dtype: np.dtype[Any], argument: str
) -> tuple[int, ...] | None:
    """Strides that are given in bytes; None if they are those of a C-contiguous array."""
    if strides is None or is_contiguous(shape, strides, dtype.itemsize):
        return None
    if any(stride % dtype.itemsize for size, stride in zip(shape, strides, strict=True) if size != 1):
        raise ArgumentValueError(
            argument, f"has strides of {strides} bytes, which are not whole numbers of {dtype} elements"
        )
    return tuple(stride // dtype.itemsize for stride in strides)


def is_contiguous(shape: Sequence[int], strides: tuple[int, ...] | None, itemsize: int) -> bool:
    """Return whether strides, in the unit of which an element has `itemsize`, are those of a C-contiguous array."""
    if strides is None or 0 in shape:
        return True
    steps = zip(shape, strides, contiguous_strides(shape), strict=True)
    return all(size == 1 or stride == step * itemsize for size, stride, step in steps)
