"""The statements of a function that is written from its syntax tree."""

from __future__ import annotations

import ast
from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final, NamedTuple

from llvmlite import ir
from numba.core import cgutils, types

from ep.common.loops.writer import leaves_loop
from ep.cpu.compile.direct_calls import Several, StaticObject, Value
from ep.cpu.compile.direct_values import Values
from ep.cpu.compile.sections import Sections
from ep.cpu.compile.syntax import Names, Unsupported
from ep.cpu.compile.vectors import as_written

_WORD: Final = ir.IntType(64)


class _Loop(NamedTuple):
    """The blocks to which `continue` and `break` go, and the mark of the jump back."""

    again: Any
    done: Any
    mark: Any


class Statements(Values):
    """A writer of statements. Subclasses say what `return` does."""

    def __init__(
        self, sections: Sections, context: Any, typing_context: Any, names: Names, mark: Callable[[Any], Any]
    ) -> None:
        """mark: returns the metadata of loops in an LLVM module."""
        super().__init__(sections, context, typing_context, names)
        self._mark_of_loops, self._loops = mark, list[_Loop]()

    @abstractmethod
    def _return(self, found: Any) -> None:
        """End the section by leaving the function."""

    def _statements(self, statements: Sequence[ast.stmt]) -> None:
        for statement in statements:
            if self._sections.is_ended:
                return
            write = getattr(self, f"_write_{type(statement).__name__}", None)
            if write is None:
                raise Unsupported
            write(statement)

    def _write_Pass(self, statement: ast.Pass) -> None:
        """Write nothing."""

    def _write_Expr(self, statement: ast.Expr) -> None:
        if not isinstance(statement.value, ast.Constant):  # a docstring
            self.find(statement.value)

    def _write_Assign(self, statement: ast.Assign) -> None:
        found = self.find(statement.value)
        for target in statement.targets:
            self._assign_to(target, found)

    def _write_AugAssign(self, statement: ast.AugAssign) -> None:
        found = self.operation(statement.op, *self.find_all([statement.target, statement.value]))
        self._assign_to(statement.target, found)

    def _write_Return(self, statement: ast.Return) -> None:
        self._return(StaticObject(None) if statement.value is None else self.find(statement.value))

    def _write_If(self, statement: ast.If) -> None:
        then, otherwise, done = self._sections.blocks("then", "otherwise", "done")
        self.fork(statement.test, then, otherwise)
        for block, statements in ((then, statement.body), (otherwise, statement.orelse)):
            if self._sections.start_if_reached(block):
                self._statements(statements)
                self._sections.go(done)
        self._sections.start_if_reached(done)

    def _write_While(self, statement: ast.While) -> None:
        if statement.orelse:
            raise Unsupported
        (body, again, done), before = self._sections.blocks("while", "again", "done"), self.num_vectors
        self.fork(statement.test, body, done)
        if self._sections.start_if_reached(body):
            with self._in_loop(again, done, None):
                self._statements(statement.body)
            self._sections.go(again)
        if self._sections.start_if_reached(again):
            mark = self._mark_since(before) if self._takes_steps(statement.body[-1]) else None
            self.fork(statement.test, body, done, mark)  # a second time, as in bytecode
        self._sections.start_if_reached(done)

    def _takes_steps(self, last: ast.stmt) -> bool:
        """Return whether a loop with this last statement counts by another number than 1."""
        if not isinstance(last, ast.AugAssign) or not isinstance(last.op, ast.Add):
            return False
        return not isinstance(last.value, ast.Constant) or last.value.value != 1

    def _mark_since(self, num_vectors: int) -> Any:
        """Return the mark of a loop by steps, before which code has used so many vectors; None if it uses none."""
        return as_written(self._builder.module) if self.num_vectors > num_vectors else None

    def _write_For(self, statement: ast.For) -> None:
        (self._write_out if self.is_unrolled(statement.iter) else self._write_loop)(statement)

    def _write_out(self, statement: ast.For) -> None:
        """Write a loop over values that are known, once for each of them."""
        marker, target = statement.iter, statement.target
        assert isinstance(marker, ast.Call)
        if statement.orelse or any(leaves_loop(one, self.is_unrolled) for one in statement.body):
            raise Unsupported
        targets = target.elts if isinstance(target, ast.Tuple) else [target]
        names = [one.id for one in targets if isinstance(one, ast.Name)]
        for value in self.evaluated(marker.args[0]):
            parts = tuple(value) if isinstance(target, ast.Tuple) else (value,)
            if not len(parts) == len(names) == len(targets):
                raise Unsupported
            self.bind(dict(zip(names, parts, strict=True)))
            self._statements(statement.body)
            self.unbind(names)

    def _write_loop(self, statement: ast.For) -> None:
        builder, (start, stop, step) = self._builder, self._range(statement)
        count, index = (cgutils.alloca_once(builder, _WORD) for _ in range(2))
        builder.store(_turns(builder, start, stop, step), count)
        builder.store(start, index)
        head, body, done = self._sections.blocks("head", "body", "done")
        self._sections.go(head)
        self._sections.start(head)
        left = builder.load(count)
        self._sections.fork(builder.icmp_signed(">", left, _WORD(0)), body, done)
        self._sections.start(body)
        value = builder.load(index)
        builder.store(builder.sub(left, _WORD(1), flags=["nsw"]), count)
        builder.store(builder.add(value, step), index)
        self._assign_to(statement.target, Value(value, types.int64))
        with self._in_loop(head, done, self._mark_of_loops(builder.module)) as loop:
            before = self.num_vectors
            self._statements(statement.body)
            takes_steps = not (isinstance(step, ir.Constant) and step.constant == 1)
            self._sections.go(head, loop.mark or (self._mark_since(before) if takes_steps else None))
        self._sections.start(done)

    def _range(self, statement: ast.For) -> tuple[Any, Any, Any]:
        """Return the start, the stop and the step of a loop over a range."""
        called = statement.iter
        if statement.orelse or not isinstance(called, ast.Call) or not isinstance(called.func, ast.Name):
            raise Unsupported
        function = self.named(called.func.id)
        if not isinstance(function, StaticObject) or function.value is not range or called.keywords:
            raise Unsupported
        given = [self.value_of(one) for one in self.find_all(called.args)]
        if any(types.unliteral(one.kind) != types.int64 for one in given):
            raise Unsupported
        words = [one.value for one in given]
        return (_WORD(0), *words, _WORD(1)) if len(words) == 1 else (*words, _WORD(1))[:3]

    def _write_Break(self, statement: ast.Break) -> None:
        self._sections.go(self._loops[-1].done)

    def _write_Continue(self, statement: ast.Continue) -> None:
        self._sections.go(self._loops[-1].again, self._loops[-1].mark)

    @contextmanager
    def _in_loop(self, again: Any, done: Any, mark: Any) -> Iterator[_Loop]:
        self._loops.append(_Loop(again, done, mark))
        yield self._loops[-1]
        self._loops.pop()

    def _assign_to(self, target: ast.expr, found: Any) -> None:
        if isinstance(target, ast.Name):
            self.assign(target.id, found)
            return
        if isinstance(target, ast.Attribute | ast.Subscript):
            self.write_to(target, found)
            return
        if not isinstance(target, ast.Tuple):
            raise Unsupported
        if isinstance(found, Value) and isinstance(found.kind, types.BaseTuple):
            kinds: Any = found.kind
            found = Several(tuple(map(Value, cgutils.unpack_tuple(self._builder, found.value, len(kinds)), kinds)))
        if not isinstance(found, Several) or len(found.values) != len(target.elts):
            raise Unsupported
        for one, part in zip(target.elts, found.values, strict=True):
            self._assign_to(one, part)


def _turns(builder: Any, start: Any, stop: Any, step: Any) -> Any:
    """Return the number of turns of a loop over a range, whose step is not 0."""
    distance, zero = builder.sub(stop, start), _WORD(0)
    ahead = builder.icmp_signed(">", distance, zero)
    rest = builder.srem(distance, step)
    rest = builder.select(ahead, rest, builder.neg(rest))
    uneven = builder.zext(builder.icmp_signed(">", rest, zero), _WORD)
    turns = builder.add(builder.sdiv(distance, step), uneven)
    return builder.select(builder.xor(ahead, builder.icmp_signed(">", step, zero)), zero, turns)
