"""The data types of buffers, and the conversion from NumPy's names."""

from enum import Enum
from typing import Any, TypeAlias

import ml_dtypes
import numpy as np

from ep.include.errors import ArgumentTypeError, ArgumentValueError
from ep.include.shown import shown
from ep.include.suggest import did_you_mean


class DataType(Enum):
    """The type of a buffer's elements, with upstream's names and numbers (`data_type.proto`)."""

    kChar = 1
    kFloat = 2
    kDouble = 3
    kInt8 = 4
    kInt32 = 5
    kInt64 = 6
    kUInt8 = 7
    kFloat16 = 9
    kBFloat16 = 11
    kBool = 12
    kUInt16 = 13
    kUInt32 = 14
    kUInt64 = 15
    kInt16 = 17
    kComplex64 = 20
    kComplex128 = 21

    dtype: np.dtype[Any]
    """The NumPy dtype that stores one element; kChar is stored as int8."""
    itemsize: int
    """Bytes of one element."""

    __hash__ = object.__hash__  # Enum's `__hash__` is a slower Python function, and types are keys of plans

    def __repr__(self) -> str:
        return f"DataType.{self.name}"


_STORAGE = {
    DataType.kChar: np.int8,
    DataType.kFloat: np.float32,
    DataType.kDouble: np.float64,
    DataType.kInt8: np.int8,
    DataType.kInt32: np.int32,
    DataType.kInt64: np.int64,
    DataType.kUInt8: np.uint8,
    DataType.kFloat16: np.float16,
    DataType.kBFloat16: ml_dtypes.bfloat16,
    DataType.kBool: np.bool_,
    DataType.kUInt16: np.uint16,
    DataType.kUInt32: np.uint32,
    DataType.kUInt64: np.uint64,
    DataType.kInt16: np.int16,
    DataType.kComplex64: np.complex64,
    DataType.kComplex128: np.complex128,
}

for _member, _scalar in _STORAGE.items():
    _member.dtype = np.dtype(_scalar)
    _member.itemsize = _member.dtype.itemsize

# kChar has int8's storage, so int8 always means kInt8
_BY_DTYPE = {member.dtype: member for member in DataType if member is not DataType.kChar}
_BY_NAME = {dtype.name: member for dtype, member in _BY_DTYPE.items()}
# NumPy has two scalar types of one size for some integers, with different codes ("l" and "q")
_BY_TYPE = {np.dtype(code).type: _BY_DTYPE[np.dtype(code)] for code in "?bhilqBHILQefdFD"}
_BY_TYPE |= {bool: DataType.kBool, ml_dtypes.bfloat16: DataType.kBFloat16}
_UNSIZED = frozenset(
    ("int", "uint", "float", "complex", "half", "single", "double", "long", "longlong", "short", "byte", "char")
)


DTypeLike: TypeAlias = DataType | np.dtype[Any] | type[np.generic] | type[bool] | str
"""A DataType, a NumPy dtype or scalar type, or a sized name such as "float32", "bfloat16" or "bool"."""


def _numpy_name(code: str) -> str:
    """Return the sized name for a code of NumPy: int64 for "i8", which has 8 bytes; empty if there is none."""
    try:
        return np.dtype(code).name
    except Exception:  # also a warning about an old code, where warnings are errors
        return ""


def as_data_type(like: DTypeLike, argument: str = "dtype") -> DataType:
    """Return the DataType that `like` names.

    like: a DataType, NumPy dtype, NumPy scalar type, or sized name.
    argument: the caller's name for it, for the error.
    Raises TypeError if it is not a data type or is an unsized name (NumPy and OneFlow disagree on those), ValueError
    for an unknown name and for dtypes that no primitive stores (object, datetime, non-native byte order).
    """
    if isinstance(like, DataType):
        return like
    if isinstance(like, str):
        if like in _UNSIZED:
            raise ArgumentTypeError(
                argument, f"is {shown(like)}, a name without a size; give one of {', '.join(_BY_NAME)}"
            )
        member = _BY_NAME.get(like)
        if member is None:
            meant = _numpy_name(like)
            hint = f"; did you mean {meant!r}?" if meant in _BY_NAME else did_you_mean(like, _BY_NAME)
            wanted = hint or f"; give one of {', '.join(_BY_NAME)}"
            raise ArgumentValueError(argument, f"is {shown(like)}, which is not a data type{wanted}")
        return member
    for kind in (int, float, complex):
        if like is kind:
            raise ArgumentTypeError(
                argument, f"is {kind.__name__}, a type without a size; give one of {', '.join(_BY_NAME)}"
            )
    if isinstance(like, np.dtype):
        member = _BY_DTYPE.get(like)
    elif isinstance(like, type) and (like is bool or issubclass(like, np.generic)):
        member = _BY_TYPE.get(like)
    else:
        raise ArgumentTypeError(argument, f"must be a DataType, a NumPy dtype or a sized name, not {shown(like)}")
    if member is None:
        raise ArgumentValueError(argument, f"is {shown(like)}; it must be one of {', '.join(_BY_NAME)}")
    return member
