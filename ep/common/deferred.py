"""Functions for compiled code that are made when a compiler first asks for them.

A process has hundreds of them, and a kernel that is loaded from disk needs none.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, Any, Final

from ep.common.bounded_cache import BoundedCache
from ep.common.equal_functions import NotComparable, key_of
from ep.common.lazy import lazy

_MADE: Final = BoundedCache()
"""Objects that a compiler knows, by what they are made of: it compiles equal functions once in a process."""


class Deferred:
    """A function that compiled functions call like any other."""

    def __init__(self, function: Any, make: Callable[[Any], Any]) -> None:
        """make: makes the object that the compiler knows; another Deferred stands for its own."""
        self.py_func, self.make, self._is_compared = function, make, False

    if TYPE_CHECKING:

        def __call__(self, *args: Any) -> Any:
            """Only compiled functions call it."""

    @lazy
    def compiled(self) -> Any:
        """Return the object that the compiler knows, the same one for equal functions (`equal_functions.py`)."""
        self._is_compared = True
        try:
            key = type(self), key_of(self.make), key_of(self.py_func)
        except NotComparable:
            return self._made()
        finally:
            self._is_compared = False
        return _MADE.keep(key, self._made)

    def _made(self) -> Any:
        made = self.make(self.as_compiled())
        return made.compiled if isinstance(made, Deferred) else made

    def as_compiled(self) -> Any:
        """Return the function that is compiled."""
        return self.py_func

    @property
    def _numba_type_(self) -> Any:
        return self.compiled._numba_type_


class Inlined(Deferred):
    """A function that becomes a part of each of its callers."""


@key_of.register
def _(value: Deferred, within: object = ()) -> Hashable:
    if value._is_compared:  # it refers to itself
        raise NotComparable
    return key_of(value.compiled)
