"""Functions written in LLVM IR that code compiled by Numba can call."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any

from numba.core import types
from numba.core.typing.templates import make_intrinsic_template

from ep.common.deferred import Deferred


class _Function:
    """A function for compiled code, in the form that Numba knows."""

    def __init__(self, typed: Callable[..., Any]) -> None:
        self._numba_type_ = types.Function(make_intrinsic_template(self, typed, typed.__name__))


def intrinsic(typed: Callable[..., Any]) -> Deferred:
    """Make a function for compiled code from `typed(typing_context, *types)`.

    `typed` returns a call's signature and the function that writes its instructions, as for Numba's own decorator.
    """
    return Deferred(typed, _Function)


class Emitted(Deferred):
    """A function for compiled code whose instructions `write(builder, *arguments)` writes at each call."""

    @property
    def write(self) -> Callable[..., Any]:
        """Code that is itself written in LLVM IR writes the same instructions by this."""
        write: Callable[..., Any] = self.py_func
        return write


def emitted(result: Any = types.void, **kinds: Any) -> Callable[[Callable[..., Any]], Emitted]:
    """Make a function for compiled code from `write(builder, *arguments)`, which writes its instructions at each call.

    result: the Numba type of the value that `write` returns.
    kinds: the Numba types of arguments, by name; all others are int64.
    """

    def make(write: Callable[..., Any]) -> _Function:
        _, *names = inspect.signature(write).parameters
        signature = result(*(kinds.get(name, types.int64) for name in names))

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            value = write(builder, *arguments)
            return context.get_dummy_value() if value is None else value

        @wraps(write)  # Numba reads the names of the arguments, too
        def typed(typing_context: Any, *arguments: Any) -> Any:
            return signature, generate

        return _Function(typed)

    return lambda write: Emitted(write, make)
