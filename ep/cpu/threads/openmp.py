"""Launches on the threads of OpenMP, which PyTorch computes with.

After a parallel loop, these threads spin on their processors for some milliseconds, in case that another one follows. A
launch that begins meanwhile would share one processor with them. So it becomes a parallel loop of OpenMP: the threads
that spin do the work, and go on spinning. A launch at another time is shared in the pool, where it waits for no thread
that has not begun its part: OpenMP waits for all of them.

Each thread that begins parallel loops has threads of its own for them. They do its launches, and no other thread's. A
thread that has not used OpenMP shares its launches in the pool: OpenMP would make threads for it. For each thread that
has used it, OpenMP keeps something under a key of POSIX threads: the key that has no value before a thread first sets
the number of its threads, and has one afterwards.

Whether the threads spin is seen as follows, at the least cost that each case allows:

- They do for some time after a launch that they took part in.
- They do not if the pool's workers are awake, and have taken part in the last launch of the same thread.
- Otherwise the processor time of one of them is read twice.
"""

from __future__ import annotations

from typing import Any, Final

from ep.common.native.emitted import emitted
from ep.common.native.words import load_int, load_word, store_word
from ep.cpu.compile.jit import jit
from ep.cpu.compile.vectors import BYTE, INT, WORD, call, pointer_to
from ep.cpu.threads.atomic import atomic_load, atomic_store, pause
from ep.cpu.threads.parallel import call_function, call_task
from ep.cpu.threads.pool_words import (
    ASLEEP,
    KEY,
    MAY_WAIT,
    MOST_THREADS,
    NAMES,
    NUM_KEYS,
    PARALLEL,
    PART,
    TEAM_THREAD,
    WORKER_WORDS,
    WORKERS,
)
from ep.cpu.threads.scratch import give_back, kept, kept_words, take, thread_memory

LATE, USED_AT, CLOCK, _TIME = range(4)  # of the words that a thread keeps; _TIME: two words, where a clock is read

_SPIN: Final = 1_000_000  # nanoseconds for which the threads spin at least; GNU's do for 1 to 7 ms
_READINGS: Final = 3  # of a clock that may stand still for a moment
_MONOTONIC: Final = 1


@emitted("int64")
def _function(builder: Any, name: Any) -> Any:
    """Return the address of a function that all libraries can call; 0 if there is none."""
    if "linux" not in builder.module.triple:
        return WORD(0)
    anywhere = BYTE.as_pointer()(None)
    return builder.ptrtoint(call(builder, "dlsym", BYTE.as_pointer(), anywhere, pointer_to(builder, name, BYTE)), WORD)


@emitted("int64")
def _this_thread(builder: Any) -> Any:
    return call(builder, "pthread_self", WORD) if "linux" in builder.module.triple else WORD(0)


@emitted("int64")
def _clock_of(builder: Any, thread: Any, address: Any) -> Any:
    """Write the number of a thread's clock of processor time to `address`, as a C int. Return 0, or an error."""
    if "linux" not in builder.module.triple:
        return WORD(-1)
    return builder.sext(call(builder, "pthread_getcpuclockid", INT, thread, pointer_to(builder, address, INT)), WORD)


@emitted("int64")
def _read_clock(builder: Any, clock: Any, address: Any) -> Any:
    """Write the seconds and nanoseconds of a clock to `address`. Return 0, or an error."""
    if "linux" not in builder.module.triple:
        return WORD(-1)
    clock, place = builder.trunc(clock, INT), pointer_to(builder, address, WORD)
    return builder.sext(call(builder, "clock_gettime", INT, clock, place), WORD)


@jit
def _nanoseconds(words, clock):
    """Return the time of a clock; -1 if there is no such clock."""
    if _read_clock(clock, words + 8 * _TIME) != 0:
        return -1
    return load_word(words, _TIME) * 1_000_000_000 + load_word(words, _TIME + 1)


@jit
def _key_of_users(num_keys, set_num_threads):
    """Return the key under which OpenMP keeps something for each thread that has used it, as this one has not.

    Return -1 if there is none.
    """
    block = thread_memory()
    before, key = take(block, 8 * num_keys), 0
    for i in range(num_keys):
        store_word(before, i, kept(i))
    call_task(set_num_threads, 1)
    while key < num_keys and (load_word(before, key) != 0 or kept(key) == 0):
        key += 1
    give_back(block, before)
    return key if key < num_keys else -1


@jit
def find_openmp(pool):
    """Look whether OpenMP has been loaded, where it is to be used. The calling thread begins no loops."""
    names = pool + 8 * NAMES
    if load_word(names, 0) == 0 or load_word(pool, PARALLEL) != 0:
        return
    parallel, thread = _function(load_word(names, 0)), _function(load_word(names, 1))
    most, set_number = _function(load_word(names, 2)), _function(load_word(names, 3))
    if parallel != 0 and thread != 0 and most != 0 and set_number != 0:
        store_word(pool, PARALLEL, parallel)
        store_word(pool, TEAM_THREAD, thread)
        store_word(pool, MOST_THREADS, most)
        atomic_store(pool + 8 * KEY, _key_of_users(load_word(pool, NUM_KEYS), set_number) + 1)


@jit
def words_of_user(pool):
    """Return the address of the words of this thread; 0 if it has not used OpenMP, or may not."""
    key = atomic_load(pool + 8 * KEY)
    if key == 0 or kept(key - 1) == 0 or load_word(pool, MAY_WAIT) == _this_thread():
        return 0
    return kept_words()


@jit
def _spins(words, clock):
    first = _nanoseconds(words, clock)
    if first < 0:  # the thread has ended
        store_word(words, CLOCK, 0)
        return False
    for _ in range(_READINGS - 1):
        if _nanoseconds(words, clock) != first:
            return True
        pause()
    return False


@jit
def team_is_ready(pool, words, num_lanes):
    """Return whether a launch on `num_lanes` threads becomes a parallel loop of OpenMP. words: of this thread."""
    if words == 0 or call_function(load_word(pool, MOST_THREADS)) < num_lanes:
        return False
    used_at = load_word(words, USED_AT)
    if used_at != 0 and _nanoseconds(words, _MONOTONIC) - used_at < _SPIN:
        return True
    late = load_word(words, LATE) != 0
    if not late and atomic_load(pool + 8 * (WORKERS + WORKER_WORDS + ASLEEP)) == 0:
        return False
    clock = load_word(words, CLOCK)
    return late if clock == 0 else _spins(words, clock)


@jit
def run_team(pool, slot):
    """Do the job of a slot as a parallel loop, on as many threads as PyTorch's next one will have."""
    call_task(load_word(pool, PARALLEL), load_word(pool, PART), slot, 0, 0)


@jit
def note_pool(words, is_late):
    """Note whether the pool's workers, which were awake, were late at a launch of this thread."""
    if words != 0:
        store_word(words, LATE, is_late)


@jit
def note_team(words, is_late):
    """Note that a launch has ended, and whether the other threads of OpenMP were late."""
    store_word(words, USED_AT, 0 if is_late else _nanoseconds(words, _MONOTONIC))
    if is_late:
        store_word(words, LATE, 0)  # the pool has its turn


@jit
def team_thread(pool, words):
    """Return the number of this thread in its parallel loop. That of thread 1 notes its clock.

    words: of the thread that began the loop.
    """
    number = call_function(load_word(pool, TEAM_THREAD))
    if number == 1 and load_word(words, CLOCK) == 0 and _clock_of(_this_thread(), words + 8 * _TIME) == 0:
        store_word(words, CLOCK, load_int(words + 8 * _TIME))
    return number
