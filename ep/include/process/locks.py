"""Every lock of the package, and what happens to them where the process forks.

A child has the forking thread alone. A lock that another thread held would stay taken in the child for ever, and what
it guards might be half done. So a fork takes all locks first, in the order of their ranks, and gives them back on both
sides.
"""

from __future__ import annotations

import logging  # noqa: F401, whose lock is an inner one: what is to be done before a fork is done in reverse order
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
    """The order of locks, the outermost first: a thread that holds a lock may take only those of later ranks."""

    SECTION = auto()  # imports, compilation, loading: `exclusively`
    GRAPHS = auto()  # the memory of graphs
    MEMORY = auto()  # an allocator
    STREAMS = auto()  # the streams of a device
    REPORTS = auto()  # the errors that they report
    LAUNCH = auto()  # launches, where there can be one at a time
    DRIVER = auto()  # what a driver keeps
    WORKERS = auto()  # the threads of a pool
    THREADS = auto()  # the start of one
    TABLE = auto()  # a table; nothing is called meanwhile


_locks: Final[dict[weakref.ref[Any], Rank]] = {}


def new_lock(rank: Rank) -> threading.RLock:
    """Return a new lock, which its thread may take again, and which no child of a fork finds taken.

    The locks of objects that come and go are known as long as they last.
    """
    lock = threading.RLock()
    _locks[weakref.ref(lock, _forget)] = rank
    return lock


def _forget(reference: weakref.ref[Any]) -> None:
    _locks.pop(reference, None)


section_lock: Final = new_lock(Rank.SECTION)
"""The one lock of its rank; `exclusively` takes it. Who forks has it from the first step to the last."""

_OF_COMPILERS: Final = (
    ("numba.core.compiler_lock", "global_compiler_lock"),
    ("numba.cuda.core.compiler_lock", "global_compiler_lock"),
    ("llvmlite.binding.ffi", "lib._lock"),
)
"""Locks that compilers take, by module and name, the outermost first: after the section's, before all others."""


def _locks_of_compilers() -> list[AbstractContextManager[Any]]:
    """Return those of compilers that have been imported."""
    found = []
    for module, name in _OF_COMPILERS:
        try:
            found.append(attrgetter(name)(sys.modules[module]))
        except (KeyError, AttributeError):  # not imported so far, or not to the end
            continue
    return found


class _Fork:
    """The locks that the thread that is forking has taken."""

    signals: HeldSignals | None = None
    locks: tuple[AbstractContextManager[Any], ...] = ()


_fork: Final = _Fork()


def _before_fork() -> None:
    if sys.is_finalizing():  # a thread that is gone may hold a lock, and nobody needs what it guards any more
        return
    signals = HeldSignals()
    signals.hold()  # an interrupt would leave locks that nobody gives back
    section_lock.acquire()
    taken: list[AbstractContextManager[Any]] = [section_lock]
    _fork.signals = signals
    for lock in (*_locks_of_compilers(), *_own_locks()):
        lock.__enter__()
        taken.append(lock)
    _fork.locks = tuple(taken)


def _own_locks() -> list[threading.RLock]:
    """Return all that `new_lock` has made and that are there, but the section's, in the order of their ranks."""
    # sorted() makes a list of what is there, then asks for ranks: a lock may come or go at any moment
    found = [reference() for reference in sorted(_locks, key=lambda reference: _locks.get(reference, Rank.TABLE))]
    return [lock for lock in found if lock is not None and lock is not section_lock]


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
        signals.forget()  # they were the parent's
        signals.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork_in_parent, after_in_child=_after_fork_in_child)
