"""The Pythons that `tools.matrix` tests with: of this machine, and of a Debian unstable."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tools import debian

ROOT: Final = Path(__file__).resolve().parent.parent
DEBIAN: Final = "debian"
FIXED: Final = "-fixed"


@dataclass(frozen=True)
class Interpreter:
    """A Python.

    fixed: whether it is an executable for fixed addresses, and not a position-independent one.
    inside: the words before a command that runs in the system of this Python, if it is not this system.
    """

    path: str
    version: tuple[int, ...]
    free_threaded: bool = False
    fixed: bool = False
    inside: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """Return the version, such as "3.12", or "3.13t" if it is free-threaded, with "-fixed" if it is fixed."""
        return ".".join(map(str, self.version[:2])) + "t" * self.free_threaded + FIXED * self.fixed


def candidates(path: str, pyenv: Path) -> list[str]:
    """Return commands that may be a Python 3, on the search path `path` and in pyenv; the running Python first."""
    folders = [Path(folder) for folder in path.split(os.pathsep) if folder]
    there = [file for folder in folders for file in sorted(folder.glob("python3.*")) if _PYTHON.fullmatch(file.name)]
    of_pyenv = sorted(pyenv.glob("versions/3.*/bin/python"))
    return list(dict.fromkeys([sys.executable, *map(str, [*there, *of_pyenv])]))


_PYTHON: Final = re.compile(r"python3\.\d+t?")
_ASK: Final = """
import os, sys, sysconfig
with open(os.path.realpath(sys.executable), "rb") as executable:
    begin = executable.read(18)
fixed = begin[:4] == b"\\x7fELF" and begin[16] == 2  # ET_EXEC
print(*sys.version_info[:3], int(bool(sysconfig.get_config_var("Py_GIL_DISABLED"))), int(fixed))
"""


def ask(command: str, inside: tuple[str, ...] = ()) -> Interpreter | None:
    """Return the interpreter of a command; None if it is no Python."""
    try:
        done = subprocess.run([*inside, command, "-c", _ASK], capture_output=True, text=True, check=True, cwd=ROOT)
    except (OSError, subprocess.CalledProcessError):
        return None
    *version, free_threaded, fixed = map(int, done.stdout.split())
    return Interpreter(command, tuple(version), bool(free_threaded), bool(fixed), inside)


def choose(found: Iterable[Interpreter], oldest: tuple[int, ...]) -> dict[str, Interpreter]:
    """Return one Python of each minor version and kind from `oldest` on, by name: the newest, or the first."""
    chosen: dict[str, Interpreter] = {}
    for one in found:
        if one.version >= oldest and (one.name not in chosen or one.version > chosen[one.name].version):
            chosen[one.name] = one
    return dict(sorted(chosen.items(), key=lambda item: item[1].version))


def of_debian(folder: Path) -> dict[str, Interpreter]:
    """Return the Pythons of a Debian unstable, which is made in a folder, by the names of environments.

    That of /usr/bin/python3 is `debian`, a newer one is such as `debian-3.15`. Print why there are none.
    """
    try:
        inside = debian.make(folder)
    except debian.CannotMakeError as error:
        print(f"{DEBIAN}: not run: {error}")
        return {}
    usual = ask("/usr/bin/python3", inside)
    if usual is None:
        print(f"{DEBIAN}: not run: its /usr/bin/python3 does not start")
        return {}
    programs = (one.name for one in (folder / debian.NAME / "usr/bin").glob("python3.*") if _PYTHON.fullmatch(one.name))
    found = (ask(f"/usr/bin/{name}", inside) for name in programs)
    newer = choose((one for one in found if one and one.version > usual.version), ())
    return {DEBIAN: usual} | {f"{DEBIAN}-{name.removesuffix(FIXED)}": one for name, one in newer.items()}
