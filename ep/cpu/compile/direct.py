"""Functions of numbers that become LLVM's code directly from their syntax trees, without Numba's passes.

Most compiled functions have only numbers, plain loops and calls. Numba decodes their bytecode, puts it in a form with
single assignments, infers types by propagation, and then writes LLVM's code. Here one walk over the syntax tree writes
the same instructions: the types and the code of each operation and call come from Numba's own tables. A function with
anything else is compiled by Numba.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from types import FunctionType
from typing import Any, Final, NamedTuple

from numba.core import errors, funcdesc, types
from numba.core.bytecode import FunctionIdentity
from numba.core.callconv import RETCODE_OK

from ep.common.deferred import Inlined
from ep.common.native.pointers import argument_types, as_declared
from ep.cpu.compile.direct_calls import SCALARS, StaticObject, Value
from ep.cpu.compile.direct_statements import Statements
from ep.cpu.compile.sections import Sections
from ep.cpu.compile.syntax import Unsupported, tree_of

NOT_WRITTEN: Final = Unsupported, errors.NumbaError, NotImplementedError
"""What `lowered` raises if Numba must compile a function."""


class _Target(NamedTuple):
    """What Numba compiles functions for. how: the class of its lowering, whose marks functions and loops get.

    parts: the functions of the module that become parts of others, by their objects and the types of arguments.
    """

    context: Any
    typing_context: Any
    how: Any
    parts: dict[Any, Any]


def lowered(function: Any, state: Any, library: Any, how: Any) -> Any:
    """Write a function to a module of `library`; return its descriptor.

    state: of Numba's compiler. how: the class of Numba's lowering whose marks the function and its loops get.
    Raises one of NOT_WRITTEN if the function has something that only Numba compiles.
    """
    kinds = tuple(state.args)
    are_numbers = all(isinstance(kind, SCALARS) and not isinstance(kind, types.Literal) for kind in kinds)
    if not isinstance(function, FunctionType) or not are_numbers:
        raise Unsupported
    target = _Target(state.targetctx, state.typingctx, how, {})
    module = library.create_ir_module(function.__qualname__)
    writer = _Writer(module, function, kinds, state.return_type, target, state.flags.forceinline)
    writer.write()
    library.add_ir_module(module)
    return writer.descriptor


class _Writer(Statements):
    """A writer of one function, and of the functions that become parts of it."""

    def __init__(self, module: Any, function: Any, kinds: tuple[Any, ...], result: Any, target: _Target, inline: bool):
        """result: the type of results, if it is known."""
        self._definition, names = tree_of(function)
        unique = next(FunctionIdentity._unique_ids)
        self.descriptor = funcdesc.FunctionDescriptor(
            *(True, function.__module__, function.__qualname__, f"{function.__qualname__}${unique}", ""),
            *({}, types.int64 if result is None else result, {}, [one.arg for one in self._definition.args.args], ()),
            mangler=target.context.mangler,
            argtypes=kinds,
            inline=inline,
            uid=unique,
        )
        self.function, self._result = target.context.declare_function(module, self.descriptor), result
        self._target = target
        target.how.begin(self.function)
        super().__init__(Sections(self.function), target.context, target.typing_context, names, target.how.mark)
        self._context.call_conv.init_call_helper(self._builder)

    def write(self) -> None:
        """Write the whole function."""
        builder, kinds = self._builder, self.descriptor.argtypes
        given = self._context.call_conv.decode_arguments(builder, kinds, self.function)
        last, (first,) = builder.block, self._sections.blocks("body")
        self._sections.start(first)
        for name, value, kind in zip(self.descriptor.args, given, kinds, strict=True):
            self.take(name, Value(value, kind))
        self._statements(self._definition.body)
        if not self._sections.is_ended:
            self._return(StaticObject(None))
        builder.position_at_end(last)  # variables are at the start of the function
        builder.branch(first)
        self._target.how.finish(self.function)
        self.descriptor.restype = self._result
        kind = self._context.call_conv.get_function_type(self._result, kinds)  # the result's type is known only now
        self.function.ftype, self.function.type = kind, kind.as_pointer()
        self.function.args[0].type = kind.args[0]

    def inlined(self, function: Inlined, given: Sequence[Any], named: Mapping[str, Any]) -> Value:
        found = inspect.signature(function.py_func).bind(*given, **named).args
        values, declared = [self.value_of(one) for one in found], argument_types(function.py_func)
        kinds = as_declared([types.unliteral(value.kind) for value in values], declared)
        key = function, kinds
        if key not in self._target.parts:
            target = self._target._replace(how=self._target.how.of_parts())
            writer = _Writer(self._builder.module, function.py_func, kinds, None, target, True)
            writer.write()
            writer.function.linkage = "internal"
            self._target.parts[key] = writer.descriptor
        described = self._target.parts[key]
        result, cast = described.restype, [self._cast(*one) for one in zip(values, kinds, strict=True)]
        return Value(self._context.call_internal(self._builder, described, result(*kinds), cast), result)

    def _return(self, found: Any) -> None:
        builder, context, value = self._builder, self._context, self.value_of(found)
        kind = types.unliteral(value.kind)
        self._result = kind if self._result is None else self._result
        if kind not in (self._result, types.boolean) or (kind != self._result and self._result != types.int64):
            raise Unsupported
        result = context.get_return_value(builder, self._result, context.cast(builder, value.value, kind, self._result))
        place = context.call_conv._get_return_argument(self.function)
        builder.store(result, builder.bitcast(place, result.type.as_pointer()))
        context.call_conv._return_errcode_raw(builder, RETCODE_OK)
