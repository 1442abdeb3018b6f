"""The memory that the threads of the pool share (`thread_pool.py`)."""

from __future__ import annotations

from typing import Any, Final

from ep.common.environment import MAX_THREADS  # the launching thread and its workers
from ep.common.native.fields import pointer, records, word, words
from ep.common.native.record import Record

MASK_WORDS: Final = 16
"""The words of a mask of processors, for 1,024 of them. On a machine with more, Linux returns no mask of this size."""

NUM_SLOTS: Final = 8  # jobs in progress at once; a launch that finds no slot works alone
LINE: Final = 8  # words of a cache line: words that different threads write are in different lines


class Atomic(Record):
    """A word that threads read and write by atomic operations; compiled code has its address."""

    value = word()


def _atomic() -> Any:
    return records(Atomic, 1)


class User(Record):
    """What a thread that uses OpenMP keeps from launch to launch; only the thread and its team write it."""

    late = word()  # whether the pool's workers were late at its last launch
    used_at = word()  # when its last launch on OpenMP's threads ended
    clock = word()  # the clock of processor time of one of these
    time = words(2)  # where a clock is read


class Lane(Record):
    """A lane of a job, in a cache line of its own."""

    left = _atomic()  # chunks that are not taken yet
    rest_of_line = words(LINE - 1)


class Slot(Record):
    """A slot, in lines by who writes them: the job by its owner, the other words by all that take part."""

    owned = _atomic()
    pool = word()  # on OpenMP's threads: the pool, the owner's words, what the owner has done
    user = pointer(User)
    first_done = word()
    rest_of_line = words(LINE - 4)
    task = word()
    context = word()
    count = word()
    num_lanes = word()
    chunks_per_lane = word()
    rest_of_job = words(LINE - 5)
    done = _atomic()  # chunks
    waiting = _atomic()  # whether the owner sleeps
    wait_lock = word()  # its lock
    rest_of_done = words(LINE - 3)
    lanes = records(Lane, MAX_THREADS)


class Worker(Record):
    """A worker, which sleeps until another thread wakes it."""

    asleep = _atomic()
    sleep_lock = word()
    thread = word()  # its id in the system; 0 if unknown
    away = word()  # its last `keep_away`
    rest_of_line = words(LINE - 4)
    mask = words(MASK_WORDS)  # the mask that it restores if it was kept away
    now = words(MASK_WORDS)  # the one that it then compares with


class Pool(Record):
    """All that the threads share. Python writes what they find here; `find_openmp` the functions of OpenMP."""

    stop = _atomic()
    rest_of_line = words(LINE - 1)
    parallel = word()  # functions of OpenMP, 0 until it is loaded
    team_thread = word()
    most_threads = word()
    key = _atomic()  # the key of POSIX threads that a thread has a value of if it has used OpenMP, plus 1; 0: unknown
    part = word()  # the code of a thread of OpenMP's
    may_wait = word()  # the thread that must not use it
    num_keys = word()  # how many keys of POSIX threads there are
    rest_of_openmp = words(LINE - 7)
    names = words(LINE)  # the addresses of their names and of that of the function that sets the number of threads
    open = records(Atomic, NUM_SLOTS)  # per slot: the number of lanes while there are chunks left, else 0
    slots = records(Slot, NUM_SLOTS)
    workers = records(Worker, MAX_THREADS)


def slot_word(number: int, field: int) -> int:
    """Return the number of a word of a slot in the pool."""
    return int(Pool.slots + number * Slot.num_words + field)


def worker_word(number: int, field: int) -> int:
    """Return the number of a word of a worker in the pool."""
    return int(Pool.workers + number * Worker.num_words + field)
