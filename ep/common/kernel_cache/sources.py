"""The sources that a process runs: the digest of modules, and of all that they import.

A module reaches the modules that it imports, at its top and in functions, and so on. It does not reach the other
imports of a package's `__init__`: `from package import name` reaches the module that defines `name`. Of the packages on
the way, only the contents of the `__init__` count.

A file that has not changed since the package was imported (`ep/source_files.py`) holds the code that was imported from
it. This is checked when its digest is first taken. Later changes of the file do not change the digest: it is that of
the code which the process runs. Before the module is imported, each digest checks the file again. If the file has
changed, or the module was imported again, the code that the process runs is unknown.
"""

from __future__ import annotations

import hashlib
import os
import re
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cache, reduce
from operator import or_
from typing import Final, NamedTuple

from ep import source_files
from ep.source_files import FileState


class Import(NamedTuple):
    """One name that a module imports.

    module: the source module; absolute.
    name: the name in `from module import name`; None for `import module`.
    bound: the name in the importing module.
    """

    module: str
    name: str | None
    bound: str


class _Source(NamedTuple):
    text: str
    digest: bytes
    imports: tuple[Import, ...]


class _Checked(NamedTuple):
    unchanged: bool
    spec: object  # another object if the module is imported again


class Sources:
    """The sources of one package, as this process runs them."""

    def __init__(self, folder: str, states: Mapping[str, FileState]) -> None:
        """folder: the package's, of the same name; states: its files at the time of the import, by path in it."""
        self._folder, self._package = folder, os.path.basename(folder)
        self.states = states
        self._paths = {self._module_of(path): path for path in states}
        self._files: dict[str, str] = {}
        self.modules = frozenset(self._paths)
        self._bits = {module: 1 << place for place, module in enumerate(sorted(self._paths))}
        self._checked: dict[str, _Checked] = {}
        self._read: dict[str, _Source] = {}
        self._next: dict[str, frozenset[str]] = {}
        self._sets: dict[int, tuple[str, ...]] = {}
        self.digests: dict[int, tuple[str, int]] = {}
        """The digests of sets of modules, with all modules that they reach, of files in the states `states`.

        A bit of a set is a module, in the order of their names.
        """

    def _module_of(self, path: str) -> str:
        return f"{self._package}/{path}".removesuffix(".py").removesuffix("/__init__").replace("/", ".")

    def has(self, module: str) -> bool:
        """Return whether `module` is one of the package's."""
        return module.partition(".")[0] == self._package

    def digest(self, modules: Collection[str]) -> str | None:
        """Return the digest of `modules` and of all that they reach, or None if the code in this process is unknown."""
        try:
            roots = self._set_of(modules)
        except KeyError:  # of another package, or it appeared after the package was imported
            return None
        if (found := self.digests.get(roots)) is None:
            found = self._digest(modules)
            if found is None:
                return None
            self.digests[roots] = found
        digest, names = found
        if (reached := self._sets.get(names)) is None:
            reached = self._sets[names] = tuple(self._modules_of(names))
        return digest if all(map(self._is_unchanged, reached)) else None

    def _set_of(self, modules: Iterable[str]) -> int:
        return reduce(or_, [self._bits[module] for module in modules], 0)

    def _modules_of(self, a_set: int) -> list[str]:
        return [module for module, bit in zip(self._bits, reversed(f"{a_set:b}"), strict=False) if bit == "1"]

    def _digest(self, modules: Iterable[str]) -> tuple[str, int] | None:
        reached = self.reached(modules)
        if reached is None:
            return None
        taken = hashlib.sha256()
        for name in sorted(reached):
            source = self._source(name)
            if source is None:
                return None
            taken.update(f"{name}\0".encode())
            taken.update(source.digest)
        return taken.hexdigest(), self._set_of(reached)

    def reached(self, roots: Iterable[str]) -> set[str] | None:
        """Return the modules that `roots` reach, and their packages, or None if one of the files is unknown."""
        followed: set[str] = set()
        todo = set(roots)
        while todo:
            module = todo.pop()
            source = self._source(module)
            if source is None:
                return None
            followed.add(module)
            todo |= self._reached_from(module, source) - followed
        packages = {module[:end] for module in followed for end in range(len(module)) if module[end] == "."}
        return followed | packages

    def _reached_from(self, module: str, source: _Source) -> frozenset[str]:
        """Return the modules that `source` imports from."""
        if (found := self._next.get(module)) is None:
            found = frozenset(defining for each in source.imports for defining in self._defining(each))
            self._next[module] = found
        return found

    def _defining(self, imported: Import, above: frozenset[Import] = frozenset()) -> Iterator[str]:
        """Yield the modules in which an imported name may be defined; none for another package's import."""
        module, name, _ = imported
        if not self.has(module):
            return
        if not self._paths.get(module, "").endswith("__init__.py"):
            yield module
            return
        submodule, source = f"{module}.{name}", self._source(module)
        found = submodule in self._paths
        if found:
            yield submodule
        if name and source and not _assigned(name, source.text):
            # Python cannot import a cycle of names; the package itself remains
            for other in (other for other in source.imports if other.bound == name and other not in above):
                found = True
                yield from self._defining(other, above | {imported})
        if not found or name is None or (source and _assigned(name, source.text)):
            yield module

    def _is_unchanged(self, module: str) -> bool:
        """Return whether the file of a module holds the code that this process runs, or would import."""
        spec = getattr(sys.modules.get(module), "__spec__", None)
        if (checked := self._checked.get(module)) is not None:
            return checked.unchanged and checked.spec is spec
        path = self._paths.get(module)
        if path is None:  # it appeared after the package was imported, or there are no files
            return False
        file = self._files.get(path) or self._files.setdefault(path, os.path.join(self._folder, path))
        try:
            unchanged = FileState.of(os.stat(file)) == self.states[path]
        except OSError:
            unchanged = False
        if spec is not None:
            self._checked[module] = _Checked(unchanged, spec)
        return unchanged

    def _source(self, module: str) -> _Source | None:
        if not self._is_unchanged(module):
            return None
        if (kept := self._read.get(module)) is not None:
            return kept
        path = self._paths[module]
        try:
            with open(os.path.join(self._folder, path), "rb", buffering=0) as file:
                contents, state = file.read(), FileState.of(os.fstat(file.fileno()))
        except OSError:
            return None
        if state != self.states[path]:
            return None
        package = module if path.endswith("__init__.py") else module.rpartition(".")[0]
        text = contents.decode(errors="replace")
        source = _Source(text, hashlib.sha256(contents).digest(), tuple(imports_of(text, package, self._paths)))
        self._read[module] = source
        return source


