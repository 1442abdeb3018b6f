"""The protocol of the pool's slots and sleepers, in all orders of few preemptions: the code itself, step by step."""

import inspect

import pytest

from ep.cpu.threads import thread_pool
from ep.cpu.threads.pool_words import Pool, Slot, Worker, slot_word, worker_word
from tests.cpu.interleavings import Machine, Pointer, Wrong, explore, functions

PARTS = 100  # contexts of launches start at this address, a word for each launch


def pool(launchers, launches, workers, chunks, looks=0, edit=str, slots=2, late=None):
    """Return the `start` of `explore`: threads that launch several times, and workers, which are stopped at the end.

    late: OpenMP does all launches, on the launching thread, while this many threads take part that saw the slot open
        for an earlier one.
    """
    lanes = workers + (late or 0) + 1
    code = functions(
        thread_pool,
        lambda text: edit(text.replace("run_team(pool, slot)", "_part(slot)")),
        _LOOKS=looks,
        _NUM_SLOTS=slots,
        MAX_THREADS=lanes,
        keep_away=lambda thread, mask: 1,
        put_back=lambda mask, now, away: None,
        find_openmp=lambda pool: None,
        user_of=lambda pool: 0,
        team_is_ready=lambda pool, user, lanes: late is not None,
        team_thread=lambda pool, user: 0,
        note_team=lambda user, is_late: None,
        note_pool=lambda user, is_late: None,
        range=lambda *numbers: range(*map(int, numbers)),
    )

    def start():
        count, done, ended, shared = lanes * chunks, {}, set(), Pointer(Pool, 0)

        def call_task(task, context, begin, end):
            if context in ended:
                raise Wrong(f"a part of launch {context}, which has ended, is done")
            for part in range(begin, end):
                if (context, part) in done:
                    raise Wrong(f"part {part} of launch {context} is done twice")
                done[context, part] = task

        machine, left = Machine(call_task), [launchers]
        for number in range(8):
            machine.memory[8 * slot_word(number, Slot.wait_lock)] = 1000 + number
        for number in range(1, lanes):
            machine.memory[8 * worker_word(number, Worker.sleep_lock)] = 2000 + number

        def launcher(number):
            for launch in range(launches):
                context = PARTS * (number + 1) + launch
                yield from code["_share"](shared, 7, context, count, lanes, chunks)
                missing = [part for part in range(count) if (context, part) not in done]
                if missing:
                    raise Wrong(f"launch {context} has ended without its parts {missing}")
                ended.add(context)
            left[0] -= 1
            if left[0] == 0:
                yield from code["_work"](shared, 0)

        def check():
            assert len(ended) == launchers * launches

        of_workers = [code["_work"](shared, number) for number in range(1, workers + 1)]
        of_workers += [code["_take_part"](shared.slots[0], lanes, number) for number in range(workers + 1, lanes)]
        return machine, of_workers + [launcher(number) for number in range(launchers)], check

    return start


@pytest.mark.parametrize(
    ("launchers", "launches", "workers", "chunks", "preemptions"),
    [
        pytest.param(1, 1, 1, 1, 3, marks=pytest.mark.ep_long),
        (1, 2, 1, 1, 2),
        (1, 1, 1, 2, 2),
        (1, 1, 2, 1, 1),
        (2, 1, 1, 1, 1),
    ],
)
def test_every_part_is_done_once_and_all_threads_end(launchers, launches, workers, chunks, preemptions):
    assert explore(pool(launchers, launches, workers, chunks), preemptions) > 100


def without_waiting(text):
    """Let a launch of OpenMP's end with its team."""
    words = "        note_team("
    assert words in text
    return text.replace(words, f"        atomic_store(slot.owned, 0)\n        return\n{words}")


def test_a_late_worker_takes_part_in_a_launch_of_openmp():
    assert explore(pool(1, 1, 0, 1, late=1), 3) > 100
    with pytest.raises(Wrong):
        explore(pool(1, 1, 0, 1, edit=without_waiting, late=1), 3)


@pytest.mark.parametrize(
    ("words", "others"),
    [
        ("if _look_for_work(pool, number) or atomic_load(pool.stop) != 0:", "if False:"),
        ("if not (done and atomic_replace(slot.waiting, 1, 0)):", "if True:"),
        ("done = atomic_load(slot.done) == num_lanes * chunks_per_lane", "done = False"),
        ("if left <= 0:", "if left < 0:"),
        ("atomic_replace(worker.asleep, 1, 0)", "True"),
    ],
)
def test_mistakes_in_the_protocol_are_found(words, others):
    assert words in inspect.getsource(thread_pool)
    with pytest.raises(Wrong):
        explore(pool(1, 1, 1, 1, 0, lambda text: text.replace(words, others)), 3)
