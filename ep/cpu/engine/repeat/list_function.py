"""The Python function that does all launches of a list: compiled code with the words of the list."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ep.common.native.python_function import bound_function


class _Holder:
    """The object in whose first slot compiled code finds the words of a list."""

    __slots__ = ("a_words", "held")

    def __init__(self, words: np.ndarray[Any, Any], held: Any) -> None:
        self.a_words, self.held = words, held


def list_function(address: int, words: np.ndarray[Any, Any], held: Any) -> Callable[..., bool]:
    """Return the function of a list's arrays: see `LaunchList.run`.

    address: that of the code. words: those of the list. held: what the launches need: it must not be freed.
    """
    return bound_function("run", address, _Holder(words, held))
