"""DLPack: reads the tensors in capsules without a copy, and makes capsules of this package's memory.

NumPy itself reads tensors in host memory, except those of bfloat16.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import Any, Final

import ml_dtypes
import numpy as np

CPU: Final = 1  # kDLCPU; other device types define their own numbers

_BFLOAT: Final = 4
_CODES: Final = {"i": 0, "u": 1, "f": 2, "c": 5, "b": 6}
_DTYPES: Final = {
    (code, 8 * size): np.dtype(f"{kind}{size}")
    for kind, code in _CODES.items()
    for size in {"f": (2, 4, 8), "c": (8, 16), "b": (1,)}.get(kind, (1, 2, 4, 8))
} | {(_BFLOAT, 16): np.dtype(ml_dtypes.bfloat16)}
_NAMES: Final = {dtype: name for name, dtype in _DTYPES.items()}

_READ_ONLY: Final = 1
_LATEST: Final = (1, 0)
_PLAIN, _VERSIONED = b"dltensor", b"dltensor_versioned"


class _Tensor(ctypes.Structure):
    """`DLTensor` of dlpack.h."""

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


_Deleter = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class _Managed(ctypes.Structure):
    """`DLManagedTensor`, which a capsule named "dltensor" holds."""

    _fields_ = (("tensor", _Tensor), ("context", ctypes.c_void_p), ("deleter", _Deleter))


class _ManagedVersioned(ctypes.Structure):
    """`DLManagedTensorVersioned`, which a capsule named "dltensor_versioned" holds."""

    _fields_ = (
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("context", ctypes.c_void_p),
        ("deleter", _Deleter),
        ("flags", ctypes.c_uint64),
        ("tensor", _Tensor),
    )


def _function(name: str, result: Any, *arguments: Any) -> Any:
    """Return a function of the C API with argument types of its own: `ctypes.pythonapi` shares them with all users."""
    return ctypes.PYFUNCTYPE(result, *arguments)((name, ctypes.pythonapi))


_is_valid = _function("PyCapsule_IsValid", ctypes.c_int, ctypes.py_object, ctypes.c_char_p)
_pointer = _function("PyCapsule_GetPointer", ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)


@dataclass(frozen=True)
class Tensor:
    """The contents of a capsule. The memory is valid as long as `owner` lives.

    strides: in elements; None for row-major.
    dtype: None if this package has no such elements.
    """

    address: int
    shape: tuple[int, ...]
    strides: tuple[int, ...] | None
    dtype: np.dtype[Any] | None
    device_type: int
    device_id: int
    read_only: bool
    owner: Any


def read(value: Any, **options: Any) -> Tensor:
    """Return the tensor that `value` exports, without a copy.

    options: arguments of `__dlpack__`, such as `stream`.
    """
    try:
        capsule = value.__dlpack__(max_version=_LATEST, **options)
    except Exception:  # an exporter older than the versions of DLPack, or one that fails for other reasons
        capsule = value.__dlpack__(**options)
    read_only = False
    if _is_valid(capsule, _VERSIONED):
        managed = _ManagedVersioned.from_address(_pointer(capsule, _VERSIONED))
        if managed.major != _LATEST[0]:
            raise BufferError(f"the capsule is of DLPack {managed.major}.{managed.minor}, which is not known")
        tensor, read_only = managed.tensor, bool(managed.flags & _READ_ONLY)
    else:
        tensor = _Tensor.from_address(_pointer(capsule, _PLAIN))
    sizes = range(tensor.ndim)
    return Tensor(
        (tensor.data or 0) + tensor.byte_offset,
        tuple(tensor.shape[axis] for axis in sizes),
        tuple(tensor.strides[axis] for axis in sizes) if tensor.strides else None,
        _DTYPES.get((tensor.type_code, tensor.type_bits)) if tensor.type_lanes == 1 else None,
        tensor.device_type,
        tensor.device_id,
        read_only,
        # the capsule is not marked as used: its own destructor frees the tensor once the capsule is gone
        capsule,
    )


class _Memory:
    """Exposes a tensor's memory to NumPy, and keeps it alive."""

    def __init__(self, tensor: Tensor) -> None:
        self._owner = tensor.owner
        self.__array_interface__ = {
            "version": 3,
            "shape": tensor.shape,
            "strides": tensor.strides and tuple(2 * stride for stride in tensor.strides),
            "typestr": "<u2",
            "data": (tensor.address, True),  # read-only: it is an operand, never a result
        }


def bfloat16_from_dlpack(value: Any) -> np.ndarray[Any, Any]:
    """Return the bfloat16 array in host memory that `value` exports, without a copy.

    Raises TypeError for anything else.
    """
    if value.__dlpack_device__()[0] != CPU:
        raise TypeError("the memory is not the host's")
    tensor = read(value)
    if tensor.dtype != ml_dtypes.bfloat16:
        raise TypeError("the elements are not bfloat16")
    return np.asarray(_Memory(tensor)).view(ml_dtypes.bfloat16)


class _Exported:
    """Memory in the form from which NumPy makes an array without reading it. The array keeps the owner alive."""

    def __init__(self, address: int, shape: tuple[int, ...], typestr: str, owner: Any) -> None:
        self._owner = owner
        self.__array_interface__ = {"version": 3, "shape": shape, "typestr": typestr, "data": (address, False)}


def capsule(address: int, shape: tuple[int, ...], dtype: np.dtype[Any], device: tuple[int, int], owner: Any) -> Any:
    """Return a capsule ("dltensor") of writable, C-contiguous memory. The capsule keeps `owner` alive.

    device: the device type, as DLPack numbers them, and the index of the device.

    The capsule and its deleter are NumPy's; only the description of the memory is changed. The destructor of a capsule
    may run while an exception propagates, which a Python function called through ctypes would not survive.
    """
    code, _ = _NAMES[dtype]
    typestr = "<u2" if code == _BFLOAT else dtype.str
    made = np.asarray(_Exported(address, shape, typestr, owner)).__dlpack__()
    tensor = _Tensor.from_address(_pointer(made, _PLAIN))
    tensor.device_type, tensor.device_id = device
    tensor.type_code = code
    return made
