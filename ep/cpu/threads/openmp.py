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
from ep.common.native.fields import Int64
from ep.common.native.words import load_int
from ep.cpu.compile.jit import jit
from ep.cpu.compile.vectors import BYTE, INT, WORD, call, pointer_to
from ep.cpu.threads.atomic import atomic_load, atomic_store, pause
from ep.cpu.threads.parallel import call_function, call_task
from ep.cpu.threads.pool_words import Pool, User
from ep.cpu.threads.scratch import give_back, kept, kept_words, take, thread_memory

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
def _nanoseconds(user: User, clock: int) -> int:
    """Return the time of a clock; -1 if there is no such clock."""
    if _read_clock(clock, user.time) != 0:
        return -1
    return user.time[0] * 1_000_000_000 + user.time[1]


@jit
def _key_of_users(num_keys: int, set_num_threads: int) -> int:
    """Return the key under which OpenMP keeps something for each thread that has used it, as this one has not.

    Return -1 if there is none.
    """
    block = thread_memory()
    before, key = Int64.at(take(block, 8 * num_keys)), 0
    for i in range(num_keys):
        before[i] = kept(i)
    call_task(set_num_threads, 1)
    while key < num_keys and (before[key] != 0 or kept(key) == 0):
        key += 1
    give_back(block, before)
    return key if key < num_keys else -1


@jit
def find_openmp(pool: Pool) -> None:
    """Look whether OpenMP has been loaded, where it is to be used. The calling thread begins no loops."""
    names = pool.names
    if names[0] == 0 or pool.parallel != 0:
        return
    parallel, thread = _function(names[0]), _function(names[1])
    most, set_number = _function(names[2]), _function(names[3])
    if parallel != 0 and thread != 0 and most != 0 and set_number != 0:
        pool.parallel = parallel
        pool.team_thread = thread
        pool.most_threads = most
        atomic_store(pool.key, _key_of_users(pool.num_keys, set_number) + 1)


@jit
def user_of(pool: Pool) -> User:
    """Return what this thread keeps; null if it has not used OpenMP, or may not."""
    key = atomic_load(pool.key)
    if key == 0 or kept(key - 1) == 0 or pool.may_wait == _this_thread():
        return User.at(0)
    return User.at(kept_words())


@jit
def _spins(user: User, clock: int) -> bool:
    first = _nanoseconds(user, clock)
    if first < 0:  # the thread has ended
        user.clock = 0
        return False
    for _ in range(_READINGS - 1):
        if _nanoseconds(user, clock) != first:
            return True
        pause()
    return False


@jit
def team_is_ready(pool: Pool, user: User, num_lanes: int) -> bool:
    """Return whether a launch on `num_lanes` threads becomes a parallel loop of OpenMP. user: of this thread."""
    if user == 0 or call_function(pool.most_threads) < num_lanes:
        return False
    used_at = user.used_at
    if used_at != 0 and _nanoseconds(user, _MONOTONIC) - used_at < _SPIN:
        return True
    late = user.late != 0
    if not late and atomic_load(pool.workers[1].asleep) == 0:
        return False
    clock = user.clock
    return late if clock == 0 else _spins(user, clock)


@jit
def run_team(pool: Pool, slot: int) -> None:
    """Do the job of a slot as a parallel loop, on as many threads as PyTorch's next one will have."""
    call_task(pool.parallel, pool.part, slot, 0, 0)


@jit
def note_pool(user: User, is_late: int) -> None:
    """Note whether the pool's workers, which were awake, were late at a launch of this thread."""
    if user != 0:
        user.late = 1 if is_late else 0


@jit
def note_team(user: User, is_late: int) -> None:
    """Note that a launch has ended, and whether the other threads of OpenMP were late."""
    user.used_at = 0 if is_late else _nanoseconds(user, _MONOTONIC)
    if is_late:
        user.late = 0  # the pool has its turn


@jit
def team_thread(pool: Pool, user: User) -> int:
    """Return the number of this thread in its parallel loop. That of thread 1 notes its clock.

    user: of the thread that began the loop.
    """
    number = call_function(pool.team_thread)
    if number == 1 and user.clock == 0 and _clock_of(_this_thread(), user.time) == 0:
        user.clock = load_int(user.time)
    return number
