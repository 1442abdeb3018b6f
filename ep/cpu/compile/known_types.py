"""The types of calls of operators and built-in functions, which Numba would find anew for each call.

It tries one declaration of `+` after the other, those for arrays, tuples and texts too, each time that two integers are
added: a seventh of the time that a kernel takes to compile. What it finds depends on the types of the operands alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final
from weakref import WeakKeyDictionary

from numba.core import types
from numba.core.types.functions import BaseFunction

_SCALARS: Final = types.Number, types.Boolean, types.IntegerLiteral
_known: Final[WeakKeyDictionary[BaseFunction, dict[Any, Any]]] = WeakKeyDictionary()
"""By function, for a context and types of operands: the signature that was found, and by which declaration."""


@contextmanager
def known_call_types() -> Iterator[None]:
    """Have Numba look up calls of built-in functions with numbers that it has met before; the caller has its lock."""
    find = BaseFunction.get_call_type

    def look_up(self: Any, context: Any, args: Any, kws: Any) -> Any:
        if kws or not all(isinstance(kind, _SCALARS) for kind in args):
            return find(self, context, args, kws)
        known, key = _known.setdefault(self, {}), (context, tuple(args))
        if key not in known:
            found = find(self, context, args, kws)
            known[key] = found, self._impl_keys[found.args]
        found, declaration = known[key]
        self._impl_keys[found.args] = declaration  # an equal function may have found it
        return found

    BaseFunction.get_call_type = look_up
    try:
        yield
    finally:
        BaseFunction.get_call_type = find
