"""Compositions that are computed in few kernels, also where nothing else is traced."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from functools import wraps
from importlib import import_module
from typing import Any, Final

from ep.common.bounded_cache import BoundedCache
from ep.common.exact import Inexact, exact
from ep.include.arrays import Arrays
from ep.include.process import exclusively
from ep.ops.declare.calls import Function
from ep.ops.devices import arrays_of

_OPERANDS: Final = "ArrayLike", "ArrayLike | None"


def joined(function: Function) -> Function:
    """Return a composition that is traced once for each combination of its other arguments, as by `ep.fuse`.

    The operands are the parameters that are annotated `ArrayLike` or `ArrayLike | None`, as `composition` reads them.
    In a trace and on a mesh, the function is called as it is.
    """
    parameters = inspect.signature(function).parameters
    names = [name for name, one in parameters.items() if one.kind is one.POSITIONAL_OR_KEYWORD]
    operands = {name for name, one in parameters.items() if one.annotation in _OPERANDS}
    first, made = names[0], BoundedCache()

    @wraps(function)
    def compute(*args: Any, **kwargs: Any) -> Any:
        given = dict(zip(names, args, strict=False)) | kwargs
        is_wrong = len(args) > len(names) or not kwargs.keys().isdisjoint(names[: len(args)])
        if is_wrong or not isinstance(arrays_of((given.get(first),), (first,)), Arrays):
            return function(*args, **kwargs)
        arrays = {name: one for name, one in given.items() if name in operands and one is not None}
        rest = {name: one for name, one in given.items() if name not in arrays}
        try:
            key = *arrays, *[(name, exact(one)) for name, one in rest.items()]
        except Inexact:  # a number of a trace, or a wrong argument
            return function(*args, **kwargs)

        def traced(*values: Any) -> Any:
            return function(**dict(zip(arrays, values, strict=True)), **rest)

        traced.__name__ = function.__name__
        return made.keep(key, lambda: _fuse(traced))(*arrays.values())

    return compute


def _fuse(function: Function) -> Function:
    """Return `ep.fuse` of a function. The layer of `ep.fuse` is above this one, so it is imported by the first call."""
    fused: Function = exclusively(lambda: import_module("ep.expressions")).fuse(function)
    return fused


def note_gradient(result: Any, inputs: Sequence[Any], rule: Callable[[Any], Sequence[Any]]) -> None:
    """Have a trace compute the gradients by inputs with a rule, given that by a result.

    It replaces the gradients of the operators that compute the result.
    """
    arrays_of((result,), ("result",)).note_gradient(result, inputs, rule)


def new_recurrence(step: Function) -> Any:
    """Return a `Recurrence`, in the layer of `ep.fuse`, which computes a step for one part of arrays after another."""
    return exclusively(lambda: import_module("ep.expressions.recurrence")).Recurrence(step)
