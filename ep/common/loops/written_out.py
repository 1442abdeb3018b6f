"""Functions whose loops are unrolled when a compiler first asks for them."""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any

from ep.common.lazy import lazy
from ep.common.loops.writer import write_out


def written_out(compile_function: Callable[[Any], Any]) -> Callable[[FunctionType], WrittenOut]:
    """Decorate a function whose `unrolled` loops are to be unrolled.

    compile_function: compiles the unrolled function.
    """
    return lambda function: WrittenOut(function, compile_function)


class WrittenOut:
    """A function that compiled functions call like any other. Its source is read when Numba first asks for its type.

    A kernel that is cached on disk is loaded without that: its key is made of `py_func`, the function as written.
    """

    def __init__(self, function: FunctionType, compile_function: Callable[[Any], Any]) -> None:
        # the attributes of Numba's compiled functions, from which keys of kernels are made
        self.py_func, self.targetoptions = function, {"compiled by": compile_function}

    @lazy
    def compiled(self) -> Any:
        """Return the compiled function."""
        return self.targetoptions["compiled by"](write_out(self.py_func))

    @property
    def _numba_type_(self) -> Any:
        return self.compiled._numba_type_
