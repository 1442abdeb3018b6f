"""The package's source files as they were when it was imported. `ep/__init__.py` imports this before all else.

So this record of a file is older than the import of any module but the package's own: a file that has not changed since
then holds the code that the process runs (`ep/common/kernel_cache/sources.py`).
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from typing import Final, NamedTuple


class FileState(NamedTuple):
    """The state of a file that changes when it is written or replaced.

    ctime_ns: when the file or its record changed; a program that restores mtime cannot restore it. On Windows it is the
        time of creation.
    """

    mtime_ns: int
    size: int
    inode: int
    ctime_ns: int

    @classmethod
    def of(cls, status: os.stat_result) -> FileState:
        """Return the state from the operating system's record of a file."""
        return cls(status.st_mtime_ns, status.st_size, status.st_ino, status.st_ctime_ns)


FOLDER: Final = os.path.dirname(os.path.abspath(__file__))


def _states(folder: str, prefix: str) -> Iterator[tuple[str, FileState]]:
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.endswith(".py"):
                # `entry.stat()` has no inode on Windows
                yield prefix + entry.name, FileState.of(os.stat(entry.path))
            elif entry.name != "__pycache__" and entry.is_dir():
                yield from _states(entry.path, f"{prefix}{entry.name}/")


def _all_states() -> dict[str, FileState]:
    try:
        return dict(_states(FOLDER, ""))
    except OSError:  # an archive, or a file that is being replaced: nothing is known of the sources
        return {}


TAKEN_NS: Final = time.time_ns()
"""The time of the clock before the states were taken."""

STATES: Final = _all_states()
"""The states of the source files, by path below FOLDER."""
