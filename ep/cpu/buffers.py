"""Checks of the CPU's buffers, in Python: they explain what compiled code only noticed, or put it right."""

from __future__ import annotations

from typing import Any

import numpy as np

from ep.common import buffer_checks
from ep.cpu.stream import CpuStream
from ep.include.data_type import DataType


def check_stream(stream: Any) -> CpuStream:
    """Return `stream`; TypeError where it is no stream of the CPU."""
    if not isinstance(stream, CpuStream):
        raise TypeError(f"stream must be a stream of the CPU, not {stream!r}")
    return stream


def as_buffer(
    buffer: Any, argument: str, data_type: DataType, num_elements: int, *, writable: bool = False
) -> np.ndarray[Any, Any]:
    """Return `buffer` as a plain ndarray with the very dtype object of `data_type`, over the same memory.

    num_elements: how many elements are needed at least.
    Raises TypeError for what is no ndarray or has a mask and for another dtype, ValueError for memory that is not
    C-contiguous, read-only (where it is to be written) or too small.
    """
    if not isinstance(buffer, np.ndarray):
        hint = ", which lies on a CUDA device" if hasattr(buffer, "__cuda_array_interface__") else ""
        raise TypeError(f"{argument} must be a numpy.ndarray on the CPU, not {type(buffer).__qualname__}{hint}")
    buffer_checks.check_plain(buffer, argument)
    buffer_checks.check_dtype(argument, buffer.dtype, data_type)
    if not buffer.flags.c_contiguous:
        raise ValueError(f"{argument} is not C-contiguous (shape {buffer.shape}, strides {buffer.strides})")
    if writable and not buffer.flags.writeable:
        raise ValueError(f"{argument} is read-only")
    buffer_checks.check_size(argument, buffer.size, num_elements)
    plain = buffer.view(np.ndarray)
    return plain if plain.dtype is data_type.dtype else plain.view(data_type.dtype)


def check_overlap(
    dst: np.ndarray[Any, Any],
    dst_elements: int,
    dst_argument: str,
    src: np.ndarray[Any, Any],
    src_elements: int,
    src_argument: str,
    *,
    in_place: bool = False,
) -> None:
    """Raise ValueError where the used parts of `dst` and `src` share memory.

    in_place: the two may be the very same memory, since each element is read and written at one place.
    """
    dst_bytes, src_bytes = dst_elements * dst.itemsize, src_elements * src.itemsize
    buffer_checks.check_overlap(
        dst.ctypes.data, dst_bytes, dst_argument, src.ctypes.data, src_bytes, src_argument, in_place=in_place
    )
