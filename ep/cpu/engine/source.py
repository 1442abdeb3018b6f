"""Functions for Numba that differ in their number of operands: written out, since Numba has no loop over arguments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def function_of(source: str, name: str, **names: Any) -> Callable[..., Any]:
    """The function `name` of `source`, which may refer to `names`."""
    space = {"__name__": __name__, **names}  # Numba asks a function for its module
    exec(compile(source, f"<{name}>", "exec"), space)
    return space[name]  # type: ignore[no-any-return]
