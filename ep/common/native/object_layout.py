"""The memory layout of arrays and tuples that compiled code reads, and the check that this Python and NumPy have it.

An entry reads type, data, dims, dtype and flags directly from the array's structure, floats and the items of tuples
from theirs (`compile/ndarray.py`), and a primitive's cached data from its slots (`engine/launchable.py`);
integers are read by a function of Python's. The structures are part of NumPy's and Python's ABI, which may change with
a release. So before any kernel runs, some objects are read in this way and compared with their values. This module
imports no Numba.
"""

from __future__ import annotations

import ctypes
import platform
import sys
from functools import cache
from typing import Any, Final

import numpy as np

from ep.common.native.objects import ArrayObject, FloatObject, Object, TupleObject

_HEADER: Final = object.__basicsize__
TYPE, FLOAT_VALUE = 8 * Object.type, 8 * FloatObject.bits
TUPLE_LENGTH, TUPLE_ITEMS = 8 * TupleObject.length, 8 * TupleObject.items
DATA, NUM_DIMS, DIMS = 8 * ArrayObject.data, 8 * ArrayObject.num_dims, 8 * ArrayObject.dims
STRIDES, DTYPE, FLAGS = 8 * ArrayObject.strides, 8 * ArrayObject.dtype, 8 * ArrayObject.flags

# an object of a class with slots, which follow the header in the order of their names
FIRST_SLOT, SECOND_SLOT, THIRD_SLOT = (_HEADER + offset for offset in (0, 8, 16))
FIRST_SLOT_OF_DICT = dict.__basicsize__

C_CONTIGUOUS: Final = 0x0001
ALIGNED: Final = 0x0100
WRITEABLE: Final = 0x0400

# the required flags of an array
READABLE: Final = C_CONTIGUOUS
WRITABLE: Final = C_CONTIGUOUS | WRITEABLE


@cache
def why_unknown() -> str | None:
    """Return how the layout of objects differs from the one that compiled code reads; None if it does not."""
    square = np.arange(15, dtype=np.float32).reshape(3, 5)
    read_only = np.arange(8).reshape(1, 2, 4)
    read_only.flags.writeable = False
    kinds = {
        "arrays": [_difference(array) for array in (square, square.T, read_only, read_only.T)],
        "floats": [_difference_of_float(number) for number in (2.5, -1e300)],
        "tuples": [_difference_of_tuple(numbers) for numbers in ((2.5,), (0.5, 1.5, 2.5))],
        "slots": [_difference_of_slots(kind()) for kind in (_WithSlots, _WithMore)],
        "slots of dicts": [_difference_of_slot_of_dict()],
    }
    for kind, differences in kinds.items():
        for found in filter(None, differences):
            return (
                f"Python {platform.python_version()} ({sys.implementation.name}) and NumPy {np.__version__} lay out "
                f"{kind} in a way that ep does not know: {found}"
            )
    return None


def data_address(array: np.ndarray[Any, Any]) -> int:
    """Return the address of an array's data. `array.ctypes.data` takes five times as long."""
    return ctypes.c_int64.from_address(id(array) + DATA).value


def _difference_of_float(number: float) -> str | None:
    """Return a description of a mismatch in a float's layout, or None."""
    for what, offset, kind, value in (
        ("type", TYPE, ctypes.c_int64, id(float)),
        ("value", FLOAT_VALUE, ctypes.c_double, number),
    ):
        if not 0 <= offset <= float.__basicsize__ - 8:
            return f"{what} cannot be at byte {offset}"
        if (found := kind.from_address(id(number) + offset).value) != value:
            return f"{what} at byte {offset} should be {value}, and is {found}"
    return None


def _difference_of_tuple(numbers: tuple[float, ...]) -> str | None:
    """Return a description of a mismatch in a tuple's layout, or None."""
    places = [("type", TYPE, id(tuple)), ("length", TUPLE_LENGTH, len(numbers))]
    places += [(f"item {i}", TUPLE_ITEMS + 8 * i, id(number)) for i, number in enumerate(numbers)]
    for what, offset, value in places:
        if not 0 <= offset <= tuple.__basicsize__ + 8 * (len(numbers) - 1):
            return f"{what} cannot be at byte {offset}"
        if (found := ctypes.c_int64.from_address(id(numbers) + offset).value) != value:
            return f"{what} at byte {offset} should be {value}, and is {found}"
    return None


