"""Launches on threads of OpenMP: a library of the same functions, whose threads are Python's, does what it is told."""

import sys
import threading
import time
from contextlib import suppress
from ctypes import CFUNCTYPE, byref, c_int, c_int64, c_uint, c_void_p, cast, pythonapi

import numpy as np
import pytest

from ep.cpu.threads import pool_words, thread_memory, thread_pool
from ep.cpu.threads.pool_words import User

COUNT = 1001
MINUTES = 10**12  # nanoseconds

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="OpenMP's threads are used on Linux alone")

get_specific = CFUNCTYPE(c_void_p, c_uint)(("pthread_getspecific", pythonapi))


class OpenMP:
    """A library with teams of `num_threads`. is_late: whether all but the calling thread come when the work is done."""

    def __init__(self, num_threads, is_late=False):
        self.num_threads, self.loops, self._number, self._is_late = num_threads, 0, threading.local(), is_late
        self.key = c_uint()
        assert pythonapi.pthread_key_create(byref(self.key), None) == 0
        self._functions = (
            CFUNCTYPE(None, c_void_p, c_void_p, c_int, c_int)(self._parallel),
            CFUNCTYPE(c_int)(lambda: self._number.value),
            CFUNCTYPE(c_int)(lambda: self.num_threads),
        )
        self.addresses = [cast(function, c_void_p).value for function in self._functions]

    def use(self):
        """Note that this thread uses the library."""
        assert pythonapi.pthread_setspecific(self.key, c_void_p(1)) == 0

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
    """A pool without workers, and a library of OpenMP."""

    def __init__(self, openmp):
        self.words, (_, part) = np.zeros(pool_words.Pool.num_words, np.int64), thread_pool.work()
        self.words[pool_words.Pool.parallel :][:3] = openmp.addresses
        self.words[pool_words.Pool.part], self.words[pool_words.Pool.key] = part, openmp.key.value + 1
        self._share, self._openmp = CFUNCTYPE(None, *(c_int64,) * 6)(thread_pool.share()), openmp

    def use(self):
        """Use the library in this thread, now and for minutes. Return the words that the thread keeps."""
        self._openmp.use()
        self.share(2)
        words = kept_words()
        words[:] = [0] * len(words)
        words[User.used_at] = time.monotonic_ns() + MINUTES
        return words

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


def kept_words():
    """Return the words that this thread keeps, which has launched and used OpenMP."""
    block = get_specific(thread_memory._words[thread_memory.ThreadMemory.key])
    return (c_int64 * thread_memory.NUM_KEPT).from_address(block + 8 * thread_memory.ThreadBlock.kept)


def in_a_thread(work):
    """Return the result of `work` in another thread, and the number of this thread."""
    found = []
    thread = threading.Thread(target=lambda: found.append(work()))
    thread.start()
    thread.join()
    return found[0], thread.ident


@pytest.mark.parametrize("num_lanes", [2, 3])
@pytest.mark.parametrize("num_threads", [3, 4, 5])
@pytest.mark.parametrize("where", [lambda work: work(), lambda work: in_a_thread(work)[0]], ids=["main", "other"])
def test_every_part_is_done_once(num_lanes, num_threads, where):
    openmp = OpenMP(num_threads)
    pool = Pool(openmp)

    def work():
        pool.use()
        loops = openmp.loops
        return *pool.share(num_lanes), openmp.loops - loops

    done, threads, loops = where(work)
    assert done == [*range(COUNT)]
    assert loops == 1
    assert len(threads) <= num_lanes


def test_a_thread_that_does_not_use_it_shares_in_the_pool():
    openmp = OpenMP(2)
    pool = Pool(openmp)
    pool.use()
    loops = openmp.loops
    for _ in range(3):  # the pool's workers are late
        (done, threads), number = in_a_thread(lambda: pool.share(2))
        assert (done, threads) == ([*range(COUNT)], {number})
    assert openmp.loops == loops


def test_a_thread_whose_loops_may_wait_shares_in_the_pool():
    openmp = OpenMP(2)
    pool = Pool(openmp)
    pool.words[pool_words.Pool.may_wait] = threading.get_ident()
    openmp.use()
    for _ in range(3):
        assert pool.share(2) == ([*range(COUNT)], {threading.get_ident()})
    assert openmp.loops == 0


def test_a_library_with_fewer_threads_is_not_used():
    openmp = OpenMP(2)
    pool = Pool(openmp)
    pool.use()
    loops = openmp.loops
    assert pool.share(3)[0] == [*range(COUNT)]
    assert openmp.loops == loops


def test_who_comes_late_gives_the_turn_away():
    """No thread but the launching one takes part here, neither of the pool's nor of OpenMP's."""
    openmp = OpenMP(2, is_late=True)
    pool, turns = Pool(openmp), []
    words = pool.use()
    for _ in range(5):
        loops = openmp.loops
        assert pool.share(2)[0] == [*range(COUNT)]
        turns.append(openmp.loops > loops)
        words[User.clock] = 0
    assert turns == [True, False, True, False, True]


def test_threads_that_sleep_or_have_ended_are_left_alone():
    openmp, end = OpenMP(2), threading.Event()
    pool, sleeper = Pool(openmp), threading.Thread(target=end.wait)
    words = pool.use()
    loops = openmp.loops
    sleeper.start()
    words[User.used_at], words[User.late] = 0, 1
    words[User.clock] = clock = time.pthread_getcpuclockid(sleeper.ident)
    wait_until_asleep(clock)
    try:
        assert pool.share(2)[0] == [*range(COUNT)]
        assert (openmp.loops, words[User.clock]) == (loops, clock)
    finally:
        end.set()
        sleeper.join()
        wait_until_ended(clock)
    assert pool.share(2)[0] == [*range(COUNT)]
    assert (openmp.loops, words[User.clock]) == (loops, 0)
    assert pool.share(2)[0] == [*range(COUNT)]
    assert openmp.loops == loops + 1
    assert words[User.clock] != 0
