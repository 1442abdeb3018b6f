"""The code of the threads that share the work of large launches. `workers` starts and ends them.

A launch that is to be shared claims a *slot* and writes its *job* there: a task, its context and a range [0, count),
divided into lanes, and lanes into chunks. The launching thread works on lane 0 and worker w on lane w, so the same part
of an array is in the same core's cache at every launch. A thread that has finished its own lane continues with the
remaining chunks of other lanes. Several threads may launch at once, each with a slot of its own.

A worker without work spins for a while, then it sleeps until a launch wakes it up. Threads communicate through atomic
words:

- A lane's word is the number of its chunks that are not taken yet. A thread takes one by subtracting 1 from a positive
  number. If it got one, it may read the job, which cannot end before that chunk is done; otherwise it must not read it.
- A worker marks itself as asleep, then looks for work once more; a launch opens its job, then looks for sleeping
  workers. So at least one of them notices the other. The thread that removes the mark releases the worker's lock, or,
  if it is the worker itself, stays awake.

A thread that wakes a worker keeps it away from its own processor: both have work to do (`processors`).
"""

from __future__ import annotations

from functools import cache
from typing import Final

from ep.common.environment import MAX_THREADS
from ep.cpu.compile.compiler import compile_task, compile_tasks
from ep.cpu.compile.jit import jit
from ep.cpu.threads.atomic import (
    acquire_lock,
    atomic_add,
    atomic_load,
    atomic_replace,
    atomic_store,
    pause,
    release_lock,
    yield_processor,
)
from ep.cpu.threads.openmp import find_openmp, note_pool, note_team, run_team, team_is_ready, team_thread, user_of
from ep.cpu.threads.parallel import call_task
from ep.cpu.threads.pool_words import NUM_SLOTS, Pool, Slot
from ep.cpu.threads.processors import keep_away, put_back

_LOOKS: Final = 10_000  # before sleeping, in 0.7 ms: a worker looks for work, or an owner for the last chunks
_LOOKS_PER_YIELD: Final = 16  # the thread that this one waits for may need this processor


@jit
def _take_part(slot: Slot, num_lanes: int, own_lane: int) -> int:
    """Take chunks while there are any, those of `own_lane` first, and run the task on them."""
    done = 0
    for turn in range(num_lanes):
        lane = (own_lane + turn) % num_lanes
        left_over = slot.lanes[lane].left
        while atomic_load(left_over) > 0:
            left = atomic_add(left_over, -1)
            if left <= 0:
                break
            count, per_lane = slot.count, slot.chunks_per_lane
            num_chunks = slot.num_lanes * per_lane
            chunk = lane * per_lane + per_lane - left
            begin, end = count * chunk // num_chunks, count * (chunk + 1) // num_chunks
            call_task(slot.task, slot.context, begin, end)
            done += 1
    if done > 0:
        num_chunks = slot.num_lanes * slot.chunks_per_lane
        if atomic_add(slot.done, done) + done == num_chunks and atomic_replace(slot.waiting, 1, 0):
            release_lock(slot.wait_lock)
    return done


@jit
def _wake(pool: Pool, number: int) -> bool:
    worker = pool.workers[number]
    if atomic_load(worker.asleep) == 1 and atomic_replace(worker.asleep, 1, 0):
        worker.away = keep_away(worker.thread, worker.mask)
        release_lock(worker.sleep_lock)
        return True
    return False


@jit
def _wake_next(pool: Pool, number: int, num_lanes: int) -> bool:
    """Wake the two workers that this thread is responsible for. Return whether one was asleep.

    The woken workers form a tree, so that many are soon awake.
    """
    woken = False
    for other in range(2 * number + 1, min(2 * number + 3, num_lanes)):
        woken |= _wake(pool, other)
    return woken


@jit
def _looked(looks: int) -> int:
    """Wait until the next look. Return the number of looks so far."""
    if looks % _LOOKS_PER_YIELD == _LOOKS_PER_YIELD - 1:
        yield_processor()
    else:
        pause()
    return looks + 1


