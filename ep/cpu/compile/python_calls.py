"""Functions of Python's C API for compiled code that holds the GIL. Objects are passed as their addresses."""

from __future__ import annotations

from typing import Any, Final

from numba.core import types

from ep.cpu.compile.jit import jit

_WORD: Final = types.int64


def _function(name: str, result: Any, *arguments: Any) -> types.ExternalFunction:
    return types.ExternalFunction(name, result(*arguments))


add_reference: Final = _function("Py_IncRef", types.void, _WORD)
drop_reference: Final = _function("Py_DecRef", types.void, _WORD)
as_bool: Final = _function("PyBool_FromLong", _WORD, _WORD)
call: Final = _function("PyObject_Vectorcall", _WORD, _WORD, _WORD, _WORD, _WORD)
new_tuple: Final = _function("PyTuple_New", _WORD, _WORD)
look_up: Final = _function("PyDict_GetItemWithError", _WORD, _WORD, _WORD)
as_tuple: Final = _function("PyList_AsTuple", _WORD, _WORD)
is_subtype: Final = _function("PyType_IsSubtype", types.int32, _WORD, _WORD)
no_memory: Final = _function("PyErr_NoMemory", _WORD)
bad_argument: Final = _function("PyErr_BadArgument", types.int32)

_as_ssize: Final = _function("PyNumber_AsSsize_t", _WORD, _WORD, _WORD)
_compare: Final = _function("PyObject_RichCompareBool", types.int32, _WORD, _WORD, types.int32)
_error: Final = _function("PyErr_Occurred", _WORD)
clear_error: Final = _function("PyErr_Clear", types.void)

_CLIP: Final = 0  # clip integers that exceed a word instead of raising an exception
_EQUAL: Final = 2  # Py_EQ
_INVALID: Final = -(2**63)


@jit
def as_word(number):
    """Return a Python or NumPy integer, clipped to 64 bits; any other object returns the most negative number.

    This may run arbitrary Python code.
    """
    value = _as_ssize(number, _CLIP)
    if value == -1 and _error() != 0:
        clear_error()
        return _INVALID
    return value


@jit
def are_equal_ints(one, other):
    """Return whether two objects of exactly the type int are equal."""
    return _compare(one, other, types.int32(_EQUAL)) == 1
