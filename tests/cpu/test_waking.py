"""A worker wakes up elsewhere than on the processor of the thread that wakes it, and keeps its mask."""

import os
import threading

import numpy as np
import pytest

from ep.cpu.compile.compiler import compile_function
from ep.cpu.threads.processors import MASK_WORDS, keep_away, put_back
from tests.subprocesses import run

pytestmark = pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="threads have masks on Linux alone")

LAUNCHES = """
import os, threading, time
import numpy as np
import ep.ops
everywhere = os.sched_getaffinity(0)
x = np.ones(2**22, np.float32)

def mask_after_waking(worker):
    ep.ops.relu(x)
    time.sleep(0.1)  # it sleeps
    ep.ops.relu(x)
    end = time.monotonic() + 30
    while (found := os.sched_getaffinity(worker)) != wanted and time.monotonic() < end:
        time.sleep(0.01)
    return found

ep.ops.relu(x)
workers = [thread.native_id for thread in threading.enumerate() if thread.name.startswith("ep-")]
assert workers
for worker in workers:
    for wanted in (everywhere, {min(everywhere)}, {max(everywhere)}):
        os.sched_setaffinity(worker, wanted)
        for _ in range(3):
            assert mask_after_waking(worker) == wanted, worker
print("kept")
"""


def called(function, *words):
    """Return what a function of words returns, compiled."""
    from ctypes import CFUNCTYPE, c_int64

    address = compile_function(f"test.{function.__name__}", function, len(words))
    return CFUNCTYPE(c_int64, *(c_int64,) * len(words))(address)(*words)


def keep(thread, mask):
    return 1 if keep_away(thread, mask) else 0


def back(mask):
    put_back(mask)
    return 0


def test_a_thread_is_kept_away_from_the_processor_of_the_caller():
    everywhere, mask = os.sched_getaffinity(0), np.zeros(MASK_WORDS, np.int64)
    sleeping, found = threading.Event(), []

    def sleeps():
        sleeping.wait()
        called(back, mask.ctypes.data)
        found.append(os.sched_getaffinity(0))

    thread = threading.Thread(target=sleeps)
    thread.start()
    try:
        here = max(everywhere)
        os.sched_setaffinity(0, {here})
        may_go = len(everywhere) > 1
        os.sched_setaffinity(thread.native_id, everywhere)
        assert called(keep, thread.native_id, mask.ctypes.data) == may_go
        assert os.sched_getaffinity(thread.native_id) == (everywhere - {here} if may_go else everywhere)
    finally:
        os.sched_setaffinity(0, everywhere)
        sleeping.set()
        thread.join()
    assert found == [everywhere]


def test_a_thread_that_may_run_here_alone_stays():
    everywhere, mask = os.sched_getaffinity(0), np.zeros(MASK_WORDS, np.int64)
    sleeping = threading.Event()
    thread = threading.Thread(target=sleeping.wait)
    thread.start()
    try:
        os.sched_setaffinity(0, {min(everywhere)})
        os.sched_setaffinity(thread.native_id, {min(everywhere)})
        assert called(keep, thread.native_id, mask.ctypes.data) == 0
        assert os.sched_getaffinity(thread.native_id) == {min(everywhere)}
        assert called(keep, 0, mask.ctypes.data) == 0  # a thread whose number is not known
    finally:
        os.sched_setaffinity(0, everywhere)
        sleeping.set()
        thread.join()


def test_workers_have_their_masks_when_they_are_awake():
    assert run(LAUNCHES, EP_CPU_NUM_THREADS="3") == "kept\n"
