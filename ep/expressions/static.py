"""Arguments of a fused function that are neither arrays nor numbers: a trace is for their values alone."""

from __future__ import annotations

import functools
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any, Final

import numpy as np

from ep.common.exact import Inexact, exact

_FIXED: Final = type, ModuleType, FunctionType, BuiltinFunctionType, functools.partial, np.ufunc
"""The types of objects that are equal only to themselves, and are not changed. So are wrappers of functions."""


def static_key(value: Any, name: str) -> Any:
    """Return the key of an argument that the trace depends on.

    Raises TypeError if it has none, or if its attributes may change although it stays equal to itself.
    """
    try:
        return exact(value)
    except Inexact:
        pass
    try:
        hash(value)
    except TypeError:
        raise TypeError(
            f"{name} is of {type(value).__qualname__}, which cannot be hashed; arguments are arrays, numbers, tuples, "
            f"lists and dicts of these, and values that can be hashed"
        ) from None
    kind: Any = type(value)
    if kind.__hash__ is object.__hash__ and not isinstance(value, _FIXED) and _has_attributes(value):
        raise TypeError(
            f"{name} is of {type(value).__qualname__}, whose attributes a trace would read only once; pass them as "
            f"arguments of a function, or define __eq__ and __hash__ of the class, as a frozen dataclass does"
        )
    return value


def _has_attributes(value: Any) -> bool:
    """Return whether a value has attributes of its own, which may change: not one that only wraps a function."""
    has_some = getattr(value, "__dict__", None) or any(getattr(one, "__slots__", ()) for one in type(value).__mro__)
    return bool(has_some) and not hasattr(value, "__wrapped__")
