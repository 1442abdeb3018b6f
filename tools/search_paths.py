"""Environment variables that list folders. Imports neither the package nor NumPy."""

from __future__ import annotations

import os


def extended(variable: str, *folders: object) -> str:
    """Return the value of a variable that lists folders, with `folders` in front: packages may be found by it."""
    return os.pathsep.join([*map(str, folders), *filter(None, [os.environ.get(variable)])])
