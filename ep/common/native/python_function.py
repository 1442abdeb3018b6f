"""Machine code as a Python function or method."""

from __future__ import annotations

import ctypes
import inspect
from collections.abc import Callable
from functools import cache
from typing import Any, Final


class _MethodDef(ctypes.Structure):
    """The C structure PyMethodDef."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("address", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


_KEYWORDS, _FASTCALL = 0x0002, 0x0080

_new_bound: Final = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.POINTER(_MethodDef), ctypes.py_object, ctypes.c_void_p)(
    ("PyCFunction_NewEx", ctypes.pythonapi)
)

_new_method: Final = ctypes.pythonapi.PyDescr_NewMethod
_new_method.restype = ctypes.py_object
_new_method.argtypes = (ctypes.py_object, ctypes.POINTER(_MethodDef))


def bound_function(name: str, address: int, to: object, doc: str = "") -> Callable[..., Any]:
    """Return the C function (`to`, address of arguments, their number, keyword names) at `address` as a function."""
    definition = _defined(name, address, _FASTCALL | _KEYWORDS, doc)
    function: Callable[..., Any] = _new_bound(definition, to, None)
    return function


def python_method(of: type[Any], name: str, address: int, doc: str = "") -> Callable[..., Any]:
    """Return the C function (self, address of arguments, their number, keyword names) at `address` as a method.

    of: the class of the method; only its instances are accepted as self. doc: the docstring, which may begin with the
        signature, as CPython's do.
    """
    method: Callable[..., Any] = _new_method(of, _defined(name, address, _FASTCALL | _KEYWORDS, doc))
    return method


def doc_of_method(name: str, written: Any) -> str:
    """Return the signature of a function in the form CPython uses for C methods, followed by its docstring.

    name: of the method; CPython finds no signature under another one.
    """
    signature = inspect.signature(written)
    parameters = [one.replace(annotation=one.empty) for one in signature.parameters.values()]
    plain = str(inspect.Signature(parameters)).replace("(self", "($self", 1)
    return f"{name}{plain}\n--\n\n{written.__doc__ or ''}"


@cache  # functions point to a definition, so it is kept for the lifetime of the process
def _defined(name: str, address: int, flags: int, doc: str) -> Any:
    return ctypes.byref(_MethodDef(name.encode(), address, flags, doc.encode() or None))
