"""The syntax trees of functions, for code that is written from them."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Mapping
from types import CellType, FunctionType
from typing import Any, NamedTuple

from ep.common.loops.definition import definition_of


class Unsupported(Exception):
    """Only Numba can compile this function."""


class Names(NamedTuple):
    """The names of a function. local: its arguments and variables. free, known: what the other names stand for.

    assigned: the local names that statements assign.
    """

    local: frozenset[str]
    assigned: frozenset[str]
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


def tree_of(function: FunctionType) -> tuple[ast.FunctionDef, Names]:
    """Return the syntax tree of a function, and its names.

    Raises Unsupported if the source is missing, or is not the one that was imported.
    """
    code = function.__code__
    if code.co_name == "<lambda>":
        raise Unsupported
    try:
        definition = definition_of(function)
    except RuntimeError:  # its source is missing, or has changed
        raise Unsupported from None
    arguments = definition.args
    if arguments.posonlyargs or arguments.kwonlyargs or arguments.vararg or arguments.kwarg or arguments.defaults:
        raise Unsupported
    free = dict(zip(code.co_freevars, function.__closure__ or (), strict=True))
    if any(isinstance(one, ast.FunctionDef | ast.Lambda) for one in ast.walk(definition) if one is not definition):
        raise Unsupported
    assigned = (one.id for one in ast.walk(definition) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store))
    return definition, Names(
        frozenset(code.co_varnames + code.co_cellvars), frozenset(assigned), free, function.__globals__
    )
