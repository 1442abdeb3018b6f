"""The comparison of a call's arguments with those of an earlier call."""

from __future__ import annotations

from ep.common.native.jit import jit
from ep.common.native.objects import FloatObject, Object, TupleObject
from ep.common.native.on_demand import types
from ep.common.native.python_calls import compare, is_subtype

_EQUAL = 2  # Py_EQ


@jit
def _are_equal_integers(one: int, other: int, int_type: int) -> bool:
    """Return whether two objects are ints of the same value; 2.0 does not equal 2 here, nor True 1."""
    if one == other:
        return True
    if Object.at(one).type != int_type or Object.at(other).type != int_type:
        return False
    return compare(one, other, types.int32(_EQUAL)) == 1


@jit
def are_equal(given: int, kept: int, float_type: int, tuple_type: int, int_type: int) -> bool:
    """Return whether two objects have the same type and value: floats, integers or tuples of integers.

    float_type, tuple_type, int_type: the addresses of Python's types. A tuple may be of a subtype.
    """
    if given == kept:
        return True
    given_type, kept_type = Object.at(given).type, Object.at(kept).type
    if kept_type == float_type:  # by their bits, since 0.0 equals -0.0
        return given_type == kept_type and FloatObject.at(given).bits == FloatObject.at(kept).bits
    for kind in (kept_type, given_type):
        if kind != tuple_type and is_subtype(kind, tuple_type) == 0:
            return _are_equal_integers(given, kept, int_type)
    number = TupleObject.at(kept).length
    if TupleObject.at(given).length != number:
        return False
    for axis in range(number):
        one, other = TupleObject.at(given).items[axis], TupleObject.at(kept).items[axis]
        if not _are_equal_integers(one, other, int_type):
            return False
    return True
