"""The values of a function that is written from its syntax tree: names and expressions."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any, Final

from llvmlite import ir
from numba.core import types

from ep.common.native.fields import Float64, Int64
from ep.common.native.pointer_code import read_field, read_item, write_item
from ep.common.native.pointers import Pointer, field_of, field_type, is_written, item_type
from ep.cpu.compile.direct_calls import SCALARS, Operations, Several, StaticObject, Value
from ep.cpu.compile.sections import Sections
from ep.cpu.compile.syntax import Names, Unsupported

_WORD: Final = ir.IntType(64)


class Values(Operations):
    """A writer of values: of names, and of expressions of the syntax tree."""

    def __init__(self, sections: Sections, context: Any, typing_context: Any, names: Names) -> None:
        super().__init__(sections, context, typing_context)
        self._names = names
        self._variables: dict[str, tuple[Any, Any]] = {}

    def assign(self, name: str, found: Any) -> None:
        """Assign a number to a variable of the function."""
        value = self.value_of(found)
        kind = types.unliteral(value.kind)
        if not isinstance(kind, SCALARS):
            raise Unsupported
        if name not in self._variables:
            self._variables[name] = self.temporary(kind), kind
        place, known = self._variables[name]
        if known != kind:
            raise Unsupported
        self._sections.assign(place, value.value)

    def named(self, name: str) -> Any:
        """Return what a name stands for."""
        if name not in self._names.local:
            return StaticObject(self._names.outer(name))
        if name not in self._variables:
            raise Unsupported
        place, kind = self._variables[name]
        return Value(self._sections.read(place), kind)

    def find(self, node: ast.expr) -> Any:
        """Return what an expression stands for."""
        write = getattr(self, f"_of_{type(node).__name__}", None)
        if write is None:
            raise Unsupported
        return write(node)

    def find_all(self, nodes: Sequence[ast.expr]) -> list[Any]:
        """Return what several expressions stand for. What is found before another section begins is kept in memory."""
        found, kept = list[Any](), dict[int, Any]()
        last = max((number for number, node in enumerate(nodes[1:], 1) if _has_sections(node)), default=0)
        for number, node in enumerate(nodes):
            found.append(self.find(node))
            if isinstance(found[-1], Value) and number < last:
                kept[number] = self.temporary(types.unliteral(found[-1].kind))
                self._sections.assign(kept[number], found[-1].value)
        for number, place in kept.items():
            found[number] = Value(self._sections.read(place), types.unliteral(found[number].kind))
        return found

    def known_truth(self, node: ast.expr) -> bool | None:
        """Return whether a condition holds that depends on known objects only, else None."""
        if isinstance(node, ast.BoolOp):
            stops = isinstance(node.op, ast.Or)
            for one in node.values:
                known = self.known_truth(one)
                if known is None or known is stops:
                    return known
            return not stops
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            known = self.known_truth(node.operand)
            return None if known is None else not known
        inside = list(ast.walk(node))
        if any(
            isinstance(one, ast.Call) or (isinstance(one, ast.Name) and one.id in self._names.local) for one in inside
        ):
            return None
        if isinstance(node, ast.Compare) and len(node.ops) == 1 and isinstance(node.ops[0], (ast.Is, ast.IsNot)):
            one, other = self.find(node.left), self.find(node.comparators[0])
            same: bool = one.value is other.value
            return same == isinstance(node.ops[0], ast.Is)
        found = self.find(node)
        return bool(found.value) if isinstance(found, StaticObject) else None

    def fork(self, node: ast.expr, then: Any, otherwise: Any) -> None:
        """End the section with a jump to one of two blocks, by a condition."""
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            self.fork(node.operand, otherwise, then)
            return
        known = self.known_truth(node)
        if known is not None:
            self._sections.go(then if known else otherwise)
            return
        if isinstance(node, ast.BoolOp):
            for one in node.values[:-1]:
                (following,) = self._sections.blocks("following")
                self.fork(one, *((then, following) if isinstance(node.op, ast.Or) else (following, otherwise)))
                if not self._sections.start_if_reached(following):
                    return
            self.fork(node.values[-1], then, otherwise)
            return
        self._sections.fork(self._truth(self.find(node)), then, otherwise)

    def _truth(self, found: Any) -> Any:
        value = self.value_of(found)
        return value.value if types.unliteral(value.kind) == types.boolean else self.of_numbers(bool, [value]).value

    def _of_Constant(self, node: ast.Constant) -> Any:
        return StaticObject(node.value)

    def _of_Name(self, node: ast.Name) -> Any:
        return self.named(node.id)

    def _of_Attribute(self, node: ast.Attribute) -> Any:
        of = self.find(node.value)
        if isinstance(of, StaticObject):
            return StaticObject(getattr(of.value, node.attr))
        field = self._field(of, node.attr)
        return Value(read_field(self._builder, field, of.value), field_type(field))

    def _field(self, of: Any, name: str) -> Any:
        field = field_of(of.kind, name) if isinstance(of, Value) and isinstance(of.kind, Pointer) else None
        if field is None:
            raise Unsupported
        return field

    def write(self, target: ast.Attribute | ast.Subscript, found: Any) -> None:
        """Write a field of a record, or a number behind a pointer."""
        if isinstance(target, ast.Attribute):
            of = self.find(target.value)
            field = self._field(of, target.attr)
            may_write, index, kind = is_written(field), _WORD(field), field_type(field)
        else:
            of, index = self._item(target)
            may_write, kind = of.kind.element in (Int64, Float64), item_type(of.kind.element)
        if not may_write:
            raise Unsupported
        write_item(self._builder, of.value, index, self._cast(self.value_of(found), kind))

    def _item(self, node: ast.Subscript) -> tuple[Any, Any]:
        """Return a pointer, and the index of an element."""
        of, index = self.find_all([node.value, node.slice])
        if not isinstance(of, Value) or not isinstance(of.kind, Pointer):
            raise Unsupported
        return of, self._cast(self.value_of(index), types.int64)

    def _of_Subscript(self, node: ast.Subscript) -> Any:
        of = self.find(node.value)
        if isinstance(of, Value):
            of, index = self._item(node)
            return Value(read_item(self._builder, of.kind.element, of.value, index), item_type(of.kind.element))
        index = self.find(node.slice)
        if not isinstance(of, StaticObject) or not isinstance(index, StaticObject) or not isinstance(of.value, tuple):
            raise Unsupported
        return StaticObject(of.value[index.value])

    def _of_Tuple(self, node: ast.Tuple) -> Any:
        return Several(tuple(self.find_all(node.elts)))

    def _of_BinOp(self, node: ast.BinOp) -> Any:
        if _is_literal(node):
            return StaticObject(_evaluated(node))
        return self.operation(node.op, *self.find_all([node.left, node.right]))

    def _of_UnaryOp(self, node: ast.UnaryOp) -> Any:
        if _is_literal(node):
            return StaticObject(_evaluated(node))
        return self.operation(node.op, self.find(node.operand))

    def _of_Compare(self, node: ast.Compare) -> Any:
        left, right = self.find_all([node.left, node.comparators[0]])
        if len(node.ops) == 1:
            return self.operation(node.ops[0], left, right)
        place, (done,) = self.temporary(types.boolean), self._sections.blocks("compared")
        for number, symbol in enumerate(node.ops):
            found = self._truth(self.operation(symbol, left, right))
            self._sections.assign(place, found)
            if number + 1 < len(node.ops):
                (following,) = self._sections.blocks("compare")
                self._sections.fork(found, following, done)
                self._sections.start(following)
                left, right = right, self.find(node.comparators[number + 1])
        self._sections.go(done)
        self._sections.start(done)
        return Value(self._sections.read(place), types.boolean)

    def _of_BoolOp(self, node: ast.BoolOp) -> Any:
        known = self.known_truth(node)
        if known is not None:
            return self._known_choice(node)
        place, (done,) = self.temporary(types.boolean), self._sections.blocks("decided")
        for number, one in enumerate(node.values):
            value = self.value_of(self.find(one))
            if types.unliteral(value.kind) != types.boolean:
                raise Unsupported
            self._sections.assign(place, value.value)
            if number + 1 < len(node.values):
                (following,) = self._sections.blocks("decide")
                stops = isinstance(node.op, ast.Or)
                self._sections.fork(value.value, *((done, following) if stops else (following, done)))
                self._sections.start(following)
        self._sections.go(done)
        self._sections.start(done)
        return Value(self._sections.read(place), types.boolean)

    def _known_choice(self, node: ast.BoolOp) -> StaticObject:
        """Return the operand that decides, whose truth is known: it may be a number, such as 3 of `3 or 5`."""
        stops = isinstance(node.op, ast.Or)
        decides = next((one for one in node.values if self.known_truth(one) is stops), node.values[-1])
        if isinstance(decides, ast.BoolOp):
            return self._known_choice(decides)
        if isinstance(decides, ast.Name | ast.Attribute | ast.Constant | ast.Subscript):
            return self.find(decides)
        if not isinstance(decides, ast.Compare | ast.UnaryOp):
            raise Unsupported
        return StaticObject(self.known_truth(decides))

    def _of_IfExp(self, node: ast.IfExp) -> Any:
        known, sections = self.known_truth(node.test), self._sections
        arms = [node.body, node.orelse] if known is None else [node.body if known else node.orelse]
        (done,), starts = sections.blocks("chosen"), sections.blocks(*("choose" for _ in arms))
        self.fork(node.test, starts[0], starts[-1])
        place, kind = None, None
        for start, arm in zip(starts, arms, strict=True):
            sections.start(start)
            value = self.value_of(self.find(arm))
            found = types.unliteral(value.kind)
            if place is None:
                place, kind = self.temporary(found), found
            if found != kind or not isinstance(kind, (*SCALARS, types.BaseTuple)):
                raise Unsupported
            sections.assign(place, value.value)
            sections.go(done)
        sections.start(done)
        return Value(sections.read(place), kind)

    def _of_Call(self, node: ast.Call) -> Any:
        function, given = self.find(node.func), list[ast.expr]()
        for one in node.args:
            if isinstance(one, ast.Starred) and isinstance(one.value, ast.Tuple):
                given += one.value.elts
            else:
                given.append(one)
        if not isinstance(function, StaticObject) or node.keywords:
            raise Unsupported
        return self.call(function.value, self.find_all(given))


def _is_literal(node: ast.expr) -> bool:
    """Return whether Python computes an expression when it compiles: bytecode has its value."""
    if isinstance(node, ast.UnaryOp):
        return _is_literal(node.operand)
    if isinstance(node, ast.BinOp):
        return _is_literal(node.left) and _is_literal(node.right)
    return isinstance(node, ast.Constant)


def _evaluated(node: ast.expr) -> Any:
    return eval(compile(ast.Expression(node), "<literal>", "eval"))


def _has_sections(node: ast.expr) -> bool:
    """Return whether an expression has jumps."""
    return any(
        isinstance(one, (ast.IfExp, ast.BoolOp)) or (isinstance(one, ast.Compare) and len(one.ops) > 1)
        for one in ast.walk(node)
    )
