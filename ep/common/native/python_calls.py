"""Functions of Python's C API for compiled code that holds the GIL. Objects are passed as their addresses."""

from __future__ import annotations

from typing import Final

from ep.common.native.external import External

_WORD: Final = "int64"

add_reference: Final = External("Py_IncRef", "void", _WORD)
drop_reference: Final = External("Py_DecRef", "void", _WORD)
as_bool: Final = External("PyBool_FromLong", _WORD, _WORD)
call: Final = External("PyObject_Vectorcall", _WORD, _WORD, _WORD, _WORD, _WORD)
new_tuple: Final = External("PyTuple_New", _WORD, _WORD)
put: Final = External("PyDict_SetItem", "int32", _WORD, _WORD, _WORD)
append: Final = External("PyList_Append", "int32", _WORD, _WORD)
new_list: Final = External("PyList_New", _WORD, _WORD)
put_item: Final = External("PyList_SetItem", "int32", _WORD, _WORD, _WORD)
"""It takes the reference to the item."""
look_up: Final = External("PyDict_GetItemWithError", _WORD, _WORD, _WORD)
as_tuple: Final = External("PyList_AsTuple", _WORD, _WORD)
type_flags: Final = External("PyType_GetFlags", _WORD, _WORD)
is_subtype: Final = External("PyType_IsSubtype", "int32", _WORD, _WORD)
allocate: Final = External("PyMem_Malloc", _WORD, _WORD)
release: Final = External("PyMem_Free", "void", _WORD)
no_memory: Final = External("PyErr_NoMemory", _WORD)
set_error: Final = External("PyErr_SetString", "void", _WORD, _WORD)
as_int: Final = External("PyLong_FromLongLong", _WORD, _WORD)
bad_argument: Final = External("PyErr_BadArgument", "int32")

as_ssize: Final = External("PyNumber_AsSsize_t", _WORD, _WORD, _WORD)
compare: Final = External("PyObject_RichCompareBool", "int32", _WORD, _WORD, "int32")
check_signals: Final = External("PyErr_CheckSignals", "int32")
error_occurred: Final = External("PyErr_Occurred", _WORD)
clear_error: Final = External("PyErr_Clear", "void")
as_int64: Final = External("PyLong_AsLongLong", _WORD, _WORD)
call_with_one: Final = External("PyObject_CallOneArg", _WORD, _WORD, _WORD)
release_gil: Final = External("PyEval_SaveThread", _WORD)
"""The result is for `acquire_gil`."""
acquire_gil: Final = External("PyEval_RestoreThread", "void", _WORD)
