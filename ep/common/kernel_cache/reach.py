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
"""Packages whose versions are part of keys, as Python's is, which covers its standard library.

CUDA's kernels have no objects of Python and NumPy: their key has the versions of compilers alone. So what is said here
of Python's and NumPy's objects is the same with all their versions.
"""

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
    walk = _Traversal()
    walk.add(function)
    return Reach(frozenset(walk.modules), walk.digest())


class _Traversal:
    def __init__(self) -> None:
        self.modules: set[str] = set()
        self._said: list[str] = []

    def add(self, root: object) -> None:
        """Add all that `root` refers to: each object once, in the order in which it is found, by its number."""
        said, numbers, found = self._said, dict[int, int](), list[object]()
        parts: Iterable[object] = (root,)
        looked_at = 0
        while True:
            for part in parts:
                if part is None:
                    said.append("none\n")
                elif (number := numbers.get(id(part))) is not None:
                    said.append(f"number {number}\n")
                elif type(part) in _PLAIN:
                    self._say(f"{type(part).__name__} {part!r}")
                elif isinstance(part, _PLAIN):  # NumPy's numbers, for one, show themselves in other ways
                    plain = next(kind for kind in _PLAIN if isinstance(part, kind))
                    self._say(f"{type(part).__name__} {plain.__repr__(part)}")
                else:
                    numbers[id(part)] = len(found)
                    found.append(part)  # which also keeps it alive, so that no id is reused
                    said.append("next\n")
            if looked_at == len(found):
                return
            parts = self._look_at(found[looked_at])
            looked_at += 1

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
        module = module or "builtins"
        if module not in self.modules:
            if _is_of_tools(module):
                return False
            self.modules.add(module)
        return True

    def _look_at(self, value: Any) -> Iterable[object]:
        """Add `value` to the digest, and return the values that it refers to."""
        if isinstance(value, FunctionType):
            return self._look_at_function(value)
        if isinstance(value, Deferred):
            self._from(type(value).__module__, type(value).__qualname__)
            return value.py_func, value.make
        if isinstance(value, (tuple, list)):
            self._say(f"{type(value).__qualname__} of {len(value)}")
            return value
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
        elif isinstance(value, (set, frozenset)):
            self._say(f"set of {len(value)}")
            yield from sorted(value, key=lambda part: part.name if isinstance(part, Enum) else repr(part))
        elif isinstance(value, Mapping):
            self._say(f"mapping of {len(value)}")
            for key, item in value.items():
                yield key
                yield item
        else:
            yield from self._look_at_object(value)

    def _look_at_function(self, function: FunctionType) -> Sequence[object]:
        code, known = function.__code__, function.__globals__
        if not self._from(known.get("__name__"), function.__qualname__):
            return ()
        self._say(f"line {code.co_firstlineno}")
        names = [name for name in sorted_names(code) if name in known]
        defaults = [one for one in (function.__defaults__, function.__kwdefaults__) if one]
        cells = map(_contents, function.__closure__ or ())
        self._say(f"{len(defaults)} {' '.join(code.co_freevars)}: {' '.join(names)}")
        return [*defaults, *cells, *[known[name] for name in names]]

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


@functools.cache
def _is_of_tools(module: str) -> bool:
    """Return whether a module is one of Python's or of the tools."""
    top = module.partition(".")[0]
    return top in _TOOLS or top in sys.stdlib_module_names


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
