"""Checks of operands and results, with the same messages on all devices."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Final

import numpy as np

from ep.common.primitive.strides import SHARED, writes_once
from ep.common.scalar import is_scalar
from ep.include.arrays import Array
from ep.include.data_type import DataType
from ep.include.errors import ArgumentTypeError, ArgumentValueError

DTYPES: Final = frozenset(data_type.dtype for data_type in DataType)
"""The dtypes that arrays may have."""

_OF_PYTHON: Final = bool, int, float, complex
NUMBERS: Final = frozenset([*_OF_PYTHON, *(dtype.type for dtype in DTYPES)])
"""The types of numbers: Python's, and NumPy's scalars."""


def is_weak(value: Any) -> bool:
    """Return whether a value is a number of Python or NumPy, which adapts to arrays of any dtype and device."""
    if type(value) in NUMBERS or isinstance(value, _OF_PYTHON):
        return True
    return isinstance(value, np.generic) and is_scalar(value)  # of another type, as numpy.longdouble


def as_scalar(value: Any) -> Any:
    """Return an ndarray without axes as the number in it, anything else as it is."""
    return value[()] if type(value) is np.ndarray and value.ndim == 0 else value


def native_dtype(dtype: np.dtype[Any], argument: str) -> np.dtype[Any]:
    """Return a dtype in native byte order. Raises TypeError if no DataType has it."""
    if dtype in DTYPES:
        return dtype
    native = dtype.newbyteorder("=")
    if native not in DTYPES:
        names = ", ".join(sorted(known.name for known in DTYPES))
        raise ArgumentTypeError(argument, f"has dtype {dtype}; it must be one of {names}")
    return native


def check_result(out: Array, shape: Sequence[int], dtype: np.dtype[Any], *, writable: bool) -> None:
    """Raise TypeError if `out` has another dtype than the result, ValueError for another shape or if read-only."""
    if out.dtype != dtype:
        raise ArgumentTypeError("out", f"has dtype {out.dtype}; the result has {dtype}")
    if out.shape != tuple(shape):
        raise ArgumentValueError("out", f"has shape {out.shape}; the result has {tuple(shape)}")
    if not writable:
        raise ArgumentValueError("out", "is read-only")


@lru_cache
def check_distinct(shape: tuple[int, ...], strides: tuple[int, ...], width: int = 1) -> None:
    """Raise ValueError if elements of `out` share memory. strides: in a unit of which an element has `width`."""
    if not writes_once((*shape, width), (*strides, 1)):
        raise ArgumentValueError("out", f"of shape {shape} and strides {strides} {SHARED}")
