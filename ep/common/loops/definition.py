"""The definition of a function, as a syntax tree, from the source that it was imported from."""

from __future__ import annotations

import ast
import linecache
from collections.abc import Iterator
from types import CodeType, FunctionType
from typing import Final


class _Module:
    """The text of a module: the code of its functions, and their definitions."""

    def __init__(self, text: str, file_name: str) -> None:
        tree = ast.parse(text)
        self._definitions = {
            (node.name, min([node.lineno, *(each.lineno for each in node.decorator_list)])): node
            for node in ast.walk(tree)
            if isinstance(node, ast.FunctionDef)
        }
        self._codes = frozenset(codes_in(compile(tree, file_name, "exec", dont_inherit=True)))

    def definition(self, code: CodeType) -> ast.FunctionDef | None:
        """Return the definition of the function that has this very code, or None."""
        return self._definitions[code.co_name, code.co_firstlineno] if code in self._codes else None


_modules: Final[dict[str, _Module]] = {}  # by file; kept even if the file changes


def definition_of(function: FunctionType) -> ast.FunctionDef:
    """Return the syntax tree of a function. Raises RuntimeError if its source is missing or not the imported one.

    A file is read when the first of its functions is asked for, as Python's tracebacks read it: also from an archive.
    """
    code = function.__code__
    known = _modules.get(code.co_filename)
    if known and (definition := known.definition(code)):
        return definition
    linecache.checkcache(code.co_filename)
    lines = linecache.getlines(code.co_filename, function.__globals__)
    if not lines:
        raise RuntimeError(f"{place_of(code)} has loops to be written out, and its source is not at hand")
    try:
        read = _Module("".join(lines), code.co_filename)
        definition = read.definition(code)
    except (SyntaxError, ValueError):  # the file is being written
        definition = None
    if definition is None:
        raise RuntimeError(f"{place_of(code)} is not what was imported: its file has changed; start Python anew")
    _modules[code.co_filename] = read
    return definition


def codes_in(code: CodeType) -> Iterator[CodeType]:
    """Yield the code of every function inside `code`."""
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield constant
            yield from codes_in(constant)


def place_of(code: CodeType) -> str:
    """Return the place of a function, for messages."""
    return f"{code.co_qualname} ({code.co_filename}:{code.co_firstlineno})"
