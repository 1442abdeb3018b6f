"""The words of the memory that the threads of the pool share (`thread_pool.py`)."""

from __future__ import annotations

from typing import Final

from ep.common.environment import MAX_THREADS  # the launching thread and its workers

MASK_WORDS: Final = 16
"""The words of a mask of processors, for 1,024 of them. On a machine with more, Linux returns no mask of this size."""

NUM_SLOTS: Final = 8  # jobs in progress at once; a launch that finds no slot works alone
LINE: Final = 8  # words of a cache line: words that different threads write are in different lines

# words of the pool
STOP: Final = 0
PARALLEL, TEAM_THREAD, MOST_THREADS = (LINE + i for i in range(3))  # functions of OpenMP, 0 until it is loaded
KEY: Final = LINE + 3  # the key of POSIX threads that a thread has a value of if it has used OpenMP, plus 1; 0: unknown
PART, MAY_WAIT = (LINE + i for i in range(4, 6))  # the code of a thread of OpenMP's; the thread that must not use it
NUM_KEYS: Final = LINE + 6  # how many keys of POSIX threads there are
NAMES: Final = 2 * LINE  # the addresses of their names and of that of the function that sets the number of threads
OPEN: Final = 3 * LINE  # per slot: the number of lanes while there are chunks left, else 0
SLOTS: Final = OPEN + NUM_SLOTS
SLOT_WORDS: Final = (3 + MAX_THREADS) * LINE
WORKERS: Final = SLOTS + NUM_SLOTS * SLOT_WORDS
WORKER_WORDS: Final = LINE + 2 * MASK_WORDS
NUM_WORDS: Final = WORKERS + MAX_THREADS * WORKER_WORDS

# words of a slot
OWNED, POOL, WORDS, FIRST_DONE = range(4)  # on OpenMP's threads: the pool, the owner's words, what the owner has done
TASK, Context, COUNT, NUM_LANES, CHUNKS_PER_LANE = (LINE + i for i in range(5))  # the job
DONE, WAITING, WAIT_LOCK = (2 * LINE + i for i in range(3))  # chunks done; whether the owner sleeps, and its lock
LANES: Final = 3 * LINE  # per lane, a line: chunks that are not taken yet

# words of a worker
ASLEEP, SLEEP_LOCK, THREAD, AWAY = range(4)  # THREAD: its id in the system; AWAY: its last `keep_away`
MASK: Final = LINE  # the mask that it restores if it was kept away, and the one that it then compares with

OWNER_LOCKS: Final = tuple(SLOTS + slot * SLOT_WORDS + WAIT_LOCK for slot in range(NUM_SLOTS))
"""The words that hold the address of an owner's lock."""


def worker_lock(number: int) -> int:
    """Return the word that holds the address of worker `number`'s lock."""
    return WORKERS + number * WORKER_WORDS + SLEEP_LOCK


def worker_thread(number: int) -> int:
    """Return the word that holds the system's id of worker `number`'s thread; 0 if unknown."""
    return WORKERS + number * WORKER_WORDS + THREAD
