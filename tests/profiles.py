"""Counts of Python calls: no time is measured, so load on the machine does not matter."""

import sys

from ep.garbage import garbage_waits


def calls_of(work):
    """Return how many Python functions `work` calls, while garbage collection, whose times vary, waits."""
    calls = 0

    def count(frame, event, argument):
        nonlocal calls
        calls += event == "call"

    before = sys.getprofile()
    with garbage_waits():
        sys.setprofile(count)
        try:
            work()
        finally:
            sys.setprofile(before)
    return calls
