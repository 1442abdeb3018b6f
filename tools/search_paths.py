"""Environment variables that list folders. Imports neither the package nor NumPy."""

from __future__ import annotations

import os


def extended(variable: str, *folders: object) -> str:
    """Return the value of a variable that lists folders, with `folders` in front: packages may be found by it.

    All folders are absolute, for a process that begins in another one.
    """
    listed = filter(None, os.environ.get(variable, "").split(os.pathsep))
    return os.pathsep.join(os.path.abspath(str(folder)) for folder in (*folders, *listed))
