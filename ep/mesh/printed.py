"""The output of a rank, written before the job is ended: MPI_Abort ends processes whose output is not read yet."""

from __future__ import annotations

import os
import stat
import sys
import time
from contextlib import suppress
from typing import Any, Final

_HANGS: Final = 60.0
"""Seconds after which a pipe is taken for one that nobody reads."""


def flush() -> None:
    """Write out what is in buffers."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(Exception):  # one that is closed, or none at all
            stream.flush()


def hand_over() -> None:
    """Return when the launcher has what was printed: buffers are empty, and so are pipes."""
    flush()
    end = time.monotonic() + _HANGS
    for stream in (sys.stdout, sys.stderr):
        with suppress(Exception):  # one that is no file
            while _is_unread(stream.fileno()) and time.monotonic() < end:
                time.sleep(0.001)


def _is_unread(file: int) -> bool:
    """Return whether a file is a pipe in which there are bytes still."""
    if not stat.S_ISFIFO(os.fstat(file).st_mode):
        return False
    import fcntl  # not at the top: not every platform has them
    import termios

    unread: Any = fcntl.ioctl(file, termios.FIONREAD, bytes(4))
    return any(unread)
