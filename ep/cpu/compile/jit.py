"""The compiler options of all compiled CPU code, and the functions that compiled code calls."""

from collections.abc import Callable
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


def jit(function: Callable[..., Any]) -> Deferred:
    """Make `function` callable from other compiled functions, and only from them.

    It is inlined into its callers, where LLVM knows its constant arguments.
    """
    return Deferred(function, _inlined)


def _inlined(function: Callable[..., Any]) -> Any:
    from ep.cpu.compile.lowering import WideVectors, dispatcher  # this imports Numba

    return dispatcher(function, WideVectors, INNER)


def separate(function: Callable[..., Any]) -> Deferred:
    """Make `function` callable as `jit` does, but keep it a separate function, which can use all registers."""
    return Deferred(function, _separate)


def _separate(function: Callable[..., Any]) -> Any:
    from ep.cpu.compile.lowering import Separate, dispatcher  # this imports Numba

    return dispatcher(function, Separate, INNER)


def interleaved(function: Callable[..., Any]) -> Deferred:
    """Make `function` separate, and vectorise its loops several vectors at a time, for long dependency chains.

    Such a chain leaves a core waiting unless several are in flight. The core's instruction window holds only a few of
    them, and LLVM by itself interleaves only short loops.
    """
    return Deferred(function, _interleaved)


def _interleaved(function: Callable[..., Any]) -> Any:
    from ep.cpu.compile.lowering import Interleaved, dispatcher  # this imports Numba

    return dispatcher(function, Interleaved, INNER)


def of_piece(function: Callable[..., Any], pairs: bool = False) -> Deferred:
    """Make `function` callable as `jit` does; each of its loops over a piece becomes instructions on one vector.

    pairs: whether a loop has a turn for each pair of the `PIECE` elements, not for each element.
    """
    return Deferred(function, _of_pairs if pairs else _of_piece)


def _of_piece(function: Callable[..., Any]) -> Any:
    from ep.cpu.compile.lowering import Pieces, dispatcher  # this imports Numba

    return dispatcher(function, Pieces, INNER)


def _of_pairs(function: Callable[..., Any]) -> Any:
    from ep.cpu.compile.lowering import PairsOfPieces, dispatcher  # this imports Numba

    return dispatcher(function, PairsOfPieces, INNER)
