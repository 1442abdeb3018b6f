"""Functions for compiled code, in the form that Numba knows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba.core import types
from numba.core.typing.templates import make_intrinsic_template


class NumbaFunction:
    """A function whose calls `typed` types and writes."""

    def __init__(self, typed: Callable[..., Any]) -> None:
        template: Any = make_intrinsic_template
        self._numba_type_ = types.Function(template(self, typed, typed.__name__))
