"""Compiled functions that kernels call by name: compiled once; inlined, they would be compiled in every kernel.

The symbol is resolved when a kernel's machine code is linked, which happens in every process. So the kernel cache holds
no addresses; but the function must exist before a kernel that calls it is compiled or loaded.
"""

from collections.abc import Callable

from llvmlite import binding as llvm
from numba.core import types

from ep.cpu.compile.compiler import compile_task


def linked(name: str, task: Callable[..., None], num_words: int) -> types.ExternalFunction:
    """Compile or load `task`, and return it as a function that compiled code calls with `num_words` int64 words."""
    symbol = f"ep.{name}"
    llvm.add_symbol(symbol, compile_task(name, task, num_words))
    return types.ExternalFunction(symbol, types.void(*(types.int64,) * num_words))
