"""The parts of a kernel's function: the modules that its functions come from, and the constants that they use.

Compiled code includes the objects that Python's functions refer to: closures, defaults, and globals. Some of it comes
from modules that the function's own module does not import: a functor from a table that others fill, a constant that a
caller passes to the maker of a closure. So all of it is walked here, and becomes part of the kernel's key.
"""

from __future__ import annotations

import functools
import hashlib
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import Enum
from types import BuiltinFunctionType, CellType, FunctionType, MethodType, ModuleType
from typing import Any, Final, NamedTuple

from ep.common.deferred import Deferred
from ep.common.global_names import sorted_names

_TOOLS: Final = frozenset(("cuda", "llvmlite", "ml_dtypes", "numba", "numba_cuda", "numpy"))
"""Packages whose versions are part of every key. Python's version is too, which covers its standard library."""

_EMPTY: Final = b"the contents of a variable that has no value yet"

_PLAIN: Final = (type(...), bool, int, float, complex, str, bytes)


class Reach(NamedTuple):
    """The parts of a function.

    modules: the names of the modules that define it, without those of Python and of the tools.
    digest: of its structure, and of the constants that the modules do not determine.
    """

    modules: frozenset[str]
    digest: str


def reach(function: object) -> Reach:
    """Return the parts of `function`, or of a tuple of functions, and of all that they refer to."""
    walk = _Walk()
    walk.add(function)
    return Reach(frozenset(walk.modules), walk.digest())


class _Walk:
    def __init__(self) -> None:
        self.modules: set[str] = set()
        self._said: list[str] = []
        self._numbers: dict[int, int] = {}
        self._kept: list[object] = []  # keeps objects alive, so that no id is reused
        self._todo: list[object] = []

    def add(self, root: object) -> None:
        said, numbers, kept, todo = self._said, self._numbers, self._kept, self._todo
        todo.append(root)
        while todo:
            value = todo.pop()
            if value is None:
                said.append("none\n")
            elif isinstance(value, _PLAIN):
                self._say(f"{type(value).__name__} {value!r}")
            elif (number := numbers.get(id(value))) is not None:
                said.append(f"again {number}\n")
            else:
                numbers[id(value)] = len(kept)
                kept.append(value)
                # last in, first out: the values that a value refers to follow it
                todo.extend(reversed([*self._look_at(value)]))

    def digest(self) -> str:
        """Return the digest of all that was said."""
        return hashlib.sha256("".join(self._said).encode(errors="backslashreplace")).hexdigest()

    def _say(self, text: str) -> None:
        self._said.append(f"{len(text)} {text}\n")

    def _from(self, module: str | None, *what: object) -> bool:
        """Record that something comes from `module`.

        Return whether the module is not one of Python's or of the tools.
        """
        self._say(f"{module} {what}")
        top = (module or "builtins").partition(".")[0]
        if top in _TOOLS or top in sys.stdlib_module_names:
            return False
        self.modules.add(module or "builtins")
        return True

    def _look_at(self, value: Any) -> Iterable[object]:
        """Add `value` to the digest, and return the values that it refers to."""
        if isinstance(value, FunctionType):
            return self._look_at_function(value)
        if isinstance(value, Deferred):
            self._from(type(value).__module__, type(value).__qualname__)
            return value.py_func, value.make
        return self._look_at_others(value)

    def _look_at_others(self, value: Any) -> Iterator[object]:
        if isinstance(value, ModuleType):
            self._from(value.__name__, "module")
        elif isinstance(inner := _inner(value), FunctionType):
            self._from(type(value).__module__, type(value).__qualname__)
            yield inner
            yield getattr(value, "targetoptions", None)
        elif isinstance(value, functools.partial):
            yield from ("partial", value.func, value.args, value.keywords)
        elif isinstance(value, MethodType):
            yield from ("method", value.__func__, value.__self__)
        elif isinstance(value, Enum):
            self._from(type(value).__module__, type(value).__qualname__, value.name)
        elif isinstance(value, (type, BuiltinFunctionType)):
            self._from(value.__module__, value.__qualname__)
        elif isinstance(value, (tuple, list)):
            self._say(f"{type(value).__qualname__} of {len(value)}")
            yield from value
        elif isinstance(value, (set, frozenset)):
            self._say(f"set of {len(value)}")
            yield from sorted(value, key=repr)
        elif isinstance(value, Mapping):
            self._say(f"mapping of {len(value)}")
            for key, item in value.items():
                yield key
                yield item
        else:
            yield from self._look_at_object(value)

    def _look_at_function(self, function: FunctionType) -> Sequence[object]:
        code, known = function.__code__, function.__globals__
        if not self._from(known.get("__name__"), function.__qualname__, code.co_firstlineno):
            return ()
        names = [name for name in sorted_names(code) if name in known]
        cells = [_contents(cell) for cell in function.__closure__ or ()]
        self._say(f"{code.co_freevars} {names}")
        return function.__defaults__, function.__kwdefaults__, *cells, *[known[name] for name in names]

    def _look_at_object(self, value: Any) -> Iterator[object]:
        """Add an object of some class to the digest.

        NumPy's scalars and arrays add their values, the tools' types theirs.
        """
        ours = self._from(type(value).__module__, type(value).__qualname__)
        if hasattr(value, "dtype") and hasattr(value, "tobytes"):
            self._say(repr((str(value.dtype), value.shape, value.tobytes())))
        elif ours:
            yield getattr(value, "__dict__", None)
            for name in (name for cls in type(value).__mro__ for name in getattr(cls, "__slots__", ())):
                yield getattr(value, name, None)
        elif (text := str(value)) != object.__repr__(value):  # the default shows an address
            self._say(text)


def _contents(cell: CellType) -> object:
    try:
        return cell.cell_contents
    except ValueError:  # not assigned yet
        return _EMPTY


def _inner(value: Any) -> object:
    """Return the function inside an object that a decorator made: a compiled, intrinsic or cached function."""
    for name in ("py_func", "_defn", "__wrapped__"):
        if (inner := getattr(value, name, None)) is not None:
            return inner
    return None
