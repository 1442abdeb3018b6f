"""The way in which the vector functions are compiled."""

from collections.abc import Callable
from typing import Any, cast

from ep.common.deferred import Deferred
from ep.common.native.compilers import why_documented
from ep.common.native.jit import Function, documented_function
from ep.cpu.compile.jit import INNER


def inlined(function: Function) -> Function:
    """Compile `function` into every caller: LLVM would call a long one, and does not vectorise a loop with a call."""
    return function if isinstance(function, Deferred) else cast(Function, Deferred(function, _inlined))


def _inlined(function: Callable[..., Any]) -> Any:
    if why_documented():
        return documented_function(function)
    import numba

    from ep.cpu.compile.lowering import Operands

    return numba.njit(forceinline=True, pipeline_class=Operands, **INNER)(function)
