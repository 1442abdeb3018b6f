"""The compiler options of all compiled CPU code, and the functions that compiled code calls."""

from collections.abc import Callable
from functools import partial
from typing import Any, Final, cast

from ep.common.deferred import Deferred, Inlined
from ep.common.native.compilers import why_documented
from ep.common.native.jit import Function, documented_function
from ep.cpu.compile.target import check_target

check_target()

OPTIONS: Final[dict[str, Any]] = {
    "error_model": "numpy",  # a ZeroDivisionError test in every division would keep loops scalar
    "fastmath": False,  # only what is written as `fma` is fused; more would break NaN and infinity
    "_nrt": False,  # no reference counts
}

INNER: Final[dict[str, Any]] = {**OPTIONS, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}
"""The options of functions called by compiled code only: wrappers would take a large part of the compile time."""


def _compiled(pipeline: str, function: Callable[..., Any], **options: Any) -> Any:
    if why_documented():
        return documented_function(function)
    from ep.cpu.compile import lowering  # this imports Numba

    return lowering.dispatcher(function, getattr(lowering, pipeline), {**INNER, **options})


_ALWAYS_INLINED = partial(_compiled, "WideVectors", forceinline=True)
_INLINED, _SEPARATE, _INTERLEAVED, _OF_PIECE, _OF_PAIRS = (
    partial(_compiled, pipeline) for pipeline in ("WideVectors", "Separate", "Interleaved", "Pieces", "PairsOfPieces")
)


def jit(function: Function) -> Function:
    """Make `function` callable from other compiled functions, and only from them.

    It is inlined into its callers, where LLVM knows its constant arguments, unless it is long and called several times.
    """
    return cast(Function, Deferred(function, _INLINED))


def inlined(function: Function) -> Function:
    """Make `function` a part of each of its callers, whatever its length: their arrays of vectors stay in registers."""
    return cast(Function, Inlined(function, _ALWAYS_INLINED))


def separate(function: Function) -> Function:
    """Make `function` callable as `jit` does, but keep it a separate function, which can use all registers."""
    return cast(Function, Deferred(function, _SEPARATE))


def interleaved(function: Function) -> Function:
    """Make `function` separate, and vectorise its loops several vectors at a time, for long dependency chains.

    Such a chain leaves a core waiting unless several are in flight. The core's instruction window holds only a few of
    them, and LLVM by itself interleaves only short loops.
    """
    return cast(Function, Deferred(function, _INTERLEAVED))


def of_piece(function: Function, pairs: bool = False) -> Function:
    """Make `function` callable as `jit` does; each of its loops over a piece becomes instructions on one vector.

    pairs: whether a loop has a turn for each pair of the `PIECE` elements, not for each element.
    """
    return cast(Function, Deferred(function, _OF_PAIRS if pairs else _OF_PIECE))
