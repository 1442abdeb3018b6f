"""The compiler of host functions that other compiled code calls."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeVar, cast

from ep.common.deferred import Deferred
from ep.common.native.compilers import why_documented

Function = TypeVar("Function", bound=Callable[..., Any])

OPTIONS: Final[dict[str, Any]] = {"nopython": True, "error_model": "numpy", "_nrt": False}


def jit(function: Function) -> Function:
    """Make `function` callable from other compiled functions, and only from them.

    Arguments are int64, or pointers to records if their annotations are classes of these.
    """
    return cast(Function, Deferred(function, _compiled))


def _compiled(function: Callable[..., Any]) -> Any:
    if why_documented():
        return documented_function(function)
    from ep.common.native.dispatcher import Dispatcher

    return Dispatcher(function, targetoptions={"no_cpython_wrapper": True, "no_cfunc_wrapper": True, **OPTIONS})


def documented_function(function: Callable[..., Any]) -> Any:
    """Return a function for other compiled functions, as Numba compiles it by its documented interface."""
    from ep.common.native import documented_functions

    return documented_functions.inner(function)
