"""The critical section of the process: work that must not be disturbed."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar

from ep.garbage import garbage_waits
from ep.include.process.locks import section_lock
from ep.include.process.signals import HeldSignals
from ep.include.process.stacks import has_enough_stack, with_enough_stack

T = TypeVar("T")

_inside: int | None = None  # the thread inside


def exclusively(work: Callable[[], T]) -> T:
    """Return the result of `work`: an import of a provider or of a compiler, a compilation, the load of a kernel.

    One thread at a time is inside; it may enter again. Meanwhile no signal handler runs, no garbage is collected, the
    process does not fork, and there is enough stack. Handlers of signals that arrived are called at the end, and may
    raise.
    """
    if _inside == threading.get_ident():
        return work()
    signals = HeldSignals()
    try:
        signals.hold()
        return _locked(work) if has_enough_stack() else with_enough_stack(lambda: _locked(work))
    finally:
        signals.release()


def _locked(work: Callable[[], T]) -> T:
    global _inside
    with section_lock, garbage_waits():
        _inside = threading.get_ident()
        try:
            return work()
        finally:
            _inside = None
