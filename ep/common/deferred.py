"""Functions for compiled code that are made when a compiler first asks for them.

A process has hundreds of them, and a kernel that is loaded from disk needs none: its key is made of the functions as
they are written (`ep/common/kernel_cache/reach.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ep.common.lazy import lazy


class Deferred:
    """A function that compiled functions call like any other."""

    def __init__(self, function: Any, make: Callable[[Any], Any]) -> None:
        """make: makes the object that the compiler knows; another Deferred stands for its own."""
        self.py_func, self.make = function, make

    @lazy
    def compiled(self) -> Any:
        """Return the object that the compiler knows."""
        made = self.make(self.as_compiled())
        return made.compiled if isinstance(made, Deferred) else made

    def as_compiled(self) -> Any:
        """Return the function that is compiled."""
        return self.py_func

    @property
    def _numba_type_(self) -> Any:
        return self.compiled._numba_type_
