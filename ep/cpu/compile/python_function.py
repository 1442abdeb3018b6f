"""Machine code as a function of Python's."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any, Final


class _MethodDef(ctypes.Structure):
    """PyMethodDef."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("address", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


_VARARGS_AND_KEYWORDS: Final = 0x0001 | 0x0002
_new: Final = ctypes.pythonapi.PyCFunction_NewEx
_new.restype = ctypes.py_object
_new.argtypes = (ctypes.POINTER(_MethodDef), ctypes.c_void_p, ctypes.c_void_p)

_definitions: Final[list[_MethodDef]] = []
"""What functions point to, for as long as there may be one."""


def python_function(name: str, address: int) -> Callable[..., Any]:
    """Return the C function (self, tuple of arguments, dict of keywords) at `address` as one that Python calls."""
    definition = _MethodDef(name.encode(), address, _VARARGS_AND_KEYWORDS, None)
    _definitions.append(definition)
    function: Callable[..., Any] = _new(ctypes.byref(definition), None, None)
    return function
