"""The comparison of a call's arguments with those of an earlier call."""

from __future__ import annotations

from ep.common.native.jit import jit
from ep.common.native.object_layout import FLOAT_VALUE, TUPLE_ITEMS, TUPLE_LENGTH, TYPE
from ep.common.native.on_demand import types
from ep.common.native.python_calls import compare, is_subtype
from ep.common.native.words import load_word

_EQUAL = 2  # Py_EQ


@jit
def _are_equal_integers(one, other, int_type):
    """Return whether two objects are ints of the same value; 2.0 does not equal 2 here, nor True 1."""
    if one == other:
        return True
    if load_word(one + TYPE, 0) != int_type or load_word(other + TYPE, 0) != int_type:
        return False
    return compare(one, other, types.int32(_EQUAL)) == 1


@jit
def are_equal(given, kept, float_type, tuple_type, int_type):
    """Return whether two objects have the same type and value: floats, integers or tuples of integers.

    float_type, tuple_type, int_type: the addresses of Python's types. A tuple may be of a subtype.
    """
    if given == kept:
        return True
    given_type, kept_type = load_word(given + TYPE, 0), load_word(kept + TYPE, 0)
    if kept_type == float_type:  # by their bits, since 0.0 equals -0.0
        return given_type == kept_type and load_word(given + FLOAT_VALUE, 0) == load_word(kept + FLOAT_VALUE, 0)
    for kind in (kept_type, given_type):
        if kind != tuple_type and is_subtype(kind, tuple_type) == 0:
            return _are_equal_integers(given, kept, int_type)
    number = load_word(kept + TUPLE_LENGTH, 0)
    if load_word(given + TUPLE_LENGTH, 0) != number:
        return False
    for axis in range(number):
        one, other = load_word(given + TUPLE_ITEMS, axis), load_word(kept + TUPLE_ITEMS, axis)
        if not _are_equal_integers(one, other, int_type):
            return False
    return True
