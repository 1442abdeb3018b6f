"""The objects that a launch accepts as buffers: arrays of any library on a CUDA device.

Frequent types have an adapter, which reads only what a launch needs; `arrays/reader.py` reads all others.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from operator import attrgetter
from typing import Any, Final

import numpy as np

from ep.common.buffer_checks import check_bytes, check_dtype, check_no_objects, check_plain, check_size
from ep.common.host_buffers import read_buffer
from ep.common.primitive.signature import Reader
from ep.cuda.arrays.array import CudaArray
from ep.cuda.arrays.reader import dtype_of_interface, is_contiguous, read
from ep.cuda.device.buffer import CudaBuffer, Memory
from ep.cuda.device.stream import CudaStream
from ep.cuda.device.stream import check_stream as check_stream
from ep.cuda.driver.current import driver
from ep.cuda.launch.known import ArrayTypes
from ep.cuda.launch.recording import LaunchRecording
from ep.include.data_type import DataType
from ep.include.errors import ArgumentTypeError, ArgumentValueError

ForeignMemory = tuple[int, int, "np.dtype[Any]", bool, bool, "int | None", "int | None"]
"""A Memory whose device may be None: CUDA is asked for it."""

Adapter = Callable[[Any], "Memory | ForeignMemory | None"]
"""Reads one type of array; None for one that is not on a CUDA device (or no longer), or that `check_plain` refuses."""


def as_address(
    buffer: Any,
    argument: str,
    data_type: DataType | None,
    num_elements: int,
    stream: CudaStream,
    *,
    writable: bool = False,
) -> int:
    """Return the address of `buffer`, after making `stream` wait for the work that writes it.

    data_type: None for any type; num_elements: the required number of elements, or of bytes if the type is None.
    Raises TypeError for anything but an array on a CUDA device and for another dtype, ValueError for memory that is on
    another device than the stream, not aligned, not C-contiguous, read-only (if it is written) or too small.
    """
    adapter = ADAPTERS.get(type(buffer)) or _adapter_of(buffer)
    memory = adapter(buffer) if adapter else _read(buffer, argument, stream)
    if memory is None:
        if isinstance(buffer, CudaBuffer):
            buffer.live_memory(argument)
        check_plain(buffer, argument)
        raise _not_on_cuda(buffer, argument)
    address, count, dtype, may_write, contiguous, device, producer = memory
    if data_type is None:
        check_no_objects(argument, dtype)
        check_bytes(argument, count * dtype.itemsize, num_elements)
    else:
        if dtype is not data_type.dtype:
            check_dtype(argument, dtype, data_type)
        if count < num_elements:
            check_size(argument, count, num_elements)
        if address % data_type.dtype.alignment:
            raise ArgumentValueError(
                argument, f"is at {address:#x}, which is not a multiple of {data_type.dtype.alignment} bytes"
            )
    if not contiguous:
        raise ArgumentValueError(argument, "is not C-contiguous")
    if writable and not may_write:
        raise ArgumentValueError(argument, "is read-only")
    if device is None and count:
        device = driver().device_of(address)
        if device is None:
            raise _not_on_cuda(buffer, argument)
    if device != stream.device_index and count:
        raise ArgumentValueError(argument, f"is on cuda:{device}; the stream is one of cuda:{stream.device_index}")
    if producer is not None and producer != stream.order:
        if type(buffer) is CudaArray:
            buffer.share()
        stream.wait_for(producer)
    return address


def reader(stream: CudaStream) -> Reader:
    """Return the reader of a signature for buffers of a launch on `stream`; the launch receives addresses."""

    order, device_index = stream.order, stream.device_index

    def read_address(buffer: Any, argument: str, data_type: Any, num_elements: int, written: bool) -> tuple[int, int]:
        memory = buffer.memory if type(buffer) is CudaArray else None
        if memory is not None and data_type is not None:  # a result of an operator: aligned, and no wait is necessary
            address, count, dtype, may_write, contiguous, device, producer = memory
            if (
                producer == order
                and device == device_index
                and dtype is data_type.dtype
                and count >= num_elements
                and contiguous
                and (may_write or not written)
            ):
                return address, address
        address = as_address(buffer, argument, data_type, num_elements, stream, writable=written)
        return address, address

    return stream.traced(read_address) if type(stream) is LaunchRecording else read_address


def reader_of_sides(stream: CudaStream, on_host: Mapping[str, bool]) -> Reader:
    """Return the reader for buffers that may also be in host memory; the launch receives the address and where it is.

    on_host: for arguments that must be on one side, whether this is the host.
    """

    def read_side(
        buffer: Any, argument: str, data_type: DataType | None, num_bytes: int, written: bool
    ) -> tuple[tuple[int, bool], int]:
        if host := on_host.get(argument, isinstance(buffer, np.ndarray)):
            _, address = read_buffer(buffer, argument, data_type, num_bytes, written)
        else:
            address = as_address(buffer, argument, data_type, num_bytes, stream, writable=written)
        return (address, host), address

    return read_side


ADAPTERS: Final[dict[type[Any], Adapter]] = {CudaBuffer: attrgetter("memory"), CudaArray: attrgetter("memory")}
"""The adapters of the array types used so far."""

ARRAY_TYPES: Final = ArrayTypes(CudaBuffer, CudaArray, ADAPTERS)


def _adapter_of(buffer: Any) -> Adapter | None:
    """Return the adapter for arrays of this type, and cache it; None if there is none."""
    kind = type(buffer)
    library, name = kind.__module__.partition(".")[0], kind.__qualname__
    adapter = _torch_tensor if library == "torch" and hasattr(buffer, "data_ptr") else _ARRAYS.get((library, name))
    if adapter is None and _has_only_interface(buffer):
        adapter = _array_of_interface
    if adapter is not None:
        ADAPTERS[kind] = adapter
    return adapter


def _read(buffer: Any, argument: str, stream: CudaStream) -> Memory | None:
    """Return the result of the reader of foreign arrays; None for anything but an array on a CUDA device."""
    view = read(buffer, argument, stream)
    return view.memory() if view else None


def _not_on_cuda(buffer: Any, argument: str) -> ArgumentTypeError:
    name = type(buffer).__qualname__
    return ArgumentTypeError(argument, f"must be an array on a CUDA device, not {name}{_hint(buffer)}")


def _hint(buffer: Any) -> str:
    """Return the reason, for an error, why an array is not on a CUDA device."""
    if isinstance(buffer, np.ndarray):
        return ", which lies in host memory; copy_from_host of a buffer from Alloc brings it to the device"
    return f" on {buffer.device}; copy it to the device first" if hasattr(buffer, "data_ptr") else ""


_TORCH_DTYPES: Final[dict[Any, np.dtype[Any]]] = {}


def _torch_tensor(tensor: Any) -> Memory | None:
    # its interface takes several times as long, and refuses tensors that require a gradient; ordering is the caller's,
    # as everywhere in PyTorch: launch on `CudaStream.from_handle(torch.cuda.current_stream().cuda_stream)`
    device = tensor.get_device()
    if device < 0 or tensor.is_conj() or tensor.is_neg():
        return None
    dtype = _TORCH_DTYPES.get(tensor.dtype)
    if dtype is None:
        dtype = _TORCH_DTYPES[tensor.dtype] = _torch_dtype(tensor.dtype)
    return tensor.data_ptr(), tensor.numel(), dtype, True, tensor.is_contiguous(), device, None


def _torch_dtype(dtype: Any) -> np.dtype[Any]:
    name = str(dtype).removeprefix("torch.")
    try:
        return DataType.kBFloat16.dtype if name == "bfloat16" else np.dtype(name)
    except TypeError:  # such as float8, which no primitive supports
        return np.dtype(np.void)


def _cupy_array(array: Any) -> Memory:
    from cupy.cuda import get_current_stream

    data = array.data
    stream = get_current_stream(data.device_id).ptr
    return data.ptr, array.size, array.dtype, True, array.flags.c_contiguous, data.device_id, stream


def _numba_array(array: Any) -> Memory:
    address, device = array.device_ctypes_pointer.value or 0, array.gpu_data.context.device.id
    producer = int(array.stream) or None
    return address, array.size, array.dtype, True, array.is_c_contiguous(), device, producer


_OTHER_FORMS: Final = "__dlpack_device__", "is_conj", "is_neg", "mask", "_mask"


def _has_only_interface(array: Any) -> bool:
    """Return whether an array is read by its CUDA array interface, and nothing else needs a look at it."""
    return hasattr(array, "__cuda_array_interface__") and not any(hasattr(array, one) for one in _OTHER_FORMS)


def _array_of_interface(array: Any) -> ForeignMemory | None:
    interface = array.__cuda_array_interface__
    get = interface.get
    if get("mask") is not None:
        return None
    (address, read_only), shape, dtype = interface["data"], interface["shape"], dtype_of_interface(interface["typestr"])
    contiguous = (strides := get("strides")) is None or is_contiguous(shape, strides, dtype.itemsize)
    return address or 0, math.prod(shape), dtype, not read_only, contiguous, None, get("stream")


_ARRAYS: Final[dict[tuple[str, str], Adapter]] = {
    ("numba", "DeviceNDArray"): _numba_array,
    ("cupy", "ndarray"): _cupy_array,
}
"""The adapters of types, which are identified by the names of their library and of the type, without an import."""
