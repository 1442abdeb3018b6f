"""Unrolling of a function's loops: the body is repeated for each value of a loop that `unrolled` marks."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import reduce
from types import CellType, CodeType, FunctionType
from typing import Any, NoReturn

from ep.common.loops.definition import codes_in, definition_of
from ep.common.loops.marker import unrolled
from ep.common.source import digest_of, kept_text


def write_out(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return `function` with its `unrolled` loops unrolled.

    An integer value of the loop variable is written as a number, any other value gets a name of its own. Integers of
    the closure or globals are written as numbers, too: an index made of them is a constant.
    Raises TypeError if a loop cannot be unrolled, RuntimeError if the source is not the one that was imported.
    """
    if not isinstance(function, FunctionType) or function.__name__ == "<lambda>":
        raise TypeError(f"function is {function!r}; it must be a function that was written with `def`")
    writer = _Writer(function)
    definition = writer.written(_copied(definition_of(function)))
    text = ast.unparse(definition) + "\n"
    code = _compiled(text, kept_text(text, function.__module__, function.__name__), writer.free)
    closure = tuple(writer.free[name] for name in code.co_freevars)
    made = FunctionType(code, function.__globals__, function.__name__, function.__defaults__, closure)
    made.__kwdefaults__, made.__doc__ = function.__kwdefaults__, function.__doc__
    made.__qualname__ = f"{function.__qualname__}_{digest_of(text)}"
    return made


