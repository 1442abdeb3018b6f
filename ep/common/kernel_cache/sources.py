"""The sources of a package, as a process runs them: their digest, and what of it is unknown.

A file that has not changed since the package was imported (`ep/source_files.py`) holds the code of the modules that
were imported from it. A module's file is looked at once after each import of it. Later changes do not matter: the
digest is that of the code which the process runs.
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Iterator, Mapping
from typing import Final

from ep import source_files
from ep.source_files import FileState

_NEVER: Final = object()


class Sources:
    """The sources of one package."""

    def __init__(self, folder: str, states: Mapping[str, FileState]) -> None:
        """folder: the package's, of the same name; states: its files at the time of the import, by path in it."""
        self._folder, self._package = folder, os.path.basename(folder)
        self.states = states
        self._specs: dict[str, object] = {}  # of the modules whose files were looked at: another one if imported again
        self._changed: set[str] = set()
        self.digests: dict[tuple[str, ...], str] = {}
        """The digests of files in the states `states`, by their rooms."""

    def digest(self, rooms: tuple[str, ...] = ("",)) -> str | None:
        """Return the digest of the files in some folders, or None if the code that this process runs is unknown.

        rooms: the paths of the folders in the package.
        """
        if not self.states:
            return None
        for module, spec in self._imported():
            if not self._is_unchanged(path := self._path_of(module)):
                self._changed.add(path)
            self._specs[module] = spec
        if any(_is_in(rooms, path) for path in tuple(self._changed)):
            return None
        found = self.digests.get(rooms) or self._digest(rooms)
        if found is not None:
            self.digests[rooms] = found
        return found

    def _imported(self) -> Iterator[tuple[str, object]]:
        """Yield the package's modules that were imported since their files were looked at, with their specs."""
        start = f"{self._package}."
        for name, module in tuple(sys.modules.items()):
            if name.startswith(start) or name == self._package:
                spec = getattr(module, "__spec__", None)
                has_file = getattr(spec, "has_location", True)  # a folder without an `__init__` has none
                if has_file and self._specs.get(name, _NEVER) is not spec:
                    yield name, spec

    def _path_of(self, module: str) -> str:
        path = module.partition(".")[2].replace(".", "/")
        beside = f"{path}/__init__.py".lstrip("/")
        return beside if beside in self.states else f"{path}.py"

    def _is_unchanged(self, path: str) -> bool:
        try:
            return FileState.of(os.stat(os.path.join(self._folder, path))) == self.states.get(path)
        except OSError:
            return False

    def _digest(self, rooms: tuple[str, ...]) -> str | None:
        taken = hashlib.sha256()
        for path in sorted(self.states):
            if _is_in(rooms, path):
                try:
                    with open(os.path.join(self._folder, path), "rb", buffering=0) as file:
                        contents, state = file.read(), FileState.of(os.fstat(file.fileno()))
                except OSError:
                    state = None
                if state != self.states[path]:
                    self._changed.add(path)
                    return None
                taken.update(f"{path}\0".encode() + hashlib.sha256(contents).digest())
        return taken.hexdigest()


def _is_in(rooms: tuple[str, ...], path: str) -> bool:
    return any(not room or path.startswith(f"{room}/") for room in rooms)


PACKAGE: Final = Sources(source_files.FOLDER, source_files.STATES)
"""The sources of ep itself."""
