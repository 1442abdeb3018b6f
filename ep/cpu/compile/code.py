"""Tasks that are written in LLVM's code, and call functions that Numba compiled.

Numba types and lowers a loop anew for each function that it calls. Where loops are all alike and only the function
differs, as in row kernels, that would take longer than the function itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.core.registry import cpu_target

from ep.cpu.compile.lowering import vector_width
from ep.cpu.compile.packed import WORD
from ep.cpu.compile.vectors import pointer_to

Write = Callable[..., None]
"""`write(code, *arguments)` writes a function of such arguments that returns nothing."""


class Code:
    """Writes a function of `library`: instructions by `builder`, and calls of compiled functions."""

    def __init__(self, library: Any, builder: Any) -> None:
        self.library, self.builder, self.context = library, builder, cpu_target.target_context

    def call(self, function: Any, arguments: Sequence[Any], kinds: Sequence[Any]) -> tuple[Any, Any]:
        """Return the result of a function, which is compiled for arguments of these types of Numba's, and its type."""
        function.compile(tuple(kinds))
        compiled = function.overloads[tuple(kinds)]
        self.library.add_linking_library(compiled.library)
        described = compiled.fndesc
        called = self.context.declare_function(self.builder.module, described)
        given = self.builder, called, described.restype, described.argtypes, arguments
        status, value = self.context.call_conv.call_function(*given)
        with self.builder.if_then(status.is_error, likely=False):
            self.builder.ret_void()
        return value, described.restype

    def call_words(self, function: Any, *words: Any) -> Any:
        """Return the result of a function of words, or call one that is linked, and returns nothing."""
        if not isinstance(function, types.ExternalFunction):
            return self.call(function, words, [types.int64] * len(words))[0]
        kind = ir.FunctionType(ir.VoidType(), [WORD] * len(words))
        return self.builder.call(cgutils.get_or_insert_function(self.builder.module, kind, function.symbol), words)

    def load_word(self, address: Any, index: int) -> Any:
        """Return word `index` at an address."""
        return self.builder.load(pointer_to(self.builder, address, WORD(index), WORD), align=8)

    def stack_words(self, count: int) -> Any:
        """Return the address of words on the stack, which hold anything."""
        with self.builder.goto_entry_block():
            words = self.builder.alloca(WORD, count)
        return self.builder.ptrtoint(words, WORD)

    def call_apart(self, write: Write, arguments: Sequence[Any]) -> None:
        """Call what `write` writes: a function of its own in the machine code, which has all registers for itself."""
        module = self.builder.module
        function = written(self.library, module, module.get_unique_name("apart"), write, [a.type for a in arguments])
        function.linkage = "internal"
        function.attributes.add("noinline")
        self.builder.call(function, arguments)


def written(library: Any, module: Any, name: str, write: Write, kinds: Sequence[Any], light: bool = False) -> Any:
    """Return the function in `module` that `write` writes, of arguments of these types of LLVM's; light: see jit."""
    function = ir.Function(module, ir.FunctionType(ir.VoidType(), kinds), name)
    set.add(function.attributes, vector_width(light))  # llvmlite knows no attributes with values
    code = Code(library, ir.IRBuilder(function.append_basic_block("entry")))
    write(code, *function.args)
    code.builder.ret_void()
    return function
