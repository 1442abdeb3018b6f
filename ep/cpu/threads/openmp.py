"""Launches on the threads of OpenMP, which PyTorch computes with.

After a parallel loop, these threads spin on their processors for some milliseconds, in case that another one follows. A
launch that begins meanwhile would share one processor with them. So it becomes a parallel loop of OpenMP: the threads
that spin do the work, and go on spinning. A launch at another time is shared in the pool, where it waits for no thread
that has not begun its part: OpenMP waits for all of them.

Whether the threads spin is seen as follows, at the least cost that each case allows:

- They do for some time after a launch that they took part in.
- They do not if the pool's workers are awake, and have taken part in the last launch.
- Otherwise the processor time of one of them is read twice.

Each thread that begins parallel loops has threads of its own for them. Only the main thread's are used: OpenMP would
make some for any other thread. A forked child has none of them, but OpenMP does not know, and would wait for ever.
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
    CLOCK,
    LATE,
    MAIN_THREAD,
    MOST_THREADS,
    NAMES,
    PARALLEL,
    PART,
    TEAM_THREAD,
    TIME,
    USED_AT,
    WORKER_WORDS,
    WORKERS,
)

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
def _nanoseconds(pool, clock):
    """Return the time of a clock; -1 if there is no such clock."""
    if _read_clock(clock, pool + 8 * TIME) != 0:
        return -1
    return load_word(pool, TIME) * 1_000_000_000 + load_word(pool, TIME + 1)


@jit
def find_openmp(pool):
    """Look whether OpenMP has been loaded, where it is to be used."""
    names = pool + 8 * NAMES
    if load_word(names, 0) == 0 or load_word(pool, PARALLEL) != 0:
        return
    thread, most = _function(load_word(names, 1)), _function(load_word(names, 2))
    if thread != 0 and most != 0:
        store_word(pool, TEAM_THREAD, thread)
        store_word(pool, MOST_THREADS, most)
        atomic_store(pool + 8 * PARALLEL, _function(load_word(names, 0)))


@jit
def _spins(pool, clock):
    first = _nanoseconds(pool, clock)
    if first < 0:  # the thread has ended
        store_word(pool, CLOCK, 0)
        return False
    for _ in range(_READINGS - 1):
        if _nanoseconds(pool, clock) != first:
            return True
        pause()
    return False


@jit
def team_is_ready(pool, num_lanes):
    """Return whether a launch on `num_lanes` threads becomes a parallel loop of OpenMP."""
    if atomic_load(pool + 8 * PARALLEL) == 0 or load_word(pool, MAIN_THREAD) != _this_thread():
        return False
    if call_function(load_word(pool, MOST_THREADS)) < num_lanes:
        return False
    used_at = load_word(pool, USED_AT)
    if used_at != 0 and _nanoseconds(pool, _MONOTONIC) - used_at < _SPIN:
        return True
    late = load_word(pool, LATE) != 0
    if not late and atomic_load(pool + 8 * (WORKERS + WORKER_WORDS + ASLEEP)) == 0:
        return False
    clock = load_word(pool, CLOCK)
    return late if clock == 0 else _spins(pool, clock)


@jit
def run_team(pool, slot):
    """Do the job of a slot as a parallel loop, on as many threads as PyTorch's next one will have."""
    call_task(load_word(pool, PARALLEL), load_word(pool, PART), slot, 0, 0)


@jit
def note_pool(pool, is_late):
    """Note whether the pool's workers, which were awake, were late at a launch."""
    if load_word(pool, LATE) != is_late:  # seldom: the word stays in every core's cache
        store_word(pool, LATE, is_late)


@jit
def note_team(pool, is_late):
    """Note that a launch of the main thread has ended, and whether the other threads of OpenMP were late."""
    store_word(pool, USED_AT, 0 if is_late else _nanoseconds(pool, _MONOTONIC))
    if is_late:
        store_word(pool, LATE, 0)  # the pool has its turn


@jit
def team_thread(pool):
    """Return the number of this thread in its parallel loop. That of thread 1 notes its clock."""
    number = call_function(load_word(pool, TEAM_THREAD))
    if number == 1 and load_word(pool, CLOCK) == 0 and _clock_of(_this_thread(), pool + 8 * TIME) == 0:
        store_word(pool, CLOCK, load_int(pool + 8 * TIME))
    return number
