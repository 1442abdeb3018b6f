"""What a launch takes as a buffer: arrays of any library on a CUDA device, read by one adapter for each type."""

from __future__ import annotations

import math
from collections.abc import Callable
from operator import attrgetter
from typing import Any, Final

import numpy as np

from ep.common.buffer_checks import check_dtype, check_plain, check_size
from ep.cuda.buffer import CudaBuffer, Memory
from ep.cuda.driver import driver
from ep.cuda.stream import CudaStream
from ep.cuda.stream import check_stream as check_stream
from ep.include.data_type import DataType

Adapter = Callable[[Any], "Memory | None"]
"""Reads one type of array; None for one that is not on a CUDA device (or no longer), or that `check_plain` refuses."""


def as_address(
    buffer: Any,
    argument: str,
    data_type: DataType,
    num_elements: int,
    stream: CudaStream,
    *,
    writable: bool = False,
) -> int:
    """Return the address of `buffer`, once `stream` waits for whoever writes it.

    num_elements: how many elements are needed at least.
    Raises TypeError for what is no array on a CUDA device and for another dtype, ValueError for memory that is on
    another device than the stream, not aligned, not C-contiguous, read-only (where it is to be written) or too small.
    """
    adapter = ADAPTERS.get(type(buffer)) or _adapter_of(buffer)
    memory = adapter(buffer) if adapter else None
    if memory is None:
        if isinstance(buffer, CudaBuffer):
            buffer.live_memory(argument)
        check_plain(buffer, argument)
        raise TypeError(f"{argument} must be an array on a CUDA device, not {type(buffer).__qualname__}{_hint(buffer)}")
    address, count, dtype, may_write, contiguous, device, producer = memory
    if dtype is not data_type.dtype:
        check_dtype(argument, dtype, data_type)
    if not contiguous:
        raise ValueError(f"{argument} is not C-contiguous")
    if writable and not may_write:
        raise ValueError(f"{argument} is read-only")
    if count < num_elements:
        check_size(argument, count, num_elements)
    if address % data_type.dtype.alignment:
        raise ValueError(f"{argument} is at {address:#x}, which is no multiple of {data_type.dtype.alignment} bytes")
    if device != stream.device_index and count:
        raise ValueError(f"{argument} is on cuda:{device}; the stream is one of cuda:{stream.device_index}")
    if producer is not None:
        stream.wait_for(producer)
    return address


ADAPTERS: Final[dict[type[Any], Adapter]] = {CudaBuffer: attrgetter("memory")}
"""For each type of array that has been met, what reads it."""


def _adapter_of(buffer: Any) -> Adapter | None:
    """The adapter for arrays of this type, kept for the next; None for what is no array."""
    kind = type(buffer)
    library, name = kind.__module__.partition(".")[0], kind.__qualname__
    if library == "torch" and hasattr(buffer, "data_ptr"):
        adapter: Adapter = _torch_tensor
    elif (library, name) in _ARRAYS:
        adapter = _ARRAYS[library, name]
    elif hasattr(buffer, "__cuda_array_interface__"):
        adapter = interface_of
    else:
        return None
    ADAPTERS[kind] = adapter
    return adapter


def _hint(buffer: Any) -> str:
    """What is wrong with an array that is on no CUDA device, for an error."""
    if isinstance(buffer, np.ndarray):
        return ", which lies in host memory; copy_from_host of a buffer from Alloc brings it to the device"
    return f" on {buffer.device}; copy it to the device first" if hasattr(buffer, "data_ptr") else ""


def interface_of(array: Any) -> Memory | None:
    """What `__cuda_array_interface__`, version 2 or 3, says."""
    interface = array.__cuda_array_interface__
    if interface.get("mask") is not None:
        return None
    address, read_only = interface["data"]
    shape, dtype = interface["shape"], np.dtype(interface["typestr"])
    count = math.prod(shape)
    device = driver().device_of(address) if count else 0
    if device is None:
        return None
    contiguous = _is_contiguous(shape, interface.get("strides"), dtype.itemsize)
    return address or 0, count, dtype, not read_only, contiguous, device, interface.get("stream")


def _is_contiguous(shape: tuple[int, ...], strides: tuple[int, ...] | None, itemsize: int) -> bool:
    if strides is None or 0 in shape:
        return True
    step = itemsize
    for size, stride in zip(reversed(shape), reversed(strides), strict=True):
        if size != 1 and stride != step:
            return False
        step *= size
    return True


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
    except TypeError:  # such as float8, which no primitive takes
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


def _simulated_array(array: Any) -> Memory:
    host = array._ary  # the simulator's arrays have no interface
    return host.ctypes.data, host.size, host.dtype, host.flags.writeable, host.flags.c_contiguous, 0, None


_ARRAYS: Final[dict[tuple[str, str], Adapter]] = {
    ("numba", "DeviceNDArray"): _numba_array,
    ("numba", "FakeCUDAArray"): _simulated_array,
    ("cupy", "ndarray"): _cupy_array,
}
"""The adapters of types that are told by the library that they come from and their names, without importing it."""
