"""The packages that a kernel's functions come from.

The key of a kernel has the sources of ep, and the versions of Python and of the tools. A function of another package
may change without either.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from functools import partial
from types import CellType, FunctionType
from typing import Any, Final

_TOOLS: Final = frozenset(("cuda", "llvmlite", "ml_dtypes", "numba", "numba_cuda", "numpy"))


def are_known(function: object, packages: frozenset[str]) -> bool:
    """Return whether all functions that one is made of are of some packages of ep, of Python or of the tools.

    function: a function, what a decorator made of one, or a tuple of these. Its closures and defaults count, and the
    arguments of partial functions.
    """
    todo, seen = [function], dict[int, object]()
    while todo:
        value = todo.pop()
        if id(value) not in seen:
            seen[id(value)] = value
            if isinstance(value, FunctionType) and not _is_of(value, packages):
                return False
            todo += _parts(value)
    return True


def _is_of(function: FunctionType, packages: frozenset[str]) -> bool:
    names = function.__globals__.get("__name__", "").split(".")
    return ".".join(names[:2]) in packages or names[0] in _TOOLS or names[0] in sys.stdlib_module_names


def _parts(value: Any) -> Iterable[object]:
    if isinstance(value, tuple):
        return value
    if isinstance(value, FunctionType):
        cells = map(_contents, value.__closure__ or ())
        return *cells, *(value.__defaults__ or ()), *(value.__kwdefaults__ or {}).values()
    if isinstance(value, partial):
        return value.func, value.args, *value.keywords.values()
    return [getattr(value, name) for name in ("py_func", "_defn", "__wrapped__", "__func__") if hasattr(value, name)]


def _contents(cell: CellType) -> object:
    try:
        return cell.cell_contents
    except ValueError:  # not assigned yet
        return None
