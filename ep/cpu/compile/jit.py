"""The options with which Numba compiles everything on the CPU."""

from collections.abc import Callable
from typing import Any, Final

import numba
from numba.core import types
from numba.core.registry import CPUDispatcher

from ep.cpu.compile.lowering import Interleaved, Kernel, Separate, WideVectors
from ep.cpu.compile.target import check_target
from ep.include.errors import EnvironmentVariableError

if numba.config.DISABLE_JIT:  # by Numba's file of settings or by the program, for the variable has been checked
    raise EnvironmentVariableError(
        "numba.config.DISABLE_JIT is set; it must be 0: kernels work on raw memory and cannot run uncompiled"
    )

check_target()

OPTIONS: Final[dict[str, Any]] = {
    "error_model": "numpy",  # a ZeroDivisionError test in every division would keep loops scalar
    "fastmath": False,  # `contraction.py` fuses products and sums; more would break NaN and infinity
    "_nrt": False,  # no reference counts
}

OUTER: Final[dict[str, Any]] = {**OPTIONS, "pipeline_class": Kernel}
"""The options of functions that Python calls. The functions that they call are inlined into their machine code."""

INNER: Final[dict[str, Any]] = {**OPTIONS, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}
"""The options of functions that only compiled functions call. They have no wrappers, which take long to compile."""


class _Inlined(CPUDispatcher):
    """A function that becomes a part of those that call it, where LLVM knows its constant arguments.

    So it is compiled once for all integers, where Numba would compile it for each constant.
    """

    def get_call_template(self, args: Any, kws: Any) -> Any:
        return super().get_call_template(tuple(map(types.unliteral, args)), kws)


def jit(function: Callable[..., Any]) -> Any:
    """Make `function` callable from other compiled functions, and from those alone: Python would crash."""
    return _Inlined(function, targetoptions={"nopython": True, **INNER}, pipeline_class=WideVectors)


def separate(function: Callable[..., Any]) -> Any:
    """Like `jit`, for what is to be a function of its own in the machine code: it has all registers for itself."""
    return numba.njit(pipeline_class=Separate, **INNER)(function)


def interleaved(function: Callable[..., Any]) -> Any:
    """Like `separate`, for loops of long chains of dependent instructions, vectorised several vectors at a time.

    Such a chain leaves a core waiting unless it has several of them at once. Its own window is too short for more than
    a few, and LLVM interleaves only loops that are short.
    """
    return numba.njit(pipeline_class=Interleaved, **INNER)(function)
