"""Functions whose loops are unrolled when a compiler first asks for them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ep.common.deferred import Deferred
from ep.common.loops.writer import write_out


def written_out(compile_function: Callable[[Any], Any]) -> Callable[[Callable[..., Any]], WrittenOut]:
    """Decorate a function whose `unrolled` loops are to be unrolled.

    compile_function: compiles the unrolled function.
    """
    return lambda function: WrittenOut(function, compile_function)


class WrittenOut(Deferred):
    """A function that compiled functions call like any other. Its source is read when Numba first asks for its type.

    A kernel that is cached on disk is loaded without that.
    """

    def as_compiled(self) -> Any:
        return write_out(self.py_func)
