"""Conversion of plain numbers to a data type: what a C++ `Scalar` is read as."""

from __future__ import annotations

import math
from numbers import Number
from typing import Any

import numpy as np

from ep.common.functor.table import Kind
from ep.common.number_kind import number_kind
from ep.include.data_type import DataType


def is_scalar(value: Any) -> bool:
    """Whether `value` is a plain number: Python's or NumPy's, not an array."""
    return isinstance(value, Number | np.generic)


def convert_scalar(value: Any, data_type: DataType, argument: str) -> Any:
    """Return a number as a NumPy scalar of `data_type`, converted as Cast converts.

    To bool it is `value != 0`. An integer becomes an integer modulo 2^n; a floating-point number saturates, and NaN
    becomes 0; a narrower floating type is rounded to once, to nearest even. Raises TypeError for what is no number and
    for a complex number where `data_type` is real.
    """
    if not is_scalar(value):
        raise TypeError(f"{argument} must be a number, not {value!r}")
    scalar = value.item() if isinstance(value, np.generic) and not isinstance(value, np.longdouble) else value
    if not isinstance(scalar, complex):
        # ml_dtypes' scalars come through item() as floats; Decimal, Fraction and longdouble are taken as doubles
        scalar = scalar if isinstance(scalar, bool | int | float) else float(scalar)
    kind = number_kind(data_type)
    if kind is not Kind.COMPLEX and isinstance(scalar, complex):
        raise TypeError(f"{argument} is the complex number {scalar!r}; {data_type.name} is real")
    scalar_type = data_type.dtype.type
    if kind is Kind.BOOL:
        return np.bool_(scalar != 0)
    if kind is Kind.INTEGER:
        return scalar_type(_to_integer(scalar, data_type))
    if kind is Kind.FLOAT and data_type.itemsize == 2:
        return scalar_type(round_to_odd(scalar))
    with np.errstate(over="ignore"):
        return scalar_type(scalar)


def round_to_odd(value: int | float) -> np.float32:
    """Narrow a number to float32 so that rounding the result again equals rounding the number once."""
    with np.errstate(over="ignore"):
        nearest = np.float32(value)
    # compared as Python numbers: NumPy would round `value` to float32 first
    if not np.isfinite(nearest) or float(nearest) == value:
        if np.isinf(nearest) and not (isinstance(value, float) and math.isinf(value)):
            return np.copysign(np.finfo(np.float32).max, nearest)
        return nearest
    bits = nearest.view(np.int32)
    if bits & 1:
        return nearest
    away = abs(float(nearest)) > abs(value)
    return np.int32(bits + (-1 if away else 1)).view(np.float32)


def _to_integer(scalar: int | float, data_type: DataType) -> int:
    info = np.iinfo(data_type.dtype)
    if isinstance(scalar, float):
        if math.isnan(scalar):
            return 0
        clipped = min(max(scalar, float(info.min)), float(info.max))
        return min(max(int(clipped), int(info.min)), int(info.max))
    wrapped = int(scalar) % 2 ** (8 * data_type.itemsize)
    return wrapped - 2 ** (8 * data_type.itemsize) if wrapped > info.max else wrapped
