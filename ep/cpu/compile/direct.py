"""Functions of numbers that become LLVM's code directly from their syntax trees, without Numba's passes.

Most compiled functions have only numbers, plain loops and calls. Numba decodes their bytecode, puts it in a form with
single assignments, infers types by propagation, and then writes LLVM's code. Here one walk over the syntax tree writes
the same instructions: the types and the code of each operation and call come from Numba's own tables. A function with
anything else is compiled by Numba.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import FunctionType
from typing import Any, Final, NamedTuple

from llvmlite import ir
from numba.core import cgutils, errors, funcdesc, types
from numba.core.bytecode import FunctionIdentity
from numba.core.callconv import RETCODE_OK

from ep.cpu.compile.direct_calls import SCALARS, Several, StaticObject, Value
from ep.cpu.compile.direct_values import Values
from ep.cpu.compile.sections import NONE_LOCAL, Sections
from ep.cpu.compile.syntax import Names, Unsupported, tree_of

NOT_WRITTEN: Final = Unsupported, errors.NumbaError, NotImplementedError
"""What `lowered` raises if Numba must compile a function."""

_WORD: Final = ir.IntType(64)
_MOST_SWAPPED: Final = 3
"""The most values that bytecode assigns to several variables without a tuple."""


class _Target(NamedTuple):
    """What Numba compiles functions for."""

    context: Any
    typing_context: Any
    result: Any
    how: Any


class _Loop(NamedTuple):
    """The blocks to which `continue` and `break` go, and the mark of the jump back."""

    again: Any
    done: Any
    mark: Any


def lowered(function: Any, state: Any, library: Any, how: Any) -> Any:
    """Write a function to a module of `library`; return its descriptor.

    state: of Numba's compiler. how: the class of Numba's lowering whose marks the function and its loops get.
    Raises one of NOT_WRITTEN if the function has something that only Numba compiles.
    """
    kinds = tuple(state.args)
    are_numbers = all(isinstance(kind, SCALARS) and not isinstance(kind, types.Literal) for kind in kinds)
    if not isinstance(function, FunctionType) or not are_numbers:
        raise Unsupported
    definition, names = tree_of(function)
    unique, result = next(FunctionIdentity._unique_ids), state.return_type
    descriptor = funcdesc.FunctionDescriptor(
        *(True, function.__module__, function.__qualname__, f"{function.__qualname__}${unique}", ""),
        *({}, types.int64 if result is None else result, {}, [one.arg for one in definition.args.args], ()),
        mangler=state.targetctx.mangler,
        argtypes=kinds,
        inline=state.flags.forceinline,
        uid=unique,
    )
    target, local = _Target(state.targetctx, state.typingctx, result, how), NONE_LOCAL
    while True:
        module = library.create_ir_module(descriptor.unique_name)
        writer = _Writer(module, descriptor, target, names, local)
        writer.write(definition)
        if local or not writer.has_products() or not (local := writer.sections.local()):
            break
    how.finish(writer.function)
    descriptor.restype = writer.result
    library.add_ir_module(module)
    return descriptor


class _Writer:
    """A writer of one function.

    result: the type of its results.
    """

    def __init__(
        self, module: Any, descriptor: Any, target: _Target, names: Names, local: frozenset[int] = NONE_LOCAL
    ) -> None:
        """Begin a function. local: see `Sections`."""
        self._context, self.result, self._how = target.context, target.result, target.how
        self._descriptor, self._loops = descriptor, list[_Loop]()
        self.function = self._context.declare_function(module, descriptor)
        self._how.begin(self.function)
        self.sections = Sections(self.function, local)
        self._builder = self.sections.builder
        self._values = Values(self.sections, self._context, target.typing_context, names)
        self._context.call_conv.init_call_helper(self._builder)

    def write(self, definition: ast.FunctionDef) -> None:
        """Write the whole function."""
        builder, kinds = self._builder, self._descriptor.argtypes
        given = self._context.call_conv.decode_arguments(builder, kinds, self.function)
        last, (first,) = builder.block, self.sections.blocks("body")
        self.sections.start(first)
        for name, value, kind in zip(self._descriptor.args, given, kinds, strict=True):
            self._values.assign(name, Value(value, kind))
        self._statements(definition.body)
        if not self.sections.is_ended:
            self._return(StaticObject(None))
        builder.position_at_end(last)  # variables are at the start of the function
        builder.branch(first)

    def has_products(self) -> bool:
        """Return whether there is a product that a sum may be fused with."""
        return any(one.opname == "fmul" for block in self.function.blocks for one in block.instructions)

    def _statements(self, statements: Sequence[ast.stmt]) -> None:
        for statement in statements:
            if self.sections.is_ended:
                return
            write = getattr(self, f"_write_{type(statement).__name__}", None)
            if write is None:
                raise Unsupported
            write(statement)

    def _write_Pass(self, statement: ast.Pass) -> None:
        """Write nothing."""

    def _write_Expr(self, statement: ast.Expr) -> None:
        if not isinstance(statement.value, ast.Constant):  # a docstring
            self._values.find(statement.value)

    def _write_Assign(self, statement: ast.Assign) -> None:
        found = self._values.find(statement.value)
        for target in statement.targets:
            self._assign_to(target, found)

    def _write_AugAssign(self, statement: ast.AugAssign) -> None:
        found = self._values.operation(statement.op, *self._values.find_all([statement.target, statement.value]))
        self._assign_to(statement.target, found)

    def _write_Return(self, statement: ast.Return) -> None:
        self._return(StaticObject(None) if statement.value is None else self._values.find(statement.value))

    def _write_If(self, statement: ast.If) -> None:
        then, otherwise, done = self.sections.blocks("then", "otherwise", "done")
        self._values.fork(statement.test, then, otherwise)
        for block, statements in ((then, statement.body), (otherwise, statement.orelse)):
            if self.sections.start_if_reached(block):
                self._statements(statements)
                self.sections.go(done)
        self.sections.start_if_reached(done)

    def _write_While(self, statement: ast.While) -> None:
        if statement.orelse:
            raise Unsupported
        body, again, done = self.sections.blocks("while", "again", "done")
        self._values.fork(statement.test, body, done)
        if self.sections.start_if_reached(body):
            with self._in_loop(again, done, None):
                self._statements(statement.body)
            self.sections.go(again)
        if self.sections.start_if_reached(again):
            self._values.fork(statement.test, body, done)  # a second time, as in bytecode
        self.sections.start_if_reached(done)

    def _write_For(self, statement: ast.For) -> None:
        builder, (start, stop, step) = self._builder, self._range(statement)
        count, index = (cgutils.alloca_once(builder, _WORD) for _ in range(2))
        builder.store(_turns(builder, start, stop, step), count)
        builder.store(start, index)
        head, body, done = self.sections.blocks("head", "body", "done")
        self.sections.go(head)
        self.sections.start(head)
        left = builder.load(count)
        self.sections.fork(builder.icmp_signed(">", left, _WORD(0)), body, done)
        self.sections.start(body)
        value = builder.load(index)
        builder.store(builder.sub(left, _WORD(1), flags=["nsw"]), count)
        builder.store(builder.add(value, step), index)
        self._assign_to(statement.target, Value(value, types.int64))
        with self._in_loop(head, done, self._how.mark(builder.module)) as loop:
            self._statements(statement.body)
            self.sections.go(head, loop.mark)
        self.sections.start(done)

    def _range(self, statement: ast.For) -> tuple[Any, Any, Any]:
        """Return the start, the stop and the step of a loop over a range."""
        called = statement.iter
        if statement.orelse or not isinstance(called, ast.Call) or not isinstance(called.func, ast.Name):
            raise Unsupported
        function = self._values.named(called.func.id)
        if not isinstance(function, StaticObject) or function.value is not range or called.keywords:
            raise Unsupported
        given = [self._values.value_of(one) for one in self._values.find_all(called.args)]
        if any(types.unliteral(one.kind) != types.int64 for one in given):
            raise Unsupported
        words = [one.value for one in given]
        return (_WORD(0), *words, _WORD(1)) if len(words) == 1 else (*words, _WORD(1))[:3]  # type: ignore[return-value]

    def _write_Break(self, statement: ast.Break) -> None:
        self.sections.go(self._loops[-1].done)

    def _write_Continue(self, statement: ast.Continue) -> None:
        self.sections.go(self._loops[-1].again, self._loops[-1].mark)

    @contextmanager
    def _in_loop(self, again: Any, done: Any, mark: Any) -> Iterator[_Loop]:
        self._loops.append(_Loop(again, done, mark))
        yield self._loops[-1]
        self._loops.pop()

    def _return(self, found: Any) -> None:
        builder, context, value = self._builder, self._context, self._values.value_of(found)
        kind = types.unliteral(value.kind)
        self.result = kind if self.result is None else self.result
        if kind not in (self.result, types.boolean) or (kind != self.result and self.result != types.int64):
            raise Unsupported
        result = context.get_return_value(builder, self.result, context.cast(builder, value.value, kind, self.result))
        place = context.call_conv._get_return_argument(self.function)
        builder.store(result, builder.bitcast(place, result.type.as_pointer()))
        context.call_conv._return_errcode_raw(builder, RETCODE_OK)

    def _assign_to(self, target: ast.expr, found: Any) -> None:
        if isinstance(target, ast.Name):
            self._values.assign(target.id, found)
            return
        if isinstance(target, ast.Attribute | ast.Subscript):
            self._values.write(target, found)
            return
        if not isinstance(target, ast.Tuple):
            raise Unsupported
        if isinstance(found, Value) and isinstance(found.kind, types.BaseTuple):
            parts = cgutils.unpack_tuple(self._builder, found.value, len(found.kind))
            found = Several(tuple(map(Value, parts, found.kind)))
        elif isinstance(found, Several) and len(found.values) > _MOST_SWAPPED and any(map(_is_product, found.values)):
            raise Unsupported  # Numba makes a tuple, and fuses no product in it
        if not isinstance(found, Several) or len(found.values) != len(target.elts):
            raise Unsupported
        for one, part in zip(target.elts, found.values, strict=True):
            self._assign_to(one, part)


def _is_product(found: Any) -> bool:
    return isinstance(found, Value) and getattr(found.value, "opname", "") == "fmul"


def _turns(builder: Any, start: Any, stop: Any, step: Any) -> Any:
    """Return the number of turns of a loop over a range, whose step is not 0."""
    distance, zero = builder.sub(stop, start), _WORD(0)
    ahead = builder.icmp_signed(">", distance, zero)
    rest = builder.srem(distance, step)
    rest = builder.select(ahead, rest, builder.neg(rest))
    uneven = builder.zext(builder.icmp_signed(">", rest, zero), _WORD)
    turns = builder.add(builder.sdiv(distance, step), uneven)
    return builder.select(builder.xor(ahead, builder.icmp_signed(">", step, zero)), zero, turns)
