"""The start and the end of the pool's threads."""

from __future__ import annotations

import atexit
import ctypes
import os
import sys
import threading
from collections.abc import Callable, Sequence
from typing import Final

import numpy as np

from ep.common.environment import MAX_THREADS
from ep.common.native_lock import new_taken_lock
from ep.cpu.shared.settings import Settings
from ep.cpu.threads.pool_words import NUM_SLOTS, Pool, Slot, Worker, slot_word, worker_word
from ep.include.process import Rank, exclusively, main_thread_may_wait, new_lock, start_thread

_LINE_BYTES: Final = 64

_FUNCTIONS: Final = "GOMP_parallel", "omp_get_thread_num", "omp_get_max_threads", "omp_set_num_threads"
_NAMES: Final = [ctypes.create_string_buffer(name.encode()) for name in _FUNCTIONS]

_pools: Final[list[Workers]] = []


class Workers:
    """The pool's memory and its threads, which are created by Python and run without the GIL.

    They end with the interpreter. A forked child has none of its parent's threads: it starts the same number of its
    own.
    """

    def __init__(self, code: Sequence[int]) -> None:
        """code: the addresses of the tasks of threads, `thread_pool.work`."""
        work, self._part = code
        words = np.zeros(Pool.num_words + _LINE_BYTES // 8, np.int64)
        start = -words.ctypes.data % _LINE_BYTES // 8
        self._pool = words[start : start + Pool.num_words]
        self.address: int = self._pool.ctypes.data
        self._threads: list[threading.Thread] = []
        self._lock = new_lock(Rank.WORKERS)
        # CFUNCTYPE releases the GIL
        self._work: Callable[[int, int], None] = ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_int64)(work)
        self._reset()
        atexit.register(self.stop)
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._start_again)

    def start(self, num_threads: int) -> None:
        """Start missing workers for launches on `num_threads` threads, including the launching one."""
        with self._lock:
            while len(self._threads) < min(num_threads, MAX_THREADS) - 1:
                number = len(self._threads) + 1
                self._pool[worker_word(number, Worker.sleep_lock)] = new_taken_lock()
                try:
                    thread = start_thread(self._work, (self.address, number), name=f"ep-{number}")
                except RuntimeError:  # no more threads, or the interpreter is ending: fewer threads share
                    return
                self._threads.append(thread)
                self._pool[worker_word(number, Worker.thread)] = thread.native_id or 0

    def stop(self) -> None:
        """End the threads. A launch in progress continues alone, and so do later ones."""
        with self._lock:
            if self._threads:
                self._work(self.address, 0)
            for thread in self._threads:
                thread.join()
            self._threads.clear()

    def _reset(self) -> None:
        self._pool[:] = 0
        for number in range(NUM_SLOTS):
            self._pool[slot_word(number, Slot.wait_lock)] = new_taken_lock()
        if sys.platform == "linux":
            self._pool[Pool.names :][: len(_NAMES)] = [ctypes.addressof(name) for name in _NAMES]
            self._pool[Pool.part], self._pool[Pool.num_keys] = self._part, os.sysconf("SC_THREAD_KEYS_MAX")
            if main_thread_may_wait():
                self._pool[Pool.may_wait] = threading.main_thread().ident or 0

    def _start_again(self) -> None:
        """Reset the pool in a forked child, and drop the parent's threads and their jobs."""
        num_threads = len(self._threads) + 1
        self._threads = []
        self._reset()
        self.start(num_threads)


def start_threads(device: Settings, work: Callable[[], Sequence[int]]) -> None:
    """Let launches of a device share their work in the pool of this process.

    work: returns the code of threads; it is called if there is no pool yet.
    """
    if not _pools:
        code = work()  # compiled before the section, for which other threads would wait meanwhile

        def add() -> None:
            if not _pools:
                _pools.append(Workers(code))

        exclusively(add)
    device.set_pool(_pools[0].address, _pools[0].start)
