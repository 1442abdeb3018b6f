"""All locks of the package, and their handling when the process forks.

Only the forking thread exists in the child. A lock that another thread held would stay held in the child for ever, and
the data that it guards might be inconsistent. So a fork first acquires all locks, in the order of their ranks, and
releases them in both processes.
"""

from __future__ import annotations

import logging  # noqa: F401, its lock is an inner one: the functions to call before a fork are called in reverse order
import os
import sys
import threading
import weakref
from contextlib import AbstractContextManager
from enum import IntEnum, auto
from operator import attrgetter
from typing import Any, Final

from ep.include.process.signals import HeldSignals


class Rank(IntEnum):
    """The ranks of locks by what they guard, outermost first.

    A thread that holds a lock may acquire only those of later ranks.
    """

    SECTION = auto()  # imports, compilation, loading: `exclusively`
    GRAPHS = auto()  # the memory of graphs
    MEMORY = auto()  # an allocator
    STREAMS = auto()  # the streams of a device
    REPORTS = auto()  # the errors that streams report
    LAUNCH = auto()  # launches, if only one is allowed at a time
    DRIVER = auto()  # the state of a driver
    WORKERS = auto()  # the threads of a pool
    THREADS = auto()  # the start of a thread
    TABLE = auto()  # a table; nothing is called while it is held


_locks: Final[weakref.WeakKeyDictionary[threading.RLock, Rank]] = weakref.WeakKeyDictionary()


def new_lock(rank: Rank) -> threading.RLock:
    """Return a new reentrant lock that no child of a fork finds held.

    Locks of temporary objects are tracked as long as they exist.
    """
    lock = threading.RLock()
    _locks[lock] = rank
    return lock


section_lock: Final = new_lock(Rank.SECTION)
"""The only lock of its rank; `exclusively` acquires it. A forking thread holds it from the first step to the last."""

_OF_COMPILERS: Final = (
    ("numba.core.compiler_lock", "global_compiler_lock"),
    ("numba.cuda.core.compiler_lock", "global_compiler_lock"),
    ("llvmlite.binding.ffi", "lib._lock"),
)
"""The locks of compilers, by module and name, outermost first: between the section's lock and all others."""


def _locks_of_compilers() -> list[AbstractContextManager[Any]]:
    """Return the locks of the compilers that have been imported."""
    found = []
    for module, name in _OF_COMPILERS:
        try:
            found.append(attrgetter(name)(sys.modules[module]))
        except (KeyError, AttributeError):  # not imported yet, or not completely
            continue
    return found


class _Fork:
    """The locks that the forking thread has acquired."""

    signals: HeldSignals | None = None
    locks: tuple[AbstractContextManager[Any], ...] = ()


_fork: Final = _Fork()


def _before_fork() -> None:
    if sys.is_finalizing():  # an ended thread may hold a lock, and its data is no longer needed
        return
    signals = HeldSignals()
    signals.hold()  # an interrupt would leave locks that are never released
    section_lock.acquire()
    taken: list[AbstractContextManager[Any]] = [section_lock]
    _fork.signals = signals
    for lock in (*_locks_of_compilers(), *_own_locks()):
        lock.__enter__()
        taken.append(lock)
    _fork.locks = tuple(taken)


def _own_locks() -> list[threading.RLock]:
    """Return all existing locks of `new_lock` except the section's, in the order of their ranks."""
    found = [reference() for reference in _locks.keyrefs()]  # a list: a lock may appear or disappear at any moment
    return sorted((lock for lock in found if lock not in (None, section_lock)), key=_locks.__getitem__)


def _after_fork() -> HeldSignals | None:
    signals, taken = _fork.signals, _fork.locks
    _fork.signals, _fork.locks = None, ()
    for lock in reversed(taken):
        lock.__exit__(None, None, None)
    return signals


def _after_fork_in_parent() -> None:
    if signals := _after_fork():
        signals.release()


def _after_fork_in_child() -> None:
    if signals := _after_fork():
        signals.forget()  # they were sent to the parent
        signals.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork_in_parent, after_in_child=_after_fork_in_child)
