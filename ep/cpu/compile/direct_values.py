"""The values of a function that is written from its syntax tree: names and expressions."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping
from typing import Any, TypeGuard

from numba.core import types

from ep.common.loops import unrolled
from ep.cpu.compile.direct_accesses import Accesses
from ep.cpu.compile.direct_calls import SCALARS, Several, StaticObject, Value
from ep.cpu.compile.sections import Sections
from ep.cpu.compile.syntax import Names, Unsupported


class Values(Accesses):
    """A writer of values: of names, and of expressions of the syntax tree."""

    def __init__(self, sections: Sections, context: Any, typing_context: Any, names: Names) -> None:
        super().__init__(sections, context, typing_context)
        self._names = names
        self._variables: dict[str, tuple[Any, Any]] = {}
        self._known: dict[str, Any] = {}  # arguments, and the variables of loops that are written out

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

    def take(self, name: str, found: Any) -> None:
        """Give an argument its value. It is in memory only if the function assigns it."""
        if name in self._names.assigned:
            self.assign(name, found)
        else:
            self._known[name] = found

    def named(self, name: str) -> Any:
        """Return what a name stands for."""
        if name in self._known:
            return self._known[name]
        if name not in self._names.local:
            return StaticObject(self._names.outer(name))
        if name not in self._variables:
            raise Unsupported
        place, kind = self._variables[name]
        return Value(self._sections.read(place), kind)

    def bind(self, turn: Mapping[str, Any]) -> None:
        """Give the variables of a loop that is written out the values of a turn."""
        if any(name in self._variables or name in self._known for name in turn):
            raise Unsupported
        self._known.update({name: StaticObject(value) for name, value in turn.items()})

    def unbind(self, turn: Iterable[str]) -> None:
        """Forget the variables of a loop that is written out."""
        for name in turn:
            del self._known[name]

    def evaluated(self, node: ast.expr) -> Any:
        """Return the value of an expression of names and numbers that are known when the function is compiled."""
        names = {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}
        known = {name: self.named(name) for name in names}
        if not all(isinstance(one, StaticObject) for one in known.values()):
            raise Unsupported
        return eval(compile(ast.Expression(node), "<known>", "eval"), {name: one.value for name, one in known.items()})

    def find(self, node: ast.expr) -> Any:
        write = getattr(self, f"_of_{type(node).__name__}", None)
        if write is None:
            raise Unsupported
        return write(node)

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
            isinstance(one, ast.Call) or (isinstance(one, ast.Name) and not self._is_known(one.id)) for one in inside
        ):
            return None
        if isinstance(node, ast.Compare) and len(node.ops) == 1 and isinstance(node.ops[0], (ast.Is, ast.IsNot)):
            one, other = self.find(node.left), self.find(node.comparators[0])
            same: bool = one.value is other.value
            return same == isinstance(node.ops[0], ast.Is)
        found = self.find(node)
        return bool(found.value) if isinstance(found, StaticObject) else None

    def _is_known(self, name: str) -> bool:
        return name not in self._names.local or isinstance(self._known.get(name), StaticObject)

    def fork(self, node: ast.expr, then: Any, otherwise: Any, mark: Any = None) -> None:
        """End the section with a jump to one of two blocks, by a condition. mark: the metadata of a single jump."""
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
        self._sections.fork(self._truth(self.find(node)), then, otherwise, mark)

    def _truth(self, found: Any) -> Any:
        value = self.value_of(found)
        return value.value if types.unliteral(value.kind) == types.boolean else self.of_numbers(bool, [value]).value

    def _of_Constant(self, node: ast.Constant) -> Any:
        return StaticObject(node.value)

    def _of_Name(self, node: ast.Name) -> Any:
        return self.named(node.id)

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
            found: StaticObject = self.find(decides)
            return found
        if not isinstance(decides, ast.Compare | ast.UnaryOp):
            raise Unsupported
        return StaticObject(self.known_truth(decides))

    def _of_IfExp(self, node: ast.IfExp) -> Any:
        known, sections = self.known_truth(node.test), self._sections
        arms = [node.body, node.orelse] if known is None else [node.body if known else node.orelse]
        if known is not None and isinstance(arms[0], ast.Name | ast.Constant):
            found = self.find(arms[0])
            if isinstance(found, StaticObject):
                return found
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
            elif isinstance(one, ast.Starred) and isinstance(one.value, ast.GeneratorExp) and len(node.args) == 1:
                return self.call(self._function(function), self._turns(one.value), {})
            else:
                given.append(one)
        names = [one.arg for one in node.keywords if one.arg is not None]
        if len(names) < len(node.keywords):
            raise Unsupported
        found = self.find_all([*given, *(one.value for one in node.keywords)])
        named = dict(zip(names, found[len(given) :], strict=True))
        return self.call(self._function(function), found[: len(given)], named)

    def _function(self, found: Any) -> Any:
        if not isinstance(found, StaticObject):
            raise Unsupported
        return found.value

    def _turns(self, generator: ast.GeneratorExp) -> list[Any]:
        """Return what a generator over values that are known yields."""
        (loop, *others), found = generator.generators, list[Any]()
        if others or loop.ifs or not isinstance(loop.target, ast.Name) or not self.is_unrolled(loop.iter):
            raise Unsupported
        for value in self.evaluated(loop.iter.args[0]):
            self.bind({loop.target.id: value})
            found.append(self.find(generator.elt))
            self.unbind([loop.target.id])
        return found

    def is_unrolled(self, node: ast.AST) -> TypeGuard[ast.Call]:
        """Return whether a loop over an expression is written out."""
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
            return False
        function = self.named(node.func.id)
        return isinstance(function, StaticObject) and function.value is unrolled


def _is_literal(node: ast.expr) -> bool:
    """Return whether Python computes an expression when it compiles: bytecode has its value."""
    if isinstance(node, ast.UnaryOp):
        return _is_literal(node.operand)
    if isinstance(node, ast.BinOp):
        return _is_literal(node.left) and _is_literal(node.right)
    return isinstance(node, ast.Constant)


def _evaluated(node: ast.expr) -> Any:
    return eval(compile(ast.Expression(node), "<literal>", "eval"))
