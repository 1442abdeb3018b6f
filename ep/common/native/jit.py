"""The compiler of host functions that other compiled code calls."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from ep.common.deferred import Deferred

OPTIONS: Final[dict[str, Any]] = {"error_model": "numpy", "_nrt": False}


def jit(function: Callable[..., Any]) -> Deferred:
    """Make `function` callable from other compiled functions, and only from them."""
    return Deferred(function, _compiled)


def _compiled(function: Callable[..., Any]) -> Any:
    import numba

    return numba.njit(no_cpython_wrapper=True, no_cfunc_wrapper=True, **OPTIONS)(function)
