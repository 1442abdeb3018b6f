"""Functions for compiled code, in the form that Numba knows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class NumbaFunction:
    """A function whose calls `typed` types and writes.

    calls: the signatures and the code of calls, by the types of arguments, for a compiler that keeps them.
    """

    def __init__(self, typed: Callable[..., Any], types: Any, make_template: Callable[..., Any]) -> None:
        """types, make_template: Numba's module, and its `make_intrinsic_template`, for the CPU or for CUDA."""
        self.typed, self.calls = typed, dict[Any, Any]()
        self._numba_type_ = types.Function(make_template(self, typed, typed.__name__))
