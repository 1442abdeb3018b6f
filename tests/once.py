"""Files that the processes of a run have in common."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def shared(tmp_path_factory):
    """Return the folder that all processes of a run have in common."""
    folder = tmp_path_factory.getbasetemp()
    return folder.parent if "PYTEST_XDIST_WORKER" in os.environ else folder


def made_once(path: Path, make: Callable[[Path], None]) -> Path:
    """Return `path`, a file or a folder. The first process that calls this makes it, and the others wait.

    make: called with the path at which to make it.
    """
    import fcntl  # not on Windows

    with open(f"{path}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not path.exists():
            unfinished = path.with_name(f"{path.name}.unfinished")
            make(unfinished)
            unfinished.rename(path)
    return path
