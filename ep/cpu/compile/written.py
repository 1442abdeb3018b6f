"""Tasks that are written in LLVM IR, as parts of the modules of ep's own compiler."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llvmlite import ir

from ep.common.native.on_demand import registry
from ep.common.native.pointers import argument_types, as_declared
from ep.cpu.compile.code import Code, Write
from ep.cpu.compile.target import vector_width
from ep.cpu.compile.vectors import NOTHING


class _Code(Code):
    """A function of `library`."""

    def __init__(self, library: Any, builder: Any) -> None:
        super().__init__(builder, registry.cpu_target.target_context)
        self._library = library

    def call(self, function: Any, arguments: Sequence[Any], kinds: Sequence[Any]) -> tuple[Any, Any]:
        kinds = as_declared(kinds, argument_types(function.py_func))
        function.compiled.compile(kinds)
        compiled = function.compiled.overloads[kinds]
        self._library.add_linking_library(compiled.library)
        described = compiled.fndesc
        called = self.context.declare_function(self.builder.module, described)
        given = self.builder, called, described.restype, described.argtypes, arguments
        status, value = self.context.call_conv.call_function(*given)
        with self.builder.if_then(status.is_error, likely=False):
            self.builder.ret_void()
        return value, described.restype

    def call_apart(self, write: Write, arguments: Sequence[Any]) -> None:
        module = self.builder.module
        function = written(self._library, module, module.get_unique_name("apart"), write, [a.type for a in arguments])
        function.linkage = "internal"
        function.attributes.add("noinline")
        self.builder.call(function, arguments)


def written(library: Any, module: Any, name: str, write: Write, kinds: Sequence[Any], light: bool = False) -> Any:
    """Return the function in `module` that `write` writes, with arguments of the LLVM types `kinds`.

    light: see `vector_width`.
    """
    function = ir.Function(module, ir.FunctionType(NOTHING, kinds), name)
    set.add(function.attributes, vector_width(light))  # llvmlite does not support attributes with values
    code = _Code(library, ir.IRBuilder(function.append_basic_block("entry")))
    write(code, *function.args)
    code.builder.ret_void()
    # LLVM may cut the block in two, and then it takes memory of the stack in the second one by a moving pointer
    function.entry_basic_block.instructions.sort(key=lambda one: not isinstance(one, ir.AllocaInstr))
    return function
