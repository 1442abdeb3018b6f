"""C functions that compiled code calls by name."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

from llvmlite import ir

from ep.common.deferred import Deferred
from ep.common.native.emitted import emitted


class External(Deferred):
    """A C function that compiled functions call like any other."""

    if TYPE_CHECKING:

        def __call__(self, *args: Any) -> int: ...

    def __init__(self, symbol: str, result: str, *arguments: str) -> None:
        """result, arguments: the names of types of Numba's: of integers, or "void"."""
        super().__init__((symbol, result, arguments), _called)
        self.symbol = symbol


def _called(of: tuple[str, str, tuple[str, ...]]) -> Any:
    symbol, result, arguments = of
    names = [f"argument{number}" for number in range(len(arguments))]

    def write(builder: Any, *given: Any) -> Any:
        function = builder.module.globals.get(symbol)
        if function is None:
            returned = ir.VoidType() if result == "void" else ir.IntType(int(result.removeprefix("int")))
            kind = ir.FunctionType(returned, [one.type for one in given])
            function = ir.Function(builder.module, kind, symbol)
        value = builder.call(function, given)
        return None if result == "void" else value

    parameter = inspect.Parameter
    of_write = [parameter(name, parameter.POSITIONAL_OR_KEYWORD) for name in ("builder", *names)]
    write.__signature__ = inspect.Signature(of_write)  # type: ignore[attr-defined]
    return emitted(result, **dict(zip(names, arguments, strict=True)))(write)
