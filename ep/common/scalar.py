"""Conversion of plain numbers to a data type, as a C++ `Scalar` is converted."""

from __future__ import annotations

import math
from numbers import Number
from typing import Any

import numpy as np

from ep.include.data_type import DataType
from ep.include.errors import ArgumentTypeError, ArgumentValueError
from ep.include.number_kind import Kind, number_kind, part_of
from ep.include.shown import shown

_NO_NUMBERS = (np.flexible, np.datetime64, np.timedelta64)
"""NumPy's scalar types of text, bytes and times. To NumPy, timedelta64 is an integer."""


def is_scalar(value: Any) -> bool:
    """Return whether `value` is a plain number of Python or NumPy, not an array."""
    # the usual ones first: the test of an abstract class takes longer
    if type(value) in (float, int):
        return True
    return isinstance(value, Number | np.generic) and not isinstance(value, _NO_NUMBERS)


def number_key(number: Any) -> tuple[type, Any]:
    """Return a key that tells apart numbers that compare equal: True, 1 and 1.0, or the two zeros.

    All NaNs have the same key.
    """
    kind = type(number)
    if kind is int or kind is bool or (kind is float and number == number and number):  # the usual ones first
        return kind, number
    if kind is float or kind is complex or issubclass(kind, np.generic):
        return kind, repr(number)
    return kind, object()  # two numbers of a class of its own may have the same repr


def check_scalar(value: Any, argument: str) -> None:
    """Raise TypeError for an argument that is not a number."""
    if not is_scalar(value):
        raise ArgumentTypeError(argument, f"must be a number, not {shown(value)}")


def convert_scalar(value: Any, data_type: DataType, argument: str) -> Any:
    """Return a number as a NumPy scalar of `data_type`, converted as Cast converts.

    To bool it is `value != 0`. An integer becomes an integer modulo 2^n; any other number saturates, and NaN becomes 0.
    To a floating type it is rounded once, to nearest even; a number that is too large becomes infinity.
    Raises TypeError if it is not a number, or a complex number and `data_type` is real.
    """
    check_scalar(value, argument)
    number = value.item() if isinstance(value, np.generic) else value
    kind = number_kind(data_type)
    is_complex = isinstance(number, complex | np.clongdouble)
    if kind is Kind.COMPLEX:
        parts = (number.real, number.imag) if is_complex else (number, 0)
        return data_type.dtype.type(complex(*(_to_floating(number, part_of(data_type)) for number in parts)))
    if is_complex:
        raise ArgumentTypeError(argument, f"is the complex number {number!r}; {data_type.dtype} is real")
    if kind is Kind.BOOL:
        return np.bool_(number != 0)
    if kind is Kind.INTEGER:
        return data_type.dtype.type(_to_integer(number, data_type))
    return _to_floating(number, data_type)


def convert_value(value: Any, data_type: DataType, argument: str) -> Any:
    """Return a number that Launch accepts as a value, such as Fill's, as a NumPy scalar of `data_type`.

    As `convert_scalar`, but the type must be able to hold the number. Raises ValueError if an integer type would get a
    number that is not integral or out of its range (15.0 is accepted), or if a finite number would become infinity.
    """
    element = convert_scalar(value, data_type, argument)
    number = value.item() if isinstance(value, np.generic) else value
    kind = number_kind(data_type)
    if kind is Kind.INTEGER:
        held = int(element) == number
    elif kind is Kind.COMPLEX:
        is_complex = isinstance(number, complex | np.clongdouble)
        parts = (number.real, number.imag) if is_complex else (number, 0)
        held = _is_held(parts[0], element.real) and _is_held(parts[1], element.imag)
    else:
        held = kind is Kind.BOOL or _is_held(number, element)
    if not held:
        raise ArgumentValueError(argument, f"is {shown(value)}, which {data_type.dtype} cannot hold")
    return element


def _is_held(number: Any, element: Any) -> bool:
    """Return whether a number did not overflow: its element is finite, or the number itself is infinite."""
    return not math.isinf(element) or number in (math.inf, -math.inf)


def _to_integer(number: Any, data_type: DataType) -> int:
    info = np.iinfo(data_type.dtype)
    low, high = int(info.min), int(info.max)
    if isinstance(number, int):
        wrapped = number % (1 << info.bits)
        return wrapped - (1 << info.bits) if wrapped > high else wrapped
    if number != number:
        return 0
    if number <= low:
        return low
    return high if number >= high else int(number)


def _to_floating(number: Any, data_type: DataType) -> Any:
    if data_type is DataType.kDouble:
        return np.float64(_nearest(number))
    with np.errstate(all="ignore"):  # overflow to infinity
        narrow = _to_odd(number)
        return data_type.dtype.type(narrow if data_type is DataType.kFloat else _float_to_odd(narrow))


def _nearest(number: Any) -> float:
    """Return the double nearest to a number, or infinity beyond the largest double."""
    try:
        return float(number)
    except OverflowError:  # float() refuses integers and fractions that are too large
        return math.inf if number > 0 else -math.inf


def _to_odd(number: Any) -> float:
    """Return a double that rounds to any narrower type as the number itself does.

    It is the number itself, or, if that is between two doubles, the one whose last bit is 1. So it is never a tie.
    """
    nearest = _nearest(number)
    if math.isnan(nearest) or nearest == number:
        return nearest
    if math.isinf(nearest):
        return math.copysign(np.finfo(np.float64).max, nearest)
    if np.float64(nearest).view(np.int64) & 1:
        return nearest
    return math.nextafter(nearest, math.inf if nearest < number else -math.inf)


def _float_to_odd(number: float) -> np.float32:
    """Return a double as a float32 in the same way as `_to_odd`."""
    nearest = np.float32(number)
    # compared as Python numbers: NumPy would round `number` to float32 first
    if math.isnan(number) or float(nearest) == number:
        return nearest
    if np.isinf(nearest):
        return np.float32(math.copysign(np.finfo(np.float32).max, number))
    if nearest.view(np.int32) & 1:
        return nearest
    return np.float32(np.nextafter(nearest, np.float32(math.inf if float(nearest) < number else -math.inf)))
