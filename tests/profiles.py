"""Counts of Python calls: no time is measured, so load on the machine does not matter."""

import sys

from ep.garbage import garbage_waits


def calls_of(work, folder=""):
    """Return how many Python functions `work` calls, while garbage collection, whose times vary, waits.

    folder: only functions of files in this folder are counted.
    """
    calls = 0

    def count(frame, event, argument):
        nonlocal calls
        calls += event == "call" and frame.f_code.co_filename.startswith(folder)

    before = sys.getprofile()
    with garbage_waits():
        sys.setprofile(count)
        try:
            work()
        finally:
            sys.setprofile(before)
    return calls
