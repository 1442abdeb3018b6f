"""bfloat16 through DLPack: the one data type of this package that NumPy's own import does not read."""

from __future__ import annotations

import ctypes
from typing import Any, Final

import ml_dtypes
import numpy as np

_CPU: Final = 1
_BFLOAT: Final = 4


class _Tensor(ctypes.Structure):
    """`DLTensor` of dlpack.h; the same in all versions that exporters give when no version is asked for."""

    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("type_code", ctypes.c_uint8),
        ("type_bits", ctypes.c_uint8),
        ("type_lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )


class _Memory:
    """Exposes a tensor's memory to NumPy, and keeps its capsule, and so the memory, alive."""

    def __init__(self, capsule: Any, tensor: _Tensor) -> None:
        self._capsule = capsule
        shape = tuple(tensor.shape[axis] for axis in range(tensor.ndim))
        strides = tuple(2 * tensor.strides[axis] for axis in range(tensor.ndim)) if tensor.strides else None
        address = (tensor.data or 0) + tensor.byte_offset
        self.__array_interface__ = {
            "version": 3,
            "shape": shape,
            "strides": strides,
            "typestr": "<u2",
            "data": (address, True),  # read-only: it is an operand, never a result
        }


def bfloat16_from_dlpack(value: Any) -> np.ndarray[Any, Any]:
    """Return the array of bfloat16 in host memory that `value` exports, without a copy; TypeError for anything else."""
    if value.__dlpack_device__()[0] != _CPU:
        raise TypeError("the memory is not the host's")
    capsule = value.__dlpack__()
    get_pointer = ctypes.pythonapi.PyCapsule_GetPointer
    get_pointer.restype, get_pointer.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
    tensor = _Tensor.from_address(get_pointer(capsule, b"dltensor"))
    if (tensor.type_code, tensor.type_bits, tensor.type_lanes) != (_BFLOAT, 16, 1):
        raise TypeError("the elements are not bfloat16")
    # the capsule is not marked as used: its own destructor frees the tensor once the array is gone
    return np.asarray(_Memory(capsule, tensor)).view(ml_dtypes.bfloat16)
