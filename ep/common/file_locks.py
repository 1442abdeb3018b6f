"""Locks by which a process that is writing a file is told from one that has ended: the system frees them."""

from __future__ import annotations

from typing import Any

try:
    import fcntl
except ImportError:  # on Windows, where an open file cannot be removed
    _fcntl: Any = None
else:
    _fcntl = fcntl


def locks(fd: int) -> bool:
    """Lock an open file until it is closed; return whether no other process has it locked, as far as is known."""
    if _fcntl is not None:
        try:
            _fcntl.flock(fd, _fcntl.LOCK_EX | _fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        except OSError:  # the file system has no locks
            pass
    return True
