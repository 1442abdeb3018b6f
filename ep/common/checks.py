"""Checks of Launch arguments that need no device."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from typing import Any, Final, TypeGuard

import numpy as np

from ep.include.errors import ArgumentTypeError, ArgumentValueError
from ep.include.shown import shown

kMaxSize: Final = 2**63 - 1

MAX_OFFSET: Final = 2**62
"""The largest magnitude of an `offset` of indices: more than any memory has rows, and index - offset never wraps."""


def as_integer(value: Any, argument: str) -> int:
    """Return an integer argument of an operator as int. Raises TypeError for others, also bool: see `as_index`."""
    if type(value) is int:
        return value
    if isinstance(value := present(value), bool):
        raise ArgumentTypeError(argument, f"must be an integer, not {value}")
    return as_index(value, argument)


def as_index(value: Any, argument: str) -> int:
    """Return an integer argument of a launch as int: True is 1, as in Python; a known launch compares by equality.

    Raises TypeError if it is not an integer, and what its `__index__` raises.
    """
    try:
        return operator.index(value)
    except TypeError as error:
        if error.__traceback__ is not None and error.__traceback__.tb_next is not None:
            raise  # by a method of Python
        raise ArgumentTypeError(argument, f"must be an integer, not {shown(value)}") from None


def present(value: Any) -> Any:
    """Return the present value of a number that may have another one later, as `LaterNumber`, or another value."""
    pinned = getattr(type(value), "pinned", None)  # not by its class, whose module kernels must not depend on
    return value if pinned is None else pinned(value)


def are_several(given: Any) -> TypeGuard[Iterable[Any]]:
    """Return whether an argument is a sequence, or an array with axes: not a number, a text, or values in no order."""
    if type(given) is tuple or type(given) is list:  # most calls, without tests of abstract classes
        return True
    if isinstance(given, str | bytes | Mapping | Set) or not isinstance(given, Iterable):
        return False
    return getattr(given, "ndim", None) != 0


def integers_in(given: Any, argument: str, check: Callable[[Any, str], int] = as_integer) -> tuple[int, ...]:
    """Return integers that were given as a sequence, as an array, or as one integer; TypeError for anything else.

    check: returns one of them, or raises an error that names it.
    """
    if not are_several(given):
        return (check(given, argument),)
    return tuple(check(one, f"{argument}[{position}]") for position, one in enumerate(given))


def as_truth(value: Any, argument: str) -> bool:
    """Return an argument that is True or False, of Python or NumPy. Raises TypeError for anything else."""
    if value is True or value is False:  # most calls
        return value
    value = present(value)
    if not isinstance(value, bool | np.bool_):
        raise ArgumentTypeError(argument, f"must be True or False, not {shown(value)}")
    return bool(value)


def as_size(value: Any, argument: str) -> int:
    """Return a size as int. Raises TypeError if it is not an integer, ValueError if it is below 0 or above 2^63 - 1."""
    if type(value) is int and 0 <= value <= kMaxSize:  # the usual case, without a call
        return value
    size = as_index(value, argument)
    if size < 0:
        raise ArgumentValueError(argument, f"is {size}; it must not be negative")
    if size > kMaxSize:
        raise ArgumentValueError(argument, f"is {size}; it must be below 2**63")
    return size


def as_count(value: Any, argument: str) -> int:
    """Return a size that is an argument of an operator: as `as_size`, but TypeError for bool."""
    return as_size(as_integer(value, argument), argument)


def as_offset(value: Any) -> int:
    """Return the argument `offset`, which is subtracted from indices, as int.

    Raises ValueError if its magnitude is above 2^62.
    """
    offset = as_index(value, "offset")
    if abs(offset) > MAX_OFFSET:
        raise ArgumentValueError("offset", f"is {offset}; it must be within 2**62 of 0")
    return offset


def as_byte(value: Any, argument: str) -> int:
    """Return the value of a byte as int. Raises TypeError if it is not an integer, ValueError if not in 0 to 255."""
    byte = as_index(value, argument)
    if not 0 <= byte <= 255:
        raise ArgumentValueError(argument, f"is {byte}; a byte is from 0 to 255")
    return byte


def as_dims(dims: Any, argument: str, max_num_dims: int) -> tuple[int, ...]:
    """Return dims as a tuple of sizes.

    Raises TypeError if they are not a sequence, ValueError for too many or a negative one.
    """
    sizes = _each(dims, argument, as_size)
    if len(sizes) > max_num_dims:
        raise ArgumentValueError(argument, f"has {len(sizes)} dims; this primitive was made for at most {max_num_dims}")
    return sizes


def are_integers(*sizes: Any) -> bool:
    """Return whether each argument is None or holds integers alone. Otherwise a cache could find (2, 3) for (2.0, 3).

    A sum is an int if all elements are. NumPy's integers give False. Raises TypeError for other objects.
    """
    for values in sizes:  # noqa: SIM110  not all(...): a generator would take as long as the sums
        if values is not None and type(sum(values)) is not int:
            return False
    return True


def as_buffers(buffers: Any, argument: str) -> tuple[Any, ...]:
    """Return a sequence of buffers as a tuple. Raises TypeError if it is not a sequence, ValueError if it is empty."""
    if isinstance(buffers, str | bytes) or not isinstance(buffers, Sequence):
        raise ArgumentTypeError(argument, f"must be a sequence of buffers, not {type(buffers).__qualname__}")
    if not buffers:
        raise ArgumentValueError(argument, "is empty; at least one buffer is needed")
    return tuple(buffers)


def as_strides(strides: Any, argument: str, dims: tuple[int, ...]) -> tuple[int, ...]:
    """Return strides, in elements, one for each of `dims`. Raises ValueError for another count or a negative one."""
    return _one_for_each(_each(strides, argument, as_size), argument, "strides", dims)


def as_sizes(values: Any, argument: str, dims: tuple[int, ...]) -> tuple[int, ...]:
    """Return sizes or positions, one for each of `dims`. Raises ValueError for another count or a negative one."""
    return _one_for_each(_each(values, argument, as_size), argument, "numbers", dims)


def as_integers(values: Any, argument: str, dims: tuple[int, ...]) -> tuple[int, ...]:
    """Return integers of any sign, one for each of `dims`. Raises ValueError for another count."""
    return _one_for_each(_each(values, argument, as_index), argument, "numbers", dims)


def as_integer_list(values: Any, argument: str) -> tuple[int, ...]:
    """Return any number of integers of any sign. Raises TypeError for anything but a sequence of integers."""
    return _each(values, argument, as_index)


def _one_for_each(values: tuple[int, ...], argument: str, what: str, dims: tuple[int, ...]) -> tuple[int, ...]:
    if len(values) != len(dims):
        raise ArgumentValueError(argument, f"has {len(values)} {what} for {len(dims)} dims")
    return values


def _each(values: Any, argument: str, check: Callable[[Any, str], int]) -> tuple[int, ...]:
    if type(values) is tuple and _are_sizes(values):
        return values
    # 1-d arrays are accepted; an array without dims and a NumPy scalar have `tolist` and `shape` too
    is_array = hasattr(values, "tolist") and getattr(values, "shape", ()) != ()
    if isinstance(values, str | bytes) or not (isinstance(values, Sequence) or is_array):
        raise ArgumentTypeError(argument, f"must be a sequence of integers, not {shown(values)}")
    return tuple(check(value, f"{argument}[{axis}]") for axis, value in enumerate(values))


def _are_sizes(values: tuple[Any, ...]) -> bool:
    """Return whether all are ints that pass every check. Most are, and checking each one would take far longer."""
    for value in values:  # noqa: SIM110  not all(...): a generator takes longer
        if type(value) is not int or not 0 <= value <= kMaxSize:
            return False
    return True
