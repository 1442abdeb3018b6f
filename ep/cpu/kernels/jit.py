"""How everything on the CPU is compiled."""

from collections.abc import Callable
from typing import Any, Final

import numba

if numba.config.DISABLE_JIT:
    raise RuntimeError(
        "NUMBA_DISABLE_JIT is set: the CPU kernels work on raw memory and cannot run uncompiled; unset it"
    )

OPTIONS: Final[dict[str, Any]] = {
    "error_model": "numpy",  # a ZeroDivisionError test in every division would keep loops scalar
    "fastmath": {"contract"},  # more would break NaN and infinity
}

INNER: Final[dict[str, Any]] = {**OPTIONS, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}
"""Of what compiled functions alone call: its wrappers for others would be a good part of the time to compile it."""


def jit(function: Callable[..., Any]) -> Any:
    """Make `function` callable from other compiled functions."""
    return numba.njit(**OPTIONS)(function)
