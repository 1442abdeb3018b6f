"""NumPy's functions on arrays that are not NumPy's: each is the function of `ep.ops` with the same meaning."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np

from ep.common.lazy import LazyTable
from ep.include.suggest import did_you_mean
from ep.include.synonyms import SYNONYMS

FUNCTIONS: Final = LazyTable[Callable[..., Any]]()
"""The functions of operators by name, including aliases. They are added where they are declared."""

_RENAMED: Final = frozenset(
    [
        *("absolute", "amax", "amin", "arccos", "arccosh", "arcsin", "arcsinh", "arctan", "arctanh", "around"),
        *("concatenate", "conjugate", "fabs", "invert", "power"),
    ]
)
"""NumPy's names of functions that `ep.ops` has under another name, with the same first arguments."""

_ALIKE: Final = frozenset(
    [
        *("all", "any", "astype", "broadcast_to", "clip", "concat", "expand_dims", "flip", "full_like", "imag"),
        *("isclose", "matrix_transpose", "max", "mean", "min", "moveaxis", "ones_like", "pad", "permute_dims"),
        *("prod", "real", "reshape", "roll", "round", "split", "squeeze", "stack", "std", "sum", "tensordot"),
        *("tile", "transpose", "var", "where", "zeros_like"),
    ]
)
"""The functions of NumPy that are no ufuncs, and have the same name and the same first arguments in `ep.ops`."""

_REDUCED: Final = {"add": "sum", "multiply": "prod", "maximum": "max", "minimum": "min"}
_PROPERTIES: Final = "shape", "ndim", "size"


def of_ufunc(ufunc: np.ufunc, method: str, inputs: Sequence[Any], options: Mapping[str, Any]) -> Any:
    """Return the result of a ufunc, as `__array_ufunc__`; TypeError if `ep.ops` has no such function."""
    name, rest = _our_name(ufunc.__name__), dict(options)
    out = rest.pop("out", None)
    if method != "__call__":
        instead = _instead(_REDUCED.get(ufunc.__name__, ""))
        raise TypeError(f"numpy.{ufunc.__name__}.{method} takes arrays of the host alone{instead}")
    if name not in FUNCTIONS:
        raise TypeError(f"numpy.{ufunc.__name__} takes arrays of the host alone{_instead(ufunc.__name__)}")
    if rest:
        raise TypeError(f"numpy.{ufunc.__name__} with {', '.join(rest)} takes arrays of the host alone{_instead(name)}")
    return FUNCTIONS[name](*inputs) if out is None else FUNCTIONS[name](*inputs, out=out[0])


def of_function(function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """Return the result of another function of NumPy, as `__array_function__`.

    One that `ep.ops` does not have computes on the host, if the arrays may be converted to ndarrays.
    """
    name = function.__name__
    if function.__module__ == np.__name__:
        if name in _ALIKE or name in _RENAMED:
            return FUNCTIONS[_our_name(name)](*args, **kwargs)
        if name in _PROPERTIES and len(args) == 1 and not kwargs:
            return getattr(args[0], name)
    try:
        on_host = [_on_host(one) for one in args], {key: _on_host(one) for key, one in kwargs.items()}
    except TypeError as error:
        raise TypeError(f"{function.__module__}.{name}: {error}{_instead(name)}") from None
    return function(*on_host[0], **on_host[1])


def _on_host(value: Any) -> Any:
    """Return an array that has its own `__array__` as an ndarray, also in a list or tuple."""
    if isinstance(value, list | tuple):
        return type(value)([_on_host(one) for one in value])
    return np.asarray(value) if getattr(type(value), "__array_function__", None) is not None else value


def _our_name(name: str) -> str:
    """Return the name in `ep.ops` of a function of NumPy with the same meaning; its own name if there is none."""
    return "true_divide" if name == "divide" else SYNONYMS[name] if name in _RENAMED else name


def _instead(name: str) -> str:
    """Return the part of an error that names the function of `ep.ops` to use."""
    if name == "repeat":  # another function
        return ""
    meant = SYNONYMS.get(name, name)
    return f"; use ep.ops.{meant}" if meant in FUNCTIONS else did_you_mean(name, FUNCTIONS)
