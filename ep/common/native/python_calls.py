"""Functions of Python's C API for compiled code that holds the GIL. Objects are passed as their addresses."""

from __future__ import annotations

from typing import Any, Final

from numba.core import types

_WORD: Final = types.int64


def _function(name: str, result: Any, *arguments: Any) -> types.ExternalFunction:
    return types.ExternalFunction(name, result(*arguments))


add_reference: Final = _function("Py_IncRef", types.void, _WORD)
drop_reference: Final = _function("Py_DecRef", types.void, _WORD)
as_bool: Final = _function("PyBool_FromLong", _WORD, _WORD)
call: Final = _function("PyObject_Vectorcall", _WORD, _WORD, _WORD, _WORD, _WORD)
new_tuple: Final = _function("PyTuple_New", _WORD, _WORD)
new_object: Final = _function("PyType_GenericAlloc", _WORD, _WORD, _WORD)
put: Final = _function("PyDict_SetItem", types.int32, _WORD, _WORD, _WORD)
append: Final = _function("PyList_Append", types.int32, _WORD, _WORD)
look_up: Final = _function("PyDict_GetItemWithError", _WORD, _WORD, _WORD)
as_tuple: Final = _function("PyList_AsTuple", _WORD, _WORD)
is_subtype: Final = _function("PyType_IsSubtype", types.int32, _WORD, _WORD)
allocate: Final = _function("PyMem_Malloc", _WORD, _WORD)
release: Final = _function("PyMem_Free", types.void, _WORD)
no_memory: Final = _function("PyErr_NoMemory", _WORD)
bad_argument: Final = _function("PyErr_BadArgument", types.int32)

as_ssize: Final = _function("PyNumber_AsSsize_t", _WORD, _WORD, _WORD)
compare: Final = _function("PyObject_RichCompareBool", types.int32, _WORD, _WORD, types.int32)
is_true: Final = _function("PyObject_IsTrue", types.int32, _WORD)
check_signals: Final = _function("PyErr_CheckSignals", types.int32)
error_occurred: Final = _function("PyErr_Occurred", _WORD)
clear_error: Final = _function("PyErr_Clear", types.void)
as_int64: Final = _function("PyLong_AsLongLong", _WORD, _WORD)
call_with_one: Final = _function("PyObject_CallOneArg", _WORD, _WORD, _WORD)
release_gil: Final = _function("PyEval_SaveThread", _WORD)
"""The result is for `acquire_gil`."""
acquire_gil: Final = _function("PyEval_RestoreThread", types.void, _WORD)
