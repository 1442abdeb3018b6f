"""Trials that fail, to test that the runner reports them: number 1 fails, 2 crashes, 3 hangs, the others pass."""

import ctypes
import time

FRESH, SECONDS, DEVICES = False, 4, None  # a busy machine may take seconds for the other trials


def trial(rng, tag):
    way = int(rng.integers(4))
    if way == 1:
        raise ValueError("a failure")
    if way == 2:
        ctypes.string_at(0)
    if way == 3:
        time.sleep(60)
