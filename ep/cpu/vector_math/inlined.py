"""The way in which the vector functions are compiled."""

from collections.abc import Callable
from typing import Any

from ep.common.deferred import Deferred
from ep.cpu.compile.jit import INNER


def inlined(function: Callable[..., Any] | Deferred) -> Deferred:
    """Compile `function` into every caller: LLVM would call a long one, and does not vectorise a loop with a call."""
    return function if isinstance(function, Deferred) else Deferred(function, _inlined)


def _inlined(function: Callable[..., Any]) -> Any:
    import numba

    from ep.cpu.compile.lowering import Operands

    return numba.njit(forceinline=True, pipeline_class=Operands, **INNER)(function)
