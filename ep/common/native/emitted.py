"""Functions written in LLVM IR that code compiled by Numba can call."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar, overload

import numpy as np

from ep.common.deferred import Deferred
from ep.common.native.compilers import why_documented
from ep.common.native.numba_function import NumbaFunction
from ep.common.native.on_demand import types


def intrinsic(typed: Callable[..., Any]) -> Deferred:
    """Make a function for compiled code from `typed(typing_context, *types)`.

    `typed` returns a call's signature and the function that writes its instructions, as for Numba's own decorator.
    """
    return Deferred(typed, _function)


def _function(typed: Callable[..., Any]) -> Any:
    if why_documented():
        from ep.common.native import documented

        return documented.intrinsic(typed)
    from numba.core.typing.templates import make_intrinsic_template

    return NumbaFunction(typed, types, make_intrinsic_template)


Result = TypeVar("Result")


class Emitted(Deferred, Generic[Result]):
    """A function for compiled code whose instructions `write(builder, *arguments)` writes at each call."""

    if TYPE_CHECKING:

        def __call__(self, *args: Any) -> Result: ...

    @property
    def write(self) -> Callable[..., Any]:
        """Code that is itself written in LLVM IR writes the same instructions by this."""
        write: Callable[..., Any] = self.py_func
        return write


NumbaType = str | Callable[[], Any]
"""A type of Numba's: the name that it has there, or a function that returns it."""


Maker = Callable[[Callable[..., Any]], Emitted[Result]]


@overload
def emitted(result: Literal["void"] = "void", **kinds: NumbaType) -> Maker[None]: ...
@overload
def emitted(result: Literal["int64"], **kinds: NumbaType) -> Maker[int]: ...
@overload
def emitted(result: Literal["float64"], **kinds: NumbaType) -> Maker[float]: ...
@overload
def emitted(result: Literal["float32"], **kinds: NumbaType) -> Maker[np.float32]: ...
@overload
def emitted(result: Literal["boolean"], **kinds: NumbaType) -> Maker[bool]: ...
@overload
def emitted(result: NumbaType, **kinds: NumbaType) -> Maker[Any]: ...
def emitted(result: NumbaType = "void", **kinds: NumbaType) -> Maker[Any]:
    """Make a function for compiled code from `write(builder, *arguments)`, which writes its instructions at each call.

    result: the type of the value that `write` returns.
    kinds: the types of arguments, by name; all others are int64.
    """

    def make(write: Callable[..., Any]) -> Any:
        _, *names = inspect.signature(write).parameters
        signature = numba_type(result)(*(numba_type(kinds.get(name, "int64")) for name in names))

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            value = write(builder, *arguments)
            return context.get_dummy_value() if value is None else value

        @wraps(write)  # Numba reads the names of the arguments, too
        def typed(typing_context: Any, *arguments: Any) -> Any:
            return signature, generate

        return _function(typed)

    return lambda write: Emitted(write, make)


def numba_type(of: NumbaType) -> Any:
    """Return a type of Numba's."""
    return getattr(types, of) if isinstance(of, str) else of()
