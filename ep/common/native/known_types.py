"""A cache of the types of calls, which Numba would resolve again for each call.

Each time that two integers are added, Numba tries one declaration of `+` after the other, including those for arrays,
tuples and strings. This takes a seventh of a kernel's compile time. For each call of a compiled function it makes a new
template from the signatures of that function, in each round of its type inference. The result depends only on the types
of the operands.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final
from weakref import WeakKeyDictionary

from numba.core import types
from numba.core.types.functions import BaseFunction, Dispatcher

from ep.common.native.replaced import replaced

_KEPT: Final = types.Number, types.Boolean, types.IntegerLiteral, types.BaseTuple, types.Array
_known: Final[WeakKeyDictionary[types.Type, dict[Any, Any]]] = WeakKeyDictionary()
"""The signatures found, with the declarations of built-in ones: by function, context and types of operands."""


@contextmanager
def known_call_types() -> Iterator[None]:
    """Make Numba reuse the types of calls with numbers, tuples and arrays; the caller holds Numba's lock."""
    name, built_in, compiled = "get_call_type", BaseFunction.get_call_type, Dispatcher.get_call_type
    with (
        replaced(BaseFunction, name, _of_built_in(built_in)),
        replaced(Dispatcher, name, _of_compiled(compiled)),
    ):
        yield


def _of_built_in(find: Callable[..., Any]) -> Callable[..., Any]:
    def look_up(self: Any, context: Any, args: Any, kws: Any) -> Any:
        if kws or not all(isinstance(kind, _KEPT) for kind in args):
            return find(self, context, args, kws)
        known, key = _known.setdefault(self, {}), (context, tuple(args))
        if key not in known:
            found = find(self, context, args, kws)
            known[key] = found, self._impl_keys[found.args]
        found, declaration = known[key]
        self._impl_keys[found.args] = declaration  # an equal function may have resolved it
        return found

    return look_up


def _of_compiled(find: Callable[..., Any]) -> Callable[..., Any]:
    def look_up(self: Any, context: Any, args: Any, kws: Any) -> Any:
        if kws:
            return find(self, context, args, kws)
        known, key = _known.setdefault(self, {}), (context, tuple(args))
        if key not in known:
            known[key] = find(self, context, args, kws)
        return known[key]

    return look_up
