"""What other packages have added to ep in this process. Plans on disk were made without it."""

from __future__ import annotations

from functools import partial
from typing import Any, Final

_ADDED: Final[list[str]] = []


def note_addition(made: Any) -> None:
    """Note a kernel or a factory, by its class or function, unless it is one of ep's own."""
    function = made
    while isinstance(function, partial):
        function = function.func
    if getattr(function, "__module__", "").partition(".")[0] != "ep":
        _ADDED.append(str(made))


def has_additions() -> bool:
    """Return whether other packages have registered kernels of operators, or factories of primitives."""
    return bool(_ADDED)
