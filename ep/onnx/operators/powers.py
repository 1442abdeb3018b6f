"""Pow: a base and an exponent of any two types; the result has the type of the base."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from ep import ops
from ep.expressions.array import LazyArray
from ep.onnx.operators.line import line

_INTEGERS: Final = "iu"
_SIGNIFICANT: Final = {2: 2**8, 4: 2**24, 8: 2**53}
"""Numbers up to which the floating-point types of a size hold all integers."""
_ENOUGH: Final = {2: 2**20, 4: 2**40}
"""Exponents from which on powers of all floating-point numbers of a size are 0, infinite, or 1, but for their sign."""
_PART: Final = 2**32
_MOST: Final = 64
"""An exponent from which on powers of all integers except 0, 1 and -1 are out of range."""


@line("Pow", 7)
def power(x: Any, y: Any) -> Any:
    """Return `x ** y` in the dtype of x, of the numbers that x and y are: neither is rounded to the type of the other.

    Integers to an integer power wrap, as in `ep.ops.pow`. Integers to a floating-point power are converted as by
    `ep.ops.cast`: toward zero, and to the nearest number of the type if they are out of its range.
    """
    whole, constant = y.dtype.kind in _INTEGERS, _numbers_of(y)
    if x.dtype.kind in _INTEGERS and not whole:
        return _integer_to_floating(x, y)
    if constant is not None and constant.shape == () and constant == 2:
        return ops.mul(x, x)
    if x.dtype == y.dtype or (constant is not None and _holds(x.dtype, constant)):
        return ops.pow(x, ops.cast(y, x.dtype))
    if x.dtype.kind not in _INTEGERS:
        return _of_floating(x, y)
    # the same numbers modulo 2^64
    return _in_type(np.uint64 if y.dtype == np.uint64 else np.result_type(x.dtype, y.dtype), x, y)


def _numbers_of(array: Any) -> np.ndarray[Any, Any] | None:
    """Return the numbers of an array that is the same in all runs; None for others."""
    if isinstance(array, LazyArray):
        held = array.trace.held.get(array.node.position)
        return None if held is None else ops.copy_to_host(held)
    return array if isinstance(array, np.ndarray) else None


def _holds(dtype: np.dtype[Any], numbers: np.ndarray[Any, Any]) -> bool:
    """Return whether a type holds all numbers."""
    if numbers.dtype.kind in _INTEGERS:
        if dtype.kind in _INTEGERS:
            least, most = int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)
        else:
            most = _SIGNIFICANT[dtype.itemsize]
            least = -most
        return not numbers.size or (least <= int(numbers.min()) and int(numbers.max()) <= most)
    with np.errstate(all="ignore"):
        same = numbers.astype(dtype).astype(numbers.dtype) == numbers
        return bool(np.all(same | (numbers != numbers)))


def _in_type(dtype: Any, x: Any, y: Any) -> Any:
    """Return the power computed in a type."""
    return ops.cast(ops.pow(ops.cast(x, dtype), ops.cast(y, dtype)), x.dtype)


def _of_floating(x: Any, y: Any) -> Any:
    """Return a floating-point number to a power of another type."""
    size, of_y, whole = x.dtype.itemsize, y.dtype.itemsize, y.dtype.kind in _INTEGERS
    if whole and size == of_y == 8:
        # float64 does not hold all exponents, but these parts; both have the sign of y
        first = ops.mul(ops.trunc_div(y, _PART), _PART)
        powers = [ops.pow(x, ops.cast(part, x.dtype)) for part in (first, ops.fmod(y, _PART))]
        return ops.mul(*powers)
    if whole and of_y > size:  # limited, and as odd as before
        most = ops.minimum(y, _ENOUGH[size])
        most = most if y.dtype.kind == "u" else ops.maximum(most, -_ENOUGH[size])
        y, of_y = ops.bitwise_or(most, ops.bitwise_and(y, 1)), size
    in_float32 = size <= 4 and of_y <= (2 if whole else 4)
    return _in_type(np.float32 if in_float32 else np.float64, x, y)


def _integer_to_floating(x: Any, y: Any) -> Any:
    """Return integers to a floating-point power: exactly for whole exponents and powers in range."""
    exponent = ops.cast(y, np.float64)
    real = ops.pow(ops.cast(x, np.float64), exponent)
    exact = ops.pow(ops.cast(x, np.int64), ops.cast(y, np.int64))
    natural = ops.logical_and(ops.equal(ops.floor(exponent), exponent), ops.greater_equal(exponent, 0.0))
    natural = ops.logical_and(natural, ops.less_equal(exponent, float(_MOST)))
    in_range = ops.less(ops.abs(real), 2.0 ** (8 * x.dtype.itemsize - 1))
    in_range = ops.logical_or(in_range, ops.equal(exponent, 1.0))  # which a large x is when it is rounded
    return ops.where(ops.logical_and(natural, in_range), ops.cast(exact, x.dtype), ops.cast(real, x.dtype))
