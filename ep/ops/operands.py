"""The two operands of a binary op: arrays of one dtype, one of which may be given as a number."""

from __future__ import annotations

import cmath
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from ep.common.arrays.checks import as_scalar, is_weak
from ep.common.numbers import Numbers
from ep.common.scalar import convert_scalar
from ep.include.arrays import Array, ArrayLike, LaterNumber, Operands, Placed
from ep.include.data_type import DataType, as_data_type
from ep.include.shown import in_short, shown
from ep.ops.devices import with_scalars


def as_operands(arrays: Operands, x: ArrayLike, y: ArrayLike, names: tuple[str, ...]) -> tuple[Array, Array]:
    """Return both operands as buffers of one dtype.

    A number of Python or NumPy gets the dtype of the other operand, so it never changes the type of a result. Of two
    numbers, NumPy's scalars are arrays; two Python numbers get the dtype that NumPy gives to a list of them. Raises
    TypeError if the dtypes differ, ValueError for a number that the dtype does not hold.
    """
    x, y = with_scalars(arrays, (x, y))
    x_is_weak, y_is_weak = which_are_weak((x, y))
    if x_is_weak:
        if y_is_weak:
            dtype = dtype_of_numbers((x, y))
            if dtype.kind == "O":
                values = f"{in_short(_value(x))} and {in_short(_value(y))}"
                raise ValueError(f"{names[0]} and {names[1]} are {values}, which no dtype holds")
            return _number(arrays, x, dtype, names[0]), _number(arrays, y, dtype, names[1])
        b = arrays.as_buffer(y, names[1])
        return _number(arrays, x, b.dtype, names[0]), b
    a = arrays.as_buffer(x, names[0])
    if y_is_weak:
        return a, _number(arrays, y, a.dtype, names[1])
    b = arrays.as_buffer(y, names[1])
    if a.dtype != b.dtype:
        adapted = arrays.adapted(a, b)
        if adapted is not None:
            return adapted
        raise TypeError(f"{names[0]} has dtype {a.dtype}, {names[1]} has {b.dtype}; convert one of them")
    return a, b


def which_are_weak(operands: Sequence[ArrayLike]) -> list[bool]:
    """Return, for each operand, whether it gets the dtype of the others: numbers do; among them, Python's alone."""
    weak = [is_number(one) for one in operands]
    return [not isinstance(_value(one), np.generic) for one in operands] if all(weak) else weak


def dtype_of_numbers(numbers: Sequence[Any]) -> np.dtype[Any]:
    """Return the dtype that NumPy gives to a list of numbers."""
    return np.array([_value(one) for one in numbers]).dtype


def is_number(operand: ArrayLike) -> bool:
    """Return whether an operand is a number, which gets the dtype of the other operand."""
    return isinstance(operand, LaterNumber) if isinstance(operand, Placed) else is_weak(operand)


def check_real(number: Any, argument: str) -> None:
    """Raise TypeError for anything but a real number."""
    value = _value(number)
    if not is_weak(as_scalar(value)) or np.iscomplexobj(value):
        raise TypeError(f"{argument} must be a real number, not {shown(number)}")


def _value(number: Any) -> complex:
    value: complex = number.value if isinstance(number, LaterNumber) else number
    return value


def _number(arrays: Operands, number: Any, dtype: np.dtype[Any], argument: str) -> Array:
    if isinstance(number, LaterNumber):
        return number.as_array(dtype, argument)
    return arrays.number(as_weak(number, dtype, argument))


def as_weak(number: complex, dtype: np.dtype[Any], argument: str) -> np.ndarray[Any, Any]:
    """Return a number as a read-only array without axes.

    Raises ValueError if an integer type or bool cannot hold the value or a floating-point type would make it infinite,
    TypeError for a complex number if `dtype` is real.
    """
    return numbers_of(as_data_type(dtype)).array(number, argument)


@cache
def numbers_of(data_type: DataType) -> Numbers:
    """Return the object that converts numbers to arrays of one type, as in `as_weak`."""
    return Numbers(data_type, _convert_weak)


def _convert_weak(number: complex, data_type: DataType, argument: str) -> Any:
    try:
        with np.errstate(over="ignore"):
            scalar = convert_scalar(number, data_type, argument)
            fits = _keeps(scalar.item(), number, data_type)
    except OverflowError:  # an integer beyond float64
        fits = False
    if not fits:
        raise ValueError(f"{argument} is {in_short(number)}, which {data_type.dtype} does not hold")
    return scalar


def _keeps(converted: Any, number: complex, data_type: DataType) -> bool:
    if data_type.dtype.kind in "biu":
        return bool(converted == number)
    return cmath.isfinite(converted) or not cmath.isfinite(number)
