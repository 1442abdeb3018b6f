"""The compiler options of all compiled CPU code, and the functions that compiled code calls."""

from collections.abc import Callable
from functools import partial
from typing import Any, Final

from ep.common.deferred import Deferred
from ep.cpu.compile.target import check_target

check_target()

OPTIONS: Final[dict[str, Any]] = {
    "error_model": "numpy",  # a ZeroDivisionError test in every division would keep loops scalar
    "fastmath": False,  # `contraction.py` fuses products and sums; more would break NaN and infinity
    "_nrt": False,  # no reference counts
}

INNER: Final[dict[str, Any]] = {**OPTIONS, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}
"""The options of functions called by compiled code only: wrappers would take a large part of the compile time."""


def _compiled(pipeline: str, function: Callable[..., Any]) -> Any:
    from ep.cpu.compile import lowering  # this imports Numba

    return lowering.dispatcher(function, getattr(lowering, pipeline), INNER)


_INLINED, _SEPARATE, _INTERLEAVED, _OF_PIECE, _OF_PAIRS = (
    partial(_compiled, pipeline) for pipeline in ("WideVectors", "Separate", "Interleaved", "Pieces", "PairsOfPieces")
)


def jit(function: Callable[..., Any]) -> Deferred:
    """Make `function` callable from other compiled functions, and only from them.

    It is inlined into its callers, where LLVM knows its constant arguments.
    """
    return Deferred(function, _INLINED)


def separate(function: Callable[..., Any]) -> Deferred:
    """Make `function` callable as `jit` does, but keep it a separate function, which can use all registers."""
    return Deferred(function, _SEPARATE)


def interleaved(function: Callable[..., Any]) -> Deferred:
    """Make `function` separate, and vectorise its loops several vectors at a time, for long dependency chains.

    Such a chain leaves a core waiting unless several are in flight. The core's instruction window holds only a few of
    them, and LLVM by itself interleaves only short loops.
    """
    return Deferred(function, _INTERLEAVED)


def of_piece(function: Callable[..., Any], pairs: bool = False) -> Deferred:
    """Make `function` callable as `jit` does; each of its loops over a piece becomes instructions on one vector.

    pairs: whether a loop has a turn for each pair of the `PIECE` elements, not for each element.
    """
    return Deferred(function, _OF_PAIRS if pairs else _OF_PIECE)
