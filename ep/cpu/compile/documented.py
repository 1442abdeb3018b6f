"""C functions that Numba compiles by its documented interface; one that is written in LLVM IR is an intrinsic."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

from numba import types
from numba.extending import intrinsic

from ep.common.native.documented_functions import c_function
from ep.common.source import function_of
from ep.cpu.compile import vector_types  # noqa: F401  it tells Numba about vectors
from ep.cpu.compile.code import Code, Write

__all__ = ["c_function", "written_task"]


class _Code(Code):
    """The part of a function that an intrinsic writes."""

    def __init__(self, builder: Any, context: Any, typing_context: Any) -> None:
        super().__init__(builder, context)
        self._typing = typing_context

    def call(self, function: Any, arguments: Sequence[Any], kinds: Sequence[Any]) -> tuple[Any, Any]:
        kind = self._typing.resolve_value_type(function)
        signature = self._typing.resolve_function_type(kind, tuple(kinds), {})
        return self.context.get_function(kind, signature)(self.builder, arguments), signature.return_type

    def call_apart(self, write: Write, arguments: Sequence[Any]) -> None:
        write(self, *arguments)


def written_task(write: Write, num_words: int) -> int:
    """Return the address of the C function of `num_words` int64 arguments that `write` writes."""
    words = [f"word{number}" for number in range(num_words)]

    def typed(typing_context: Any, *given: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            write(_Code(builder, context, typing_context), *args)
            return context.get_dummy_value()

        return types.void(*[types.int64] * num_words), generate

    parameter = inspect.Parameter
    of_typed = [parameter(name, parameter.POSITIONAL_OR_KEYWORD) for name in ("typing_context", *words)]
    typed.__signature__ = inspect.Signature(of_typed)  # type: ignore[attr-defined]
    text = f"def task({', '.join(words)}):\n    body({', '.join(words)})\n"
    task = function_of(text, "task", __name__, {"body": intrinsic(typed)})
    return c_function(task, types.void)
