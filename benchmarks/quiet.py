"""Wait for the threads of the library whose turn was before: many spin for a while after their work."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

_TASKS: Final = Path("/proc/self/task")
_LONGEST: Final = 0.2
_UNKNOWN: Final = 0.02  # if threads cannot be observed; GNU's OpenMP spins for about 10 ms
_LOOKS: Final = 2  # in a row that find no running thread: a thread between two spins looks asleep


def wait_for_threads() -> None:
    """Wait until no other thread of this process runs, for at most 0.2 s.

    This is a busy wait. A process that sleeps between its launches leaves its processors idle, and schedulers then
    put threads that wake up onto one processor for some milliseconds; a working program has no such gaps.
    """
    start, quiet = time.perf_counter(), 0
    known = _TASKS.exists()
    while quiet < _LOOKS:
        elapsed = time.perf_counter() - start
        if elapsed > (_LONGEST if known else _UNKNOWN):
            return
        if known:
            quiet = 0 if _others_run() else quiet + 1


def least_seconds(calls: Mapping[str, Callable[[], Any]], runs: int) -> dict[str, float]:
    """Return the least seconds of each call in some runs, in which all take turns, each after a call of its own."""
    least = dict.fromkeys(calls, math.inf)
    for _ in range(runs):
        for name, call in calls.items():
            wait_for_threads()
            call()
            start = time.perf_counter()
            call()
            least[name] = min(least[name], time.perf_counter() - start)
    return least


def _others_run() -> bool:
    own = str(threading.get_native_id())
    for task in _TASKS.iterdir():
        if task.name == own:
            continue
        try:
            state = (task / "stat").read_text().rpartition(")")[2].split()[0]
        except OSError:  # the thread has just ended
            continue
        if state == "R":
            return True
    return False
