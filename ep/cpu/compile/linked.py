"""Compiled code that kernels call by name: compiled once for all of them, where inlined each would compile it anew.

The symbol is resolved when the machine code of a kernel is linked, in every process again. So no address lies in the
kernel cache; but the function must be there before a kernel that calls it is compiled or loaded.
"""

from collections.abc import Callable

from llvmlite import binding as llvm
from numba.core import types

from ep.cpu.compile.compiler import compile_task


def linked(name: str, task: Callable[..., None], num_words: int) -> types.ExternalFunction:
    """Return what compiled code calls with `num_words` words: `task`, which is compiled, or loaded, here and now."""
    symbol = f"ep.{name}"
    llvm.add_symbol(symbol, compile_task(name, task, num_words))
    return types.ExternalFunction(symbol, types.void(*(types.int64,) * num_words))
