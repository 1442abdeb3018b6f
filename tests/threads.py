"""Threads in tests."""

import threading
from contextlib import suppress


class Crossing:
    """A place at which threads wait for each other, so that all pass it at once; for half a second, if some never come.

    arrived: the number of those that came.
    """

    def __init__(self, count):
        self.arrived, self._barrier = 0, threading.Barrier(count, timeout=0.5)

    def wait(self):
        self.arrived += 1
        with suppress(threading.BrokenBarrierError):
            self._barrier.wait()


def run_together(function, arguments):
    """Call the function with each of the tuples of arguments, in a thread for each, and wait for all of them."""
    threads = [threading.Thread(target=function, args=each) for each in arguments]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
