"""Tasks written directly in LLVM IR that call functions compiled by Numba.

Row kernels share one loop and differ only in the function that it calls. Numba would type and lower the loop again for
each function, which takes longer than compiling the function itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from llvmlite import ir

from ep.common.native.external import External
from ep.common.native.on_demand import cgutils, registry, types
from ep.common.native.pointer_code import PointerValue
from ep.cpu.compile.target import vector_width
from ep.cpu.compile.vectors import WORD

Write = Callable[..., None]
"""`write(code, *arguments)` writes the body of a function that receives these arguments and returns nothing."""


class Code:
    """A function of `library` under construction: `builder` writes its instructions, the methods write its calls."""

    def __init__(self, library: Any, builder: Any) -> None:
        self.library, self.builder, self.context = library, builder, registry.cpu_target.target_context

    def call(self, function: Any, arguments: Sequence[Any], kinds: Sequence[Any]) -> tuple[Any, Any]:
        """Compile a function for arguments of these Numba types and call it; return the result and its type."""
        from ep.common.native.pointers import argument_types, as_declared  # this imports Numba

        kinds = as_declared(kinds, argument_types(function.py_func))
        function.compiled.compile(kinds)
        compiled = function.compiled.overloads[kinds]
        self.library.add_linking_library(compiled.library)
        described = compiled.fndesc
        called = self.context.declare_function(self.builder.module, described)
        given = self.builder, called, described.restype, described.argtypes, arguments
        status, value = self.context.call_conv.call_function(*given)
        with self.builder.if_then(status.is_error, likely=False):
            self.builder.ret_void()
        return value, described.restype

    def call_words(self, function: Any, *words: Any) -> Any:
        """Call a function with int64 words: return the result, or nothing if the function is a linked one."""
        if not isinstance(function, External):
            return self.call(function, words, [types.int64] * len(words))[0]
        kind = ir.FunctionType(ir.VoidType(), [WORD] * len(words))
        return self.builder.call(cgutils.get_or_insert_function(self.builder.module, kind, function.symbol), words)

    def pointer(self, element: Any, address: Any) -> PointerValue:
        """Return a pointer to elements of a class, such as `Context`, at an address."""
        return PointerValue(self.builder, element, address)

    def call_apart(self, write: Write, arguments: Sequence[Any]) -> None:
        """Call the function that `write` writes. It stays a separate function, so it can use all registers."""
        module = self.builder.module
        function = written(self.library, module, module.get_unique_name("apart"), write, [a.type for a in arguments])
        function.linkage = "internal"
        function.attributes.add("noinline")
        self.builder.call(function, arguments)


def written(library: Any, module: Any, name: str, write: Write, kinds: Sequence[Any], light: bool = False) -> Any:
    """Return the function in `module` that `write` writes, with arguments of the LLVM types `kinds`.

    light: see `vector_width`.
    """
    function = ir.Function(module, ir.FunctionType(ir.VoidType(), kinds), name)
    set.add(function.attributes, vector_width(light))  # llvmlite does not support attributes with values
    code = Code(library, ir.IRBuilder(function.append_basic_block("entry")))
    write(code, *function.args)
    code.builder.ret_void()
    # LLVM may cut the block in two, and then it takes memory of the stack in the second one by a moving pointer
    function.entry_basic_block.instructions.sort(key=lambda one: not isinstance(one, ir.AllocaInstr))
    return function
