"""Threads in tests."""

import threading


def run_together(function, arguments):
    """Call the function with each of the tuples of arguments, in a thread for each, and wait for all of them."""
    threads = [threading.Thread(target=function, args=each) for each in arguments]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
