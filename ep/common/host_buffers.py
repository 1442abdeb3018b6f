"""Checks of buffers in host memory, in Python: the CPU's, the host side of copies, and those of primitives in NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np

from ep.common import buffer_checks
from ep.include.data_type import DataType
from ep.include.errors import ArgumentTypeError, ArgumentValueError

NDArray = np.ndarray[Any, Any]


def read_buffer(
    buffer: Any, argument: str, data_type: DataType | None, num_elements: int, written: bool = False
) -> tuple[NDArray, int]:
    """Return `buffer` as a plain ndarray with the same dtype object as `data_type`, and its address.

    data_type: None for memory of any type, which is returned as bytes.
    num_elements: the least number of elements, or of bytes.
    Raises TypeError if it is not an ndarray, has a mask or another dtype; ValueError if it is not C-contiguous, too
    small, or read-only though it is to be written.
    """
    if not isinstance(buffer, np.ndarray):
        hint = ", which lies on a CUDA device" if hasattr(buffer, "__cuda_array_interface__") else ""
        raise ArgumentTypeError(argument, f"must be a numpy.ndarray on the CPU, not {type(buffer).__qualname__}{hint}")
    buffer_checks.check_plain(buffer, argument)
    if data_type is None:
        buffer_checks.check_no_objects(argument, buffer.dtype)
    else:
        buffer_checks.check_dtype(argument, buffer.dtype, data_type)
    if not buffer.flags.c_contiguous:
        raise ArgumentValueError(argument, f"is not C-contiguous (shape {buffer.shape}, strides {buffer.strides})")
    if written and not buffer.flags.writeable:
        raise ArgumentValueError(argument, "is read-only")
    plain = buffer.view(np.ndarray)
    if data_type is None:
        buffer_checks.check_bytes(argument, buffer.nbytes, num_elements)
        plain = plain.reshape(-1).view(np.uint8)
        return plain, plain.ctypes.data
    buffer_checks.check_size(argument, buffer.size, num_elements)
    if plain.dtype is not data_type.dtype:
        plain = plain.view(data_type.dtype)
    return plain, plain.ctypes.data


def elements(buffer: Any, argument: str, data_type: DataType, count: int, *, written: bool = False) -> NDArray:
    """Return the first `count` elements of a buffer as a flat ndarray. Raises the errors of `read_buffer`."""
    return read_buffer(buffer, argument, data_type, count, written)[0].reshape(-1)[:count]


def check_disjoint(dst: NDArray, dst_argument: str, src: NDArray, src_argument: str, *, in_place: bool = False) -> None:
    """Raise ValueError if two such operands share memory; `in_place` allows exactly the same memory."""
    ranges = (dst.ctypes.data, dst.nbytes, dst_argument, src.ctypes.data, src.nbytes, src_argument)
    buffer_checks.check_overlap(*ranges, in_place=in_place)