@jit
def _look_for_work(pool: Pool, number: int) -> bool:
    """Take part in the jobs that have a lane for worker `number`. Return whether there was one."""
    found = False
    for slot in range(NUM_SLOTS):
        num_lanes = atomic_load(pool.open[slot])
        if num_lanes > number:
            _wake_next(pool, number, num_lanes)
            found |= _take_part(pool.slots[slot], num_lanes, number) > 0
    return found


@jit
def _stop(pool: Pool) -> None:
    atomic_store(pool.stop, 1)
    for number in range(MAX_THREADS):
        _wake(pool, number)


def _work(pool: Pool, number: int) -> None:
    if number == 0:
        _stop(pool)
        return
    worker = pool.workers[number]
    looks = 0
    if number == 1:
        find_openmp(pool)
    while atomic_load(pool.stop) == 0:
        if _look_for_work(pool, number):
            looks = 0
        elif looks < _LOOKS:
            looks = _looked(looks)
        else:
            looks = 0
            atomic_store(worker.asleep, 1)
            awake = False
            if _look_for_work(pool, number) or atomic_load(pool.stop) != 0:
                awake = atomic_replace(worker.asleep, 1, 0)
            if not awake:
                acquire_lock(worker.sleep_lock)
                away = worker.away
                if away != 0:
                    put_back(worker.mask, worker.now, away)
                _look_for_work(pool, number)
            if number == 1:
                find_openmp(pool)


def _share(pool: Pool, task: int, context: int, count: int, num_lanes: int, chunks_per_lane: int) -> None:
    number = 0
    while number < NUM_SLOTS and not atomic_replace(pool.slots[number].owned, 0, 1):
        number += 1
    if number == NUM_SLOTS:
        call_task(task, context, 0, count)
        return
    slot = pool.slots[number]
    slot.task = task
    slot.context = context
    slot.count = count
    slot.num_lanes = num_lanes
    slot.chunks_per_lane = chunks_per_lane
    atomic_store(slot.done, 0)
    for lane in range(num_lanes):
        atomic_store(slot.lanes[lane].left, chunks_per_lane)
    user = user_of(pool)
    if team_is_ready(pool, user, num_lanes):
        slot.pool = pool
        slot.user = user
        run_team(pool, slot)
        note_team(user, slot.first_done >= 2 * chunks_per_lane)
    else:
        atomic_store(pool.open[number], num_lanes)
        woken = _wake_next(pool, 0, num_lanes)
        first_done = _take_part(slot, num_lanes, 0)
        atomic_store(pool.open[number], 0)
        if not woken:
            note_pool(user, first_done >= 2 * chunks_per_lane)
    looks = 0
    while atomic_load(slot.done) != num_lanes * chunks_per_lane:
        if looks < _LOOKS:
            looks = _looked(looks)
        else:
            atomic_store(slot.waiting, 1)
            done = atomic_load(slot.done) == num_lanes * chunks_per_lane
            if not (done and atomic_replace(slot.waiting, 1, 0)):
                acquire_lock(slot.wait_lock)
    atomic_store(slot.owned, 0)


def _part(slot: Slot) -> None:
    number = team_thread(Pool.at(slot.pool), slot.user)
    num_lanes = slot.num_lanes
    if number < num_lanes:
        done = _take_part(slot, num_lanes, number)
        if number == 0:
            slot.first_done = done


@cache
def share() -> int:
    """Return the task (pool, task, context, count, lanes, chunks per lane): it runs `task` over [0, count) in lanes."""
    return compile_task("thread_pool.share", _share, num_words=6)


@cache
def work() -> tuple[int, ...]:
    """Return two tasks.

    (pool, number): the loop of worker `number` until the pool stops; with number 0 it stops the pool.
    (slot): the part of a thread of OpenMP's in the job of a slot.
    """
    return compile_tasks("thread_pool.work", _work, _part)