_FOR_CHECKERS: Final = re.compile(r"(?m)^([ \t]*)if (?:typing\.)?TYPE_CHECKING:[ \t]*\n(?:(?:\1[ \t]+[^\n]*)?\n)*")
_IMPORT: Final = re.compile(r"import\b\s*(\([^)]*\)|[^\n;]*)")
_BEFORE: Final = re.compile(r"(?:.*[;:])?[ \t]*(?:from[ \t]+([.\w]+)[ \t]+)?")
_COMMENT: Final = re.compile(r"#[^\n]*")


def imports_of(text: str, package: str, modules: Iterable[str] = ()) -> Iterator[Import]:
    """Yield every import in `text`, the source of a module in `package`, except those for type checkers alone.

    Also yields strings that look like imports. If `modules` are given, which are imported by name, a string that is one
    of their names counts as an import. Python's own parser would take ten times as long, half the time of a first
    launch.
    """
    if "\\\n" in text:
        text = text.replace("\\\n", " ")
    if "TYPE_CHECKING:" in text:
        text = _FOR_CHECKERS.sub("", text + "\n")
    for found in _IMPORT.finditer(text):
        before = _BEFORE.fullmatch(text, text.rfind("\n", 0, found.start()) + 1, found.start())
        if before is None:
            continue
        origin, names = before[1] and _absolute(before[1], package), found[1]
        if "#" in names:
            names = _COMMENT.sub("", names)
        for part in names.strip("() \t\n").split(","):
            words = part.split()
            if len(words) == 1 or (len(words) == 3 and words[1] == "as"):
                name, bound = words[0], words[-1]
                if origin:
                    yield Import(origin, name, bound)
                else:
                    yield Import(name, None, bound if len(words) == 3 else name.partition(".")[0])
    if "import_module" in text or "__import__" in text:
        for quoted in set(re.findall(r"[\"']([\w.]+)[\"']", text)).intersection(modules):
            yield Import(quoted, None, "")


def _absolute(origin: str, package: str) -> str:
    name = origin.lstrip(".")
    level = len(origin) - len(name)
    if not level:
        return name
    base = package.rsplit(".", level - 1)[0] if level > 1 else package
    return f"{base}.{name}" if name else base


_DEFINED: Final = re.compile(r"\b(?:def|class)\s+(\w+)|\b(?=(\w+)\s*(?::[^=\n]*)?=[^=])")


def _assigned(name: str, text: str) -> bool:
    """Return whether `text` may define `name` in another way than by an import."""
    return name == "*" or name in _defined(text)


@cache
def _defined(text: str) -> frozenset[str]:
    """Return the names that `text` may define in another way than by imports."""
    return frozenset(found for one in _DEFINED.finditer(text) for found in one.groups() if found)


PACKAGE: Final = Sources(source_files.FOLDER, source_files.STATES)
"""The sources of ep itself."""
