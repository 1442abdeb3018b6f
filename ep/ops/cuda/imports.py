"""Operands on CUDA, read through what their libraries offer: DLPack, or else the CUDA array interface."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ep.common.buffer_checks import check_plain
from ep.common.primitive.strides import contiguous_strides
from ep.cuda.buffer import CudaBuffer
from ep.cuda.driver import LEGACY_STREAM, driver
from ep.cuda.stream import CudaStream
from ep.include.data_type import DataType
from ep.ops import dlpack
from ep.ops.arrays import native_dtype
from ep.ops.cuda.array import CudaArray
from ep.ops.cuda.streams import current_stream_of

_UNNAMED = np.dtype("V2")


class Imported(NamedTuple):
    """An array of any library on a CUDA device.

    strides: in elements; None where it is C-contiguous.
    before: the handle of the stream that has to be waited for, None where there is nothing to wait for.
    after: the handle of the stream that is to wait for our work, None where there is no such stream.
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


def device_of(value: Any) -> int:
    """The number of the device that an array on CUDA is on."""
    if isinstance(value, CudaArray | CudaBuffer):
        return value.device_index
    if hasattr(value, "__dlpack_device__"):
        return int(value.__dlpack_device__()[1])
    return _device_at(value.__cuda_array_interface__["data"][0])


def imported(value: Any, argument: str, stream: CudaStream) -> Imported:
    """Return what an array on CUDA is; what is queued on `stream` from now on waits for whoever writes it.

    Raises TypeError for what is no array on the stream's device and for a dtype that is no DataType, ValueError for
    strides that are negative or no whole numbers of elements, and what `check_plain` raises.
    """
    read = _reader_of(value)
    if read is None:
        raise TypeError(
            f"{argument} must be an array on cuda:{stream.device_index}, not {type(value).__qualname__}"
            f"{f' on {value.device}' if hasattr(value, 'device') else ''}; ep.ops.copy_to_device brings one there"
        )
    check_plain(value, argument)
    array = read(value, argument, stream)
    if native_dtype(array.dtype, argument) != array.dtype:
        raise TypeError(f"{argument} has dtype {array.dtype}, which is in the byte order of another machine")
    if array.device != stream.device_index and 0 not in array.shape:
        raise TypeError(f"{argument} is on cuda:{array.device}, not on cuda:{stream.device_index}")
    strides = array.strides
    if strides is not None and _is_contiguous(array.shape, strides):
        array = array._replace(strides=None)
    elif strides is not None and min(strides) < 0:
        raise ValueError(f"{argument} has negative strides {strides}; make it contiguous first")
    if array.before is not None:
        stream.wait_for(array.before)
    return array


def _reader_of(value: Any) -> Callable[[Any, str, CudaStream], Imported] | None:
    if isinstance(value, CudaArray):
        return _from_array
    if isinstance(value, CudaBuffer):
        return _from_buffer
    if type(value).__qualname__ == "FakeCUDAArray":  # says of itself what its ndarray says
        return _from_simulator
    if hasattr(value, "__dlpack_device__"):  # DLPack has more libraries' bfloat16, and leaves waiting to the exporter
        return _from_dlpack if value.__dlpack_device__()[0] in (dlpack.CUDA, dlpack.CUDA_MANAGED) else None
    return _from_interface if hasattr(value, "__cuda_array_interface__") else None


def _from_array(value: CudaArray, argument: str, stream: CudaStream) -> Imported:
    address, _, dtype, writable, _, device, producer = value.memory
    return Imported(address, value.shape, None, dtype, writable, device, producer, None, value)


def _from_buffer(value: CudaBuffer, argument: str, stream: CudaStream) -> Imported:
    address, _, dtype, writable, _, device, _ = value.live_memory(argument)
    # any stream of ep may work on it; the legacy default stream waits for them all, and they for it
    return Imported(address, value.shape, None, dtype, writable, device, LEGACY_STREAM, LEGACY_STREAM, value)


def _from_dlpack(value: Any, argument: str, stream: CudaStream) -> Imported:
    try:
        tensor = dlpack.read(value, stream=stream.handle)  # the exporter lets our stream wait for its own
    except Exception as error:  # each library has its own for what it does not export
        raise TypeError(f"{argument} ({type(value).__qualname__}) cannot be read through DLPack: {error}") from error
    if tensor.dtype is None:
        raise TypeError(f"{argument} ({type(value).__qualname__}) has elements of a type that is no DataType")
    return Imported(
        address=tensor.address,
        shape=tensor.shape,
        strides=tensor.strides,
        dtype=tensor.dtype,
        writable=not tensor.read_only,
        device=tensor.device_id,
        before=None,
        after=_needs_waiting(current_stream_of(value, tensor.device_id)),
        owner=tensor.owner,
    )


def _from_interface(value: Any, argument: str, stream: CudaStream) -> Imported:
    interface = value.__cuda_array_interface__
    address, read_only = interface["data"]
    dtype = np.dtype(interface["typestr"])
    if dtype == _UNNAMED:  # the one data type that the interface cannot name
        dtype = DataType.kBFloat16.dtype
    strides, producer = interface.get("strides"), interface.get("stream")
    return Imported(
        address=address or 0,
        shape=tuple(interface["shape"]),
        strides=None if strides is None else _in_elements(strides, dtype, argument),
        dtype=dtype,
        writable=not read_only,
        device=_device_at(address),
        before=producer,
        after=_needs_waiting(producer),
        owner=value,
    )


def _from_simulator(value: Any, argument: str, stream: CudaStream) -> Imported:
    host = value._ary
    strides = _in_elements(host.strides, host.dtype, argument)
    return Imported(host.ctypes.data, host.shape, strides, host.dtype, host.flags.writeable, 0, None, None, value)


def _device_at(address: int | None) -> int:
    return (driver().device_of(address) if address else None) or 0


def _needs_waiting(stream: int | None) -> int | None:
    """The stream, if it does not wait for ours of itself, as the legacy default stream does."""
    return None if stream is None or stream <= LEGACY_STREAM else stream


def _in_elements(strides: tuple[int, ...], dtype: np.dtype[Any], argument: str) -> tuple[int, ...]:
    if any(stride % dtype.itemsize for stride in strides):
        raise ValueError(f"{argument} has strides of {strides} bytes, which are no whole numbers of {dtype} elements")
    return tuple(stride // dtype.itemsize for stride in strides)


def _is_contiguous(shape: tuple[int, ...], strides: tuple[int, ...]) -> bool:
    steps = zip(shape, strides, contiguous_strides(shape), strict=True)
    return 0 in shape or all(size == 1 or stride == step for size, stride, step in steps)
