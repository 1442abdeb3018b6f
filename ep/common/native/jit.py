"""The compiler of host functions that other compiled code calls."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numba

OPTIONS: Final[dict[str, Any]] = {"error_model": "numpy", "_nrt": False}


def jit(function: Callable[..., Any]) -> Any:
    """Make `function` callable from other compiled functions, and only from them: a call from Python would crash."""
    return numba.njit(no_cpython_wrapper=True, no_cfunc_wrapper=True, **OPTIONS)(function)
