"""Tasks written directly in LLVM IR that call compiled functions.

Row kernels share one loop and differ only in the function that it calls. Numba would type and lower the loop again for
each function, which takes longer than compiling the function itself.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

from ep.common.native.external import External
from ep.common.native.on_demand import types
from ep.common.native.pointer_code import PointerValue
from ep.cpu.compile.vectors import NOTHING, call

Write = Callable[..., None]
"""`write(code, *arguments)` writes the body of a function that receives these arguments and returns nothing."""


class Code(ABC):
    """A function under construction: `builder` writes its instructions, the methods write its calls.

    context: Numba's, which converts numbers.
    """

    def __init__(self, builder: Any, context: Any) -> None:
        self.builder, self.context = builder, context

    @abstractmethod
    def call(self, function: Any, arguments: Sequence[Any], kinds: Sequence[Any]) -> tuple[Any, Any]:
        """Compile a function for arguments of these Numba types and call it; return the result and its type."""

    @abstractmethod
    def call_apart(self, write: Write, arguments: Sequence[Any]) -> None:
        """Call the function that `write` writes. A separate function can use all registers."""

    def call_words(self, function: Any, *words: Any) -> Any:
        """Call a function with int64 words: return the result, or nothing if the function is a linked one."""
        if not isinstance(function, External):
            return self.call(function, words, [types.int64] * len(words))[0]
        return call(self.builder, function.symbol, NOTHING, *words)

    def pointer(self, element: Any, address: Any) -> PointerValue:
        """Return a pointer to elements of a class, such as `Context`, at an address."""
        return PointerValue(self.builder, element, address)
