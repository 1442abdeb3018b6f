"""A worker wakes up on another processor than the thread that wakes it, and keeps its affinity mask."""

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
    """Return the result of a function of words, called from compiled code."""
    from ctypes import CFUNCTYPE, c_int64

    address = compile_function(f"test.{function.__name__}", function, len(words))
    return CFUNCTYPE(c_int64, *(c_int64,) * len(words))(address)(*words)


def keep(thread, mask):
    return keep_away(thread, mask)


def back(mask, away):
    put_back(mask, mask + 8 * MASK_WORDS, away)
    return 0


class Sleeper:
    """A thread that sleeps until `wake`, then restores its affinity mask as a worker does."""

    def __init__(self):
        self.mask = np.zeros(2 * MASK_WORDS, np.int64)
        self.away, self._go = 0, threading.Event()
        self._thread = threading.Thread(target=self._sleep)

    def _sleep(self):
        self._go.wait()
        if self.away:
            called(back, self.mask.ctypes.data, self.away)
        self.found = os.sched_getaffinity(0)

    def __enter__(self):
        self._everywhere = os.sched_getaffinity(0)
        self._thread.start()
        self.native_id = self._thread.native_id
        return self

    def wake(self):
        """Wake the thread, wait for its end, and return the affinity mask it had then."""
        self._go.set()
        self._thread.join()
        return self.found

    def keep_away(self):
        self.away = called(keep, self.native_id, self.mask.ctypes.data)
        return self.away

    def __exit__(self, *error):
        os.sched_setaffinity(0, self._everywhere)
        self.wake()


def test_a_thread_is_kept_away_from_the_processor_of_the_caller():
    everywhere = os.sched_getaffinity(0)
    here = max(everywhere)
    with Sleeper() as thread:
        os.sched_setaffinity(0, {here})
        os.sched_setaffinity(thread.native_id, everywhere)
        assert thread.keep_away() == (here + 1 if len(everywhere) > 1 else 0)
        assert os.sched_getaffinity(thread.native_id) == (everywhere - {here} or everywhere)
        assert thread.wake() == everywhere


def test_a_mask_that_is_changed_meanwhile_is_kept():
    everywhere = os.sched_getaffinity(0)
    if len(everywhere) < 2:
        pytest.skip("there is one processor: nobody can be kept away from it")
    here = max(everywhere)
    with Sleeper() as thread:
        os.sched_setaffinity(0, {here})
        assert thread.keep_away() == here + 1
        os.sched_setaffinity(thread.native_id, {here})
        assert thread.wake() == {here}


def test_a_thread_that_may_not_run_here_is_left_alone():
    everywhere = os.sched_getaffinity(0)
    if len(everywhere) < 2:
        pytest.skip("there is one processor, where every thread runs")
    with Sleeper() as thread:
        os.sched_setaffinity(0, {max(everywhere)})
        os.sched_setaffinity(thread.native_id, {min(everywhere)})
        assert thread.keep_away() == 0
        assert thread.wake() == {min(everywhere)}


def test_a_thread_that_may_run_here_alone_stays():
    everywhere = os.sched_getaffinity(0)
    with Sleeper() as thread:
        os.sched_setaffinity(0, {min(everywhere)})
        os.sched_setaffinity(thread.native_id, {min(everywhere)})
        assert thread.keep_away() == 0
        assert os.sched_getaffinity(thread.native_id) == {min(everywhere)}
        assert called(keep, 0, thread.mask.ctypes.data) == 0  # the thread id is unknown


def test_workers_have_their_masks_when_they_are_awake():
    assert run(LAUNCHES, EP_CPU_NUM_THREADS="3") == "kept\n"
