"""Files that the processes of a run have in common."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def shared(tmp_path_factory):
    """The folder that all processes of a run have in common."""
    folder = tmp_path_factory.getbasetemp()
    return folder.parent if "PYTEST_XDIST_WORKER" in os.environ else folder


def made_once(path: Path, make: Callable[[Path], None]) -> Path:
    """Return `path`, a file or a folder that the first process that asks for it makes; the others wait.

    make: makes it at the path that it is called with.
    """
    import fcntl  # Windows has none

    with open(f"{path}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not path.exists():
            unfinished = path.with_name(f"{path.name}.unfinished")
            make(unfinished)
            unfinished.rename(path)
    return path
