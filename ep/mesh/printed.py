"""The output of a rank before the job is ended: MPI_Abort ends processes whose output has not been read yet."""

from __future__ import annotations

import os
import stat
import sys
import time
from contextlib import suppress
from typing import Any, Final

_HANGS: Final = 60.0
"""Seconds after which a pipe is assumed to have no reader."""


def flush() -> None:
    """Flush the buffers of stdout and stderr."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(Exception):  # a stream that is closed, or None
            stream.flush()


def hand_over() -> None:
    """Wait until the launcher has read all output: buffers and pipes are empty."""
    flush()
    end = time.monotonic() + _HANGS
    for stream in (sys.stdout, sys.stderr):
        with suppress(Exception):  # a stream that is not a file
            while _is_unread(stream.fileno()) and time.monotonic() < end:
                time.sleep(0.001)


def _is_unread(file: int) -> bool:
    """Whether a file is a pipe that still holds unread bytes."""
    if not stat.S_ISFIFO(os.fstat(file).st_mode):
        return False
    import fcntl  # not at the top: not every platform has these modules
    import termios

    unread: Any = fcntl.ioctl(file, termios.FIONREAD, bytes(4))
    return any(unread)
