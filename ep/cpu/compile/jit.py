"""The compiler options of all compiled CPU code."""

from collections.abc import Callable
from typing import Any, Final

import numba
from numba.core import types
from numba.core.registry import CPUDispatcher

from ep.common.deferred import Deferred
from ep.cpu.compile.lowering import Interleaved, Kernel, PairsOfPieces, Pieces, Separate, WideVectors
from ep.cpu.compile.target import check_target
from ep.include.errors import EnvironmentVariableError

if numba.config.DISABLE_JIT:  # set by Numba's settings file or the program; the environment variable is checked already
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
"""The options of functions that Python calls: everything they call becomes part of their machine code."""

INNER: Final[dict[str, Any]] = {**OPTIONS, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}
"""The options of functions called by compiled code only: wrappers would take a large part of the compile time."""


class _OfNumbers(CPUDispatcher):
    """A function that is compiled once for all integers; Numba would compile it for each constant."""

    def get_call_template(self, args: Any, kws: Any) -> Any:
        return super().get_call_template(tuple(map(types.unliteral, args)), kws)


def _inner(function: Callable[..., Any], pipeline: Any) -> Any:
    return _OfNumbers(function, targetoptions={"nopython": True, **INNER}, pipeline_class=pipeline)


def jit(function: Callable[..., Any]) -> Deferred:
    """Make `function` callable from other compiled functions, and only from them.

    It is inlined into its callers, where LLVM knows its constant arguments.
    """
    return Deferred(function, _inlined)


def _inlined(function: Callable[..., Any]) -> Any:
    return _inner(function, WideVectors)


def separate(function: Callable[..., Any]) -> Deferred:
    """Make `function` callable as `jit` does, but keep it a separate function, which can use all registers."""
    return Deferred(function, _separate)


def _separate(function: Callable[..., Any]) -> Any:
    return _inner(function, Separate)


def interleaved(function: Callable[..., Any]) -> Deferred:
    """Make `function` separate, and vectorise its loops several vectors at a time, for long dependency chains.

    Such a chain leaves a core waiting unless several are in flight. The core's instruction window holds only a few of
    them, and LLVM by itself interleaves only short loops.
    """
    return Deferred(function, _interleaved)


def _interleaved(function: Callable[..., Any]) -> Any:
    return _inner(function, Interleaved)


def of_piece(function: Callable[..., Any], pairs: bool = False) -> Deferred:
    """Make `function` callable as `jit` does; each of its loops over a piece becomes instructions on one vector.

    pairs: whether a loop has a turn for each pair of the `PIECE` elements, not for each element.
    """
    return Deferred(function, _of_pairs if pairs else _of_piece)


def _of_piece(function: Callable[..., Any]) -> Any:
    return _inner(function, Pieces)


def _of_pairs(function: Callable[..., Any]) -> Any:
    return _inner(function, PairsOfPieces)