class _WithSlots:
    __slots__ = ("a", "b", "c")
    a: float
    b: float
    c: float


class _Named:
    """Another base class that a class with slots may have."""


class _WithMore(_WithSlots, _Named):
    """A class that also has a dict, and supports weak references."""


def _difference_of_slots(made: _WithSlots) -> str | None:
    """Return a description of a mismatch in an object's slots, or None."""
    made.a, made.b, made.c = 0.5, 1.5, 2.5
    places = (
        ("type", TYPE, type(made)),
        ("the first", FIRST_SLOT, made.a),
        ("the second", SECOND_SLOT, made.b),
        ("the third", THIRD_SLOT, made.c),
    )
    for what, offset, value in places:
        if not 0 <= offset <= _WithSlots.__basicsize__ - 8:
            return f"{what} cannot be at byte {offset}"
        if (found := ctypes.c_int64.from_address(id(made) + offset).value) != id(value):
            return f"{what} at byte {offset} should be {id(value)}, and is {found}"
    return None


class _DictWithSlot(dict[str, float]):
    __slots__ = ("a",)
    a: float


class _DictWithMore(_DictWithSlot):
    """Its slots follow the one of its base."""

    __slots__ = ("A", "b")


def _difference_of_slot_of_dict() -> str | None:
    """Return a description of a mismatch in the first slot of a dict, or None."""
    made = _DictWithMore(key=0.5)
    made.a = 1.5
    if not 0 <= FIRST_SLOT_OF_DICT <= _DictWithSlot.__basicsize__ - 8:
        return f"the first cannot be at byte {FIRST_SLOT_OF_DICT}"
    if (found := ctypes.c_int64.from_address(id(made) + FIRST_SLOT_OF_DICT).value) != id(made.a):
        return f"the first at byte {FIRST_SLOT_OF_DICT} should be {id(made.a)}, and is {found}"
    return None


def _difference(array: np.ndarray[Any, Any]) -> str | None:
    """Return a description of a mismatch in an array's layout, or None."""
    of_array = array.flags
    flags = C_CONTIGUOUS * of_array.c_contiguous + ALIGNED * of_array.aligned + WRITEABLE * of_array.writeable
    expected: tuple[tuple[str, int, type[Any], int, int], ...] = (
        ("type", TYPE, ctypes.c_int64, -1, id(np.ndarray)),
        ("data", DATA, ctypes.c_int64, -1, array.ctypes.data),
        ("number of dims", NUM_DIMS, ctypes.c_int32, -1, array.ndim),
        ("dtype", DTYPE, ctypes.c_int64, -1, id(array.dtype)),
        ("flags", FLAGS, ctypes.c_int32, C_CONTIGUOUS | ALIGNED | WRITEABLE, flags),
    )
    for what, offset, kind, mask, value in expected:
        found = _read(array, offset, kind)
        if found is None or found & mask != value:
            return f"{what} at byte {offset} should be {value}, and is {found}"
    for what, offset, known in (("dims", DIMS, array.shape), ("strides", STRIDES, array.strides)):
        place = _read(array, offset, ctypes.c_int64)
        if place is None or place < _LOWEST_ADDRESS or place % 8:  # such an address is not read
            return f"the address of the {what} at byte {offset} cannot be {place}"
        if (words := tuple((ctypes.c_int64 * array.ndim).from_address(place))) != known:
            return f"{what} behind byte {offset} should be {known}, and are {words}"
    return None


_LOWEST_ADDRESS: Final = 4096


def _read(array: np.ndarray[Any, Any], offset: int, kind: type[Any]) -> int | None:
    """Return the number at `offset` in the array's structure, or None if that is beyond its end."""
    if not 0 <= offset <= np.ndarray.__basicsize__ - ctypes.sizeof(kind):
        return None
    return int(kind.from_address(id(array) + offset).value)
