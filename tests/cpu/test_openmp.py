"""Launches on threads of OpenMP: a library of the same functions, whose threads are Python's, does what it is told."""

import os
import threading
import time
from contextlib import suppress
from ctypes import CFUNCTYPE, c_int, c_int64, c_void_p, cast

import numpy as np
import pytest

from ep.cpu.threads import pool_words, thread_pool
from ep.cpu.threads.workers import may_use_openmp
from tests.subprocesses import run

COUNT = 1001


class OpenMP:
    """A library with teams of `num_threads`. is_late: whether all but the calling thread come when the work is done."""

    def __init__(self, num_threads, is_late=False):
        self.num_threads, self.loops, self._number, self._is_late = num_threads, 0, threading.local(), is_late
        self._functions = (
            CFUNCTYPE(None, c_void_p, c_void_p, c_int, c_int)(self._parallel),
            CFUNCTYPE(c_int)(lambda: self._number.value),
            CFUNCTYPE(c_int)(lambda: self.num_threads),
        )
        self.addresses = [cast(function, c_void_p).value for function in self._functions]

    def _parallel(self, function, data, num_threads, flags):
        assert (num_threads, flags) == (0, 0)
        self.loops += 1

        def part(number):
            self._number.value = number
            CFUNCTYPE(None, c_void_p)(function)(data)

        others = [threading.Thread(target=part, args=(number,)) for number in range(1, self.num_threads)]
        if self._is_late:
            part(0)
        for thread in others:
            thread.start()
        if not self._is_late:
            part(0)
        for thread in others:
            thread.join()


class Pool:
    """A pool without workers, whose main thread has just used a library of OpenMP, and does so again for minutes."""

    def __init__(self, openmp):
        self.words, (_, part) = np.zeros(pool_words.NUM_WORDS, np.int64), thread_pool.work()
        self.words[pool_words.PARALLEL :][:3] = openmp.addresses
        self.words[pool_words.PART], self.words[pool_words.MAIN_THREAD] = part, threading.get_ident()
        self.words[pool_words.USED_AT] = time.monotonic_ns() + 10**12
        self._share = CFUNCTYPE(None, *(c_int64,) * 6)(thread_pool.share())

    def share(self, num_lanes, chunks_per_lane=4):
        """Share a job. Return the numbers that were done, in order, and the threads that did them."""
        done, threads = [], set()

        @CFUNCTYPE(None, c_int64, c_int64, c_int64)
        def task(context, begin, end):
            assert context == 7
            threads.add(threading.get_ident())
            done.extend(range(begin, end))
            time.sleep(0.001)

        self._share(self.words.ctypes.data, cast(task, c_void_p).value, 7, COUNT, num_lanes, chunks_per_lane)
        return sorted(done), threads


def wait_until_asleep(clock):
    """Wait until the thread of a clock of processor time sleeps: it runs for a moment after Python's call has begun."""
    before = -1
    while before != (before := time.clock_gettime_ns(clock)):
        time.sleep(0.02)


def wait_until_ended(clock):
    """Wait until there is no thread of a clock: it runs for a moment after Python's `join` has returned."""
    with suppress(OSError):
        while True:
            time.clock_gettime_ns(clock)
            time.sleep(0.001)


linux = pytest.mark.skipif(not may_use_openmp(), reason="OpenMP's threads are used on Linux alone")


@linux
@pytest.mark.parametrize("num_lanes", [2, 3])
@pytest.mark.parametrize("num_threads", [3, 4, 5])
def test_every_part_is_done_once(num_lanes, num_threads):
    openmp = OpenMP(num_threads)
    done, threads = Pool(openmp).share(num_lanes)
    assert done == [*range(COUNT)]
    assert openmp.loops == 1
    assert len(threads) <= num_lanes


@linux
def test_a_thread_that_is_not_the_main_one_uses_the_pool():
    openmp = OpenMP(2)
    pool, found = Pool(openmp), []
    thread = threading.Thread(target=lambda: found.append(pool.share(2)))
    thread.start()
    thread.join()
    assert found[0] == ([*range(COUNT)], {thread.ident})
    assert openmp.loops == 0


@linux
def test_a_library_with_fewer_threads_is_not_used():
    openmp = OpenMP(2)
    assert Pool(openmp).share(3)[0] == [*range(COUNT)]
    assert openmp.loops == 0


@linux
def test_who_comes_late_gives_the_turn_away():
    """No thread but the main one takes part here, neither of the pool's nor of OpenMP's."""
    openmp = OpenMP(2, is_late=True)
    pool, turns = Pool(openmp), []
    for _ in range(5):
        loops = openmp.loops
        assert pool.share(2)[0] == [*range(COUNT)]
        turns.append(openmp.loops > loops)
        pool.words[pool_words.CLOCK] = 0
    assert turns == [True, False, True, False, True]


@linux
def test_threads_that_sleep_or_have_ended_are_left_alone():
    openmp, end = OpenMP(2), threading.Event()
    pool, sleeper = Pool(openmp), threading.Thread(target=end.wait)
    sleeper.start()
    pool.words[pool_words.USED_AT], pool.words[pool_words.LATE] = 0, 1
    pool.words[pool_words.CLOCK] = clock = time.pthread_getcpuclockid(sleeper.ident)
    wait_until_asleep(clock)
    try:
        assert pool.share(2)[0] == [*range(COUNT)]
        assert (openmp.loops, pool.words[pool_words.CLOCK]) == (0, clock)
    finally:
        end.set()
        sleeper.join()
        wait_until_ended(clock)
    assert pool.share(2)[0] == [*range(COUNT)]
    assert (openmp.loops, pool.words[pool_words.CLOCK]) == (0, 0)
    assert pool.share(2)[0] == [*range(COUNT)]
    assert openmp.loops == 1
    assert pool.words[pool_words.CLOCK] != 0


@linux
@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork on this platform")
def test_forked_processes_do_not_use_openmp():
    run("""
import os
from ep.cpu.threads.workers import may_use_openmp
assert may_use_openmp()
child = os.fork()
if child == 0:
    os._exit(int(may_use_openmp()))
assert os.waitpid(child, 0)[1] == 0
""")
