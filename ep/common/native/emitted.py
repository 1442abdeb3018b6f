"""Functions written in LLVM IR that code compiled by Numba can call."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any

from numba.core import types
from numba.extending import intrinsic


def emitted(result: Any = types.void, **kinds: Any) -> Callable[[Callable[..., Any]], Any]:
    """Make a function for compiled code from `write(builder, *arguments)`, which writes its instructions at each call.

    result: the Numba type of the value that `write` returns.
    kinds: the Numba types of arguments, by name; all others are int64.
    Code that is itself written in LLVM IR writes the same instructions by the function's attribute `write`.
    """

    def made(write: Callable[..., Any]) -> Any:
        _, *names = inspect.signature(write).parameters
        signature = result(*(kinds.get(name, types.int64) for name in names))

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            value = write(builder, *arguments)
            return context.get_dummy_value() if value is None else value

        @wraps(write)  # Numba reads the names of the arguments, too
        def typed(typing_context: Any, *arguments: Any) -> Any:
            return signature, generate

        function = intrinsic(typed)
        function.write = write
        return function

    return made
