"""Compiled functions that kernels call by name: compiled once; inlined, they would be compiled in every kernel.

The name stands for an address that is filled in when a kernel is placed in memory, which happens in every process. So
the kernel cache holds no addresses; but the function must exist before a kernel that calls it is compiled or loaded.
"""

from collections.abc import Callable

from ep.common.native.external import External
from ep.common.native.machine_code import name_function
from ep.cpu.compile.compiler import compile_task


def linked(name: str, task: Callable[..., None], num_words: int) -> External:
    """Compile or load `task`, and return it as a function that compiled code calls with `num_words` int64 words."""
    symbol = f"ep.{name}"
    name_function(symbol, compile_task(name, task, num_words))
    return External(symbol, "void", *["int64"] * num_words)