def with_loops_written_out(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return `function` with its `unrolled` loops unrolled, if it has any."""
    if not isinstance(function, FunctionType):
        return function
    known = function.__globals__
    has_marker = any(known.get(name) is unrolled for name in function.__code__.co_names)
    return write_out(function) if has_marker else function


def leaves_loop(node: ast.AST, is_marker: Callable[[ast.AST], bool]) -> bool:
    """Return whether a statement of a loop that is unrolled has `break` or `continue` for this loop."""
    if isinstance(node, ast.Break | ast.Continue):
        return True
    if isinstance(node, ast.While) or (isinstance(node, ast.For) and not is_marker(node.iter)):
        return False
    return any(leaves_loop(inner, is_marker) for inner in ast.iter_child_nodes(node))


def _compiled(text: str, file_name: str, free: Iterable[str]) -> CodeType:
    """Return the code of the one function of `text`, with the names `free` in its closure."""
    outer = ast.parse(f"def outer({', '.join(free)}):\n    pass")
    outer.body[0].body = ast.parse(text).body  # type: ignore[attr-defined]
    compiled = compile(outer, file_name, "exec", dont_inherit=True)
    (code,) = (each for each in next(codes_in(compiled)).co_consts if isinstance(each, CodeType))
    return code


class _Writer(ast.NodeTransformer):
    """A transformer that unrolls the loops of one function.

    free: the cells of the closure, and of the values that loops give names to.
    """

    def __init__(self, function: FunctionType) -> None:
        self._code = code = function.__code__
        self.free = dict(zip(code.co_freevars, function.__closure__ or (), strict=True))
        self._locals = {*code.co_varnames, *code.co_cellvars}
        taken = {name: cell.cell_contents for name, cell in _full(self.free)}
        self._known = {**vars(builtins), **function.__globals__, **taken}
        self._bound: dict[str, object] = {}
        self._targets: set[str] = set()
        self._named: dict[tuple[str, int], str] = {}

    def written(self, definition: ast.FunctionDef) -> ast.FunctionDef:
        """Return the unrolled function without decorators, annotations and defaults, which the caller copies."""
        arguments = definition.args
        definition.decorator_list, definition.returns = [], None
        arguments.defaults, arguments.kw_defaults = [], [None] * len(arguments.kwonlyargs)
        for argument in ast.walk(arguments):
            if isinstance(argument, ast.arg):
                argument.annotation = None
        if not any(self._is_marker(node) for node in ast.walk(definition)):
            self._refuse(definition, "has no loop over `unrolled(...)`")
        self.generic_visit(definition)
        return ast.fix_missing_locations(definition)

    def visit_For(self, node: ast.For) -> Any:
        values = self._values(node.iter)
        if values is None:
            return self.generic_visit(node)
        if node.orelse:
            self._refuse(node, "has a loop to be written out with `else`")
        if any(leaves_loop(statement, self._is_marker) for statement in node.body):
            self._refuse(node, "leaves a loop that is written out by `break` or `continue`")
        turns = [
            self.visit(_copied(statement))
            for bound in self._turns(node.target, values)
            for statement in node.body
            if self._bind(bound)
        ]
        self._unbind(node.target)
        flat = [each for turn in turns for each in (turn if isinstance(turn, list) else [turn])]
        return flat or ast.Pass()

    def visit_Call(self, node: ast.Call) -> Any:
        if self._is_marker(node):
            self._refuse(node, "has `unrolled(...)` elsewhere than in `for`, `tuple`, `sum` with a start, or arguments")
        function = self._find(node.func.id) if isinstance(node.func, ast.Name) else None
        if function is tuple and len(node.args) == 1 and (elements := self._elements(node.args[0])) is not None:
            return ast.Tuple(elements, ast.Load())
        if function is sum and len(node.args) == 2 and (elements := self._elements(node.args[0])) is not None:
            return self._added(elements, self.visit(node.args[1]))
        arguments: list[ast.expr] = []
        for argument in node.args:
            elements = self._elements(argument.value) if isinstance(argument, ast.Starred) else None
            arguments += [self.visit(argument)] if elements is None else elements
        node.args = arguments
        node.func, node.keywords = self.visit(node.func), [self.visit(keyword) for keyword in node.keywords]
        return node

    def visit_Name(self, node: ast.Name) -> Any:
        name = node.id
        if name in self._bound:
            if not isinstance(node.ctx, ast.Load):
                self._refuse(node, f"assigns `{name}`, the variable of a loop that is written out")
            value = self._bound[name]
            return _number(value) if type(value) in (int, bool) else ast.Name(self._name(name, value), node.ctx)
        if name in self._targets:
            self._refuse(node, f"has `{name}` outside of the loop that is written out")
        value = self._find(name)
        return _number(value) if type(value) in (int, bool) and isinstance(node.ctx, ast.Load) else node

    def _added(self, terms: list[ast.expr], start: ast.expr) -> ast.expr:
        """Return the sum of `start` and terms; `start` is left out if it is the empty tuple."""
        if terms and isinstance(start, ast.Tuple) and not start.elts:
            start, *terms = terms
        return reduce(lambda total, term: ast.BinOp(total, ast.Add(), term), terms, start)

    def _elements(self, node: ast.expr) -> list[ast.expr] | None:
        """Return the items of a generator over `unrolled(...)`, or None for anything else."""
        if not isinstance(node, ast.GeneratorExp) or (values := self._values(node.generators[0].iter)) is None:
            return None
        if len(node.generators) > 1 or node.generators[0].ifs:
            self._refuse(node, "has a generator over `unrolled(...)` with a condition or a second loop")
        target = node.generators[0].target
        elements = [self.visit(_copied(node.elt)) for bound in self._turns(target, values) if self._bind(bound)]
        self._unbind(target)
        return elements

    def _values(self, node: ast.expr) -> list[object] | None:
        """Return the values of the loop that `node` marks, or None if it marks none."""
        if not self._is_marker(node):
            return None
        assert isinstance(node, ast.Call)
        if len(node.args) != 1 or node.keywords:
            self._refuse(node, "has `unrolled` without its one argument")
        text = ast.unparse(node.args[0])
        if unknown := sorted(self._locals.intersection(_names(node.args[0])) - self._bound.keys()):
            self._refuse(node, f"has `unrolled({text})`, and `{unknown[0]}` is only known when it runs")
        try:
            return list(eval(text, {**self._known, **self._bound}))
        except Exception as error:
            self._refuse(node, f"has `unrolled({text})`, which cannot be looped over: {error}")

    def _turns(self, target: ast.expr, values: Iterable[Any]) -> Iterator[dict[str, object]]:
        """Yield the variables of each iteration."""
        targets = target.elts if isinstance(target, ast.Tuple) else [target]
        names = [each.id for each in targets if isinstance(each, ast.Name)]
        if len(names) < len(targets):
            self._refuse(target, f"loops over `unrolled(...)` by `{ast.unparse(target)}`, which is not made of names")
        for name in names:
            if name in self._bound:
                self._refuse(target, f"has a loop of `{name}` in a loop of `{name}`")
        for value in values:
            parts = (*value,) if isinstance(target, ast.Tuple) else (value,)
            if len(parts) != len(names):
                self._refuse(target, f"loops by `{ast.unparse(target)}`, and a value has {len(parts)} parts")
            yield dict(zip(names, parts, strict=True))

    def _bind(self, turn: Mapping[str, object]) -> bool:
        self._bound.update(turn)
        return True

    def _unbind(self, target: ast.expr) -> None:
        for name in _names(target):
            self._bound.pop(name, None)
            self._targets.add(name)

    def _name(self, name: str, value: object) -> str:
        """Return the name for a value of a loop's variable."""
        if (known := self._named.get((name, id(value)))) is None:
            number = len([1 for each, _ in self._named if each == name])
            known = f"{name}_{number}"
            while known in self._locals or known in self._known:
                known += "_"
            self._named[name, id(value)] = known
            self.free[known] = CellType(value)
        return known

    def _find(self, name: str) -> object:
        """Return the value of a name that is not local to the function."""
        if name in self._locals:
            return None
        return self._known.get(name)

    def _is_marker(self, node: ast.AST) -> bool:
        return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and self._find(node.func.id) is unrolled

    def _refuse(self, node: Any, why: str) -> NoReturn:
        line = getattr(node, "lineno", self._code.co_firstlineno)
        raise TypeError(f"{self._code.co_qualname} ({self._code.co_filename}:{line}) {why}")


def _copied(node: Any) -> Any:
    """Return a copy of a syntax tree, in a sixth of the time of `copy.deepcopy`."""
    if isinstance(node, list):
        return [_copied(each) for each in node]
    if not isinstance(node, ast.AST):
        return node
    made = type(node).__new__(type(node))  # without a warning that fields are missing
    vars(made).update((name, _copied(value)) for name, value in vars(node).items())
    return made


def _full(cells: Mapping[str, CellType]) -> Iterator[tuple[str, CellType]]:
    """Yield the cells that have a value."""
    for name, cell in cells.items():
        try:
            cell.cell_contents  # noqa: B018
        except ValueError:
            continue
        yield name, cell


def _names(node: ast.AST) -> set[str]:
    return {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}


def _number(value: Any) -> ast.expr:
    if value < 0:
        return ast.UnaryOp(ast.USub(), ast.Constant(-value))
    return ast.Constant(value)
