"""The syntax trees of functions, for code that is written from them."""

from __future__ import annotations

import ast
import builtins
import linecache
from collections.abc import Mapping
from functools import cache
from types import CellType, CodeType, FunctionType
from typing import Any, NamedTuple

from ep.common.loops.definition import codes_in


class Unsupported(Exception):
    """Only Numba can compile this function."""


class Names(NamedTuple):
    """The names of a function. local: its arguments and variables. free, known: what the other names stand for."""

    local: frozenset[str]
    free: Mapping[str, Any]
    known: Mapping[str, Any]

    def outer(self, name: str) -> Any:
        """Return what a name stands for that is no variable of the function."""
        for space in (self.free, self.known, vars(builtins)):
            if name in space:
                found = space[name]
                return _contents(found) if space is self.free else found
        raise Unsupported


def _contents(cell: CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # the variable has no value yet
        raise Unsupported from None


class _File(NamedTuple):
    """A file, or a text that was compiled: its imports, and its functions by name and first line."""

    imports: list[ast.stmt]
    functions: dict[tuple[str, int], ast.FunctionDef]


def definition_of(function: FunctionType) -> tuple[ast.FunctionDef, Names]:
    """Return the syntax tree of a function, and its names.

    Raises Unsupported if the source is missing, or is not the one that was imported.
    """
    code = function.__code__
    file = _file(code.co_filename)
    definition = file.functions.get((code.co_name, code.co_firstlineno))
    if definition is None or code.co_cellvars or not _is_of(definition, file.imports, code):
        raise Unsupported
    arguments = definition.args
    if arguments.posonlyargs or arguments.kwonlyargs or arguments.vararg or arguments.kwarg or arguments.defaults:
        raise Unsupported
    free = dict(zip(code.co_freevars, function.__closure__ or (), strict=True))
    return definition, Names(frozenset(code.co_varnames), free, function.__globals__)


@cache
def _file(name: str) -> _File:
    if not name.startswith("<"):  # of a text there is no file to look at
        linecache.checkcache(name)
    try:
        tree = ast.parse("".join(linecache.getlines(name)))
    except SyntaxError:  # the file is being written
        return _File([], {})
    functions = {
        (node.name, min([node.lineno, *(each.lineno for each in node.decorator_list)])): node
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef)
    }
    return _File([node for node in tree.body if isinstance(node, ast.Import)], functions)


def _is_of(definition: ast.FunctionDef, imports: list[ast.stmt], code: CodeType) -> bool:
    """Return whether a definition is the one that was compiled to `code`.

    imports: of its module; Python calls functions of imported modules by other instructions.
    """
    outer = ast.parse(f"def outer({', '.join(code.co_freevars)}):\n    pass").body[0]
    assert isinstance(outer, ast.FunctionDef)
    outer.body = [definition]
    module = compile(ast.Module([*imports, outer], []), code.co_filename, "exec", dont_inherit=True)
    made = (each for of in codes_in(module) for each in codes_in(of))
    return any(_parts(each) == _parts(code) for each in made)


def _parts(code: CodeType) -> tuple[Any, ...]:
    names = code.co_names, code.co_varnames, code.co_freevars
    return code.co_code, repr(code.co_consts), names  # not the constants, since 0 equals False
