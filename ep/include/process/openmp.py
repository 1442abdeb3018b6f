"""Forks of a process that computes with OpenMP, as PyTorch does.

Each thread that begins parallel loops has threads of its own for them. A forked child has none of these, but GNU's
OpenMP does not know, and would wait for them at the next loop, for ever. So a fork first has OpenMP end those of the
forking thread, which is the main thread of the child. Both processes begin new ones with their next loops.
"""

from __future__ import annotations

import ctypes
import os
import sys
import threading
from pathlib import Path
from typing import Final

_SOFT: Final = 1  # OpenMP's omp_pause_soft: the thread keeps its settings
_FLAGS, _FORKED = 6, 0x40  # of /proc/self/stat: where the flags are after the name, and Linux's PF_FORKNOEXEC


def _is_loaded() -> bool:
    return hasattr(ctypes.CDLL(None), "GOMP_parallel")


def _is_forked() -> bool:
    """Return whether this process may have begun no program since it was forked."""
    state = Path("/proc/self/stat")
    return not state.exists() or bool(int(state.read_text().rpartition(")")[2].split()[_FLAGS]) & _FORKED)


class _MainThread:
    """Whether its loops may wait for threads that a fork has left behind."""

    may_wait = sys.platform == "linux" and _is_loaded() and _is_forked()


class _ForkingThread(threading.local):
    """Whether its loops may wait in the child, whose main thread it is. Several threads may fork at once."""

    may_wait = True


_forking: Final = _ForkingThread()


def main_thread_may_wait() -> bool:
    """Return whether a parallel loop of OpenMP in the main thread may wait for ever."""
    return _MainThread.may_wait


def _end_threads() -> bool:
    """Have OpenMP end the threads of this thread's loops. Return whether it has none now."""
    if _MainThread.may_wait and threading.current_thread() is threading.main_thread():
        return False
    end = getattr(ctypes.CDLL(None), "omp_pause_resource_all", None)  # OpenMP 5
    return end(_SOFT) == 0 if end else not _is_loaded()


def _before_fork() -> None:
    _forking.may_wait = not _end_threads()


def _after_fork_in_parent() -> None:
    _forking.may_wait = True


def _after_fork_in_child() -> None:
    _MainThread.may_wait, _forking.may_wait = _forking.may_wait, True


if sys.platform == "linux":
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork_in_parent, after_in_child=_after_fork_in_child)
