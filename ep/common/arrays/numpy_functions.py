"""NumPy's functions on arrays that are not NumPy's: each is the function of `ep.ops` with the same meaning."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final

import numpy as np

from ep.common.lazy import LazyTable
from ep.include.synonyms import SYNONYMS

FUNCTIONS: Final = LazyTable[Callable[..., Any]]()
"""The functions of operators by name, including aliases. They are added where they are declared."""

_RENAMED: Final = frozenset(
    [
        *("absolute", "amax", "amin", "arccos", "arccosh", "arcsin", "arcsinh", "arctan", "arctanh", "around"),
        *("concatenate", "conjugate", "cumprod", "cumsum", "fabs", "invert", "power"),
    ]
)
"""NumPy's names of functions that `ep.ops` has under another name, with the same first arguments."""

_ALIKE: Final = frozenset(
    [
        *("all", "any", "argmax", "argmin", "argsort", "astype", "broadcast_to", "clip", "concat", "cumulative_prod"),
        *("cumulative_sum", "expand_dims", "flip", "full_like", "imag"),
        *("isclose", "matrix_transpose", "max", "mean", "min", "moveaxis", "ones_like", "pad", "permute_dims"),
        *("prod", "real", "reshape", "roll", "round", "sort", "split", "squeeze", "stack", "std", "sum", "tensordot"),
        *("tile", "transpose", "var", "where", "zeros_like"),
    ]
)
"""The functions of NumPy that are no ufuncs, and have the same name and the same first arguments in `ep.ops`."""

_PARAMETERS: Final = {"a_min": "min", "a_max": "max", "ddof": "correction", "reps": "repetitions"}
"""NumPy's names of parameters, after the operands, that `ep.ops` has under another name."""
_OPERANDS: Final = {"a": 0, "m": 0, "val": 0, "array": 0, "A": 0, "ary": 0, "arrays": 0, "condition": 0, "b": 1}
"""NumPy's names of operands, and their positions. An operand `x` has this name in `ep.ops`, too."""
_AS_OURS: Final = frozenset(["axis", "keepdims"])

_OF_REAL: Final = {"conj": "identity", "real": "identity", "imag": "zeros_like"}
"""The functions of complex numbers that NumPy also has for real numbers, and what they are for these."""
_REDUCED: Final = {"add": "sum", "multiply": "prod", "maximum": "max", "minimum": "min"}
_PROPERTIES: Final = "shape", "ndim", "size"


def of_ufunc(ufunc: np.ufunc, method: str, inputs: Sequence[Any], options: Mapping[str, Any]) -> Any:
    """Return the result of a ufunc, as `__array_ufunc__`; TypeError if `ep.ops` has no such function."""
    name, rest = _of_numbers(_our_name(ufunc.__name__), inputs), dict(options)
    out = rest.pop("out", None)
    if method != "__call__":
        instead = _instead(_REDUCED.get(ufunc.__name__, "")) if method == "reduce" else ""
        raise TypeError(f"numpy.{ufunc.__name__}.{method} takes arrays of the host alone{instead}")
    if name not in FUNCTIONS:
        raise TypeError(f"numpy.{ufunc.__name__} takes arrays of the host alone{_instead(ufunc.__name__)}")
    if out is not None and "out" not in _parameters_of(FUNCTIONS[name]):
        rest["out"] = out
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
            ours = _of_numbers(_our_name(name), args)
            if name == "where" or len(args) > 1 or not kwargs.keys() <= _AS_OURS:
                args, kwargs = (), _arguments(function, ours, args, kwargs)
            return FUNCTIONS[ours](*args, **kwargs)
        if name in _PROPERTIES and len(args) == 1 and not kwargs:
            return getattr(args[0], name)
    try:
        on_host = [_on_host(one) for one in args], {key: _on_host(one) for key, one in kwargs.items()}
    except TypeError as error:
        instead = _instead(name)
        why = f" takes arrays of the host alone{instead}" if instead else f": {error}"
        raise TypeError(f"{function.__module__}.{name}{why}") from None
    return function(*on_host[0], **on_host[1])


def _arguments(
    function: Callable[..., Any], ours: str, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the arguments of a function of NumPy as those of ours, by name, without those that have defaults.

    Raises TypeError if ours has no such parameter, or needs another.
    """
    theirs, parameters = _parameters_of(function), _parameters_of(FUNCTIONS[ours])
    given: dict[str, Any] = {}
    for name, value in inspect.Signature([*theirs.values()]).bind(*args, **kwargs).arguments.items():
        given |= value if theirs[name].kind is inspect.Parameter.VAR_KEYWORD else {name: value}
    named, positions = {}, [*parameters]
    for name, value in given.items():
        default = theirs[name].default if name in theirs else inspect.Parameter.empty
        if value is default or (type(value) is type(default) and value == default):
            continue
        other = positions[_OPERANDS[name]] if name in _OPERANDS else _PARAMETERS.get(name, name)
        if other not in parameters:
            raise TypeError(f"numpy.{function.__name__} with {name} takes arrays of the host alone{_instead(ours)}")
        if other in named:
            raise TypeError(f"numpy.{function.__name__} has {name} and {other}, which are two names of one parameter")
        named[other] = value
    missing = [name for name, one in parameters.items() if one.default is one.empty and name not in named]
    if missing:
        listed = " and ".join(missing)
        raise TypeError(f"numpy.{function.__name__} without {listed} takes arrays of the host alone{_instead(ours)}")
    return named


@lru_cache
def _parameters_of(function: Callable[..., Any]) -> Mapping[str, inspect.Parameter]:
    return inspect.signature(function).parameters


def _of_numbers(name: str, inputs: Sequence[Any]) -> str:
    """Return the name of a function, or for real numbers what it is for them."""
    dtype = getattr(inputs[0], "dtype", None) if name in _OF_REAL and inputs else None
    return _OF_REAL[name] if isinstance(dtype, np.dtype) and dtype.kind != "c" else name


def _on_host(value: Any) -> Any:
    """Return an array that has its own `__array__` as an ndarray, also in a list or tuple."""
    if isinstance(value, list | tuple):
        return type(value)([_on_host(one) for one in value])
    return np.asarray(value) if getattr(type(value), "__array_function__", None) is not None else value


def _our_name(name: str) -> str:
    """Return the name in `ep.ops` of a function of NumPy with the same meaning; its own name if there is none."""
    return SYNONYMS[name] if name in _RENAMED else name


def _instead(name: str) -> str:
    """Return the part of an error that names the function of `ep.ops` to use."""
    if name == "repeat":  # another function
        return ""
    meant = SYNONYMS.get(name, name)
    return f"; use ep.ops.{meant}" if meant in FUNCTIONS else ""
