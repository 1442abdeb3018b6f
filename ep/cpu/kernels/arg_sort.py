"""The launcher of ArgSort."""

from __future__ import annotations

from ep.common.native.words import load_word, stack_words, store_word, store_words
from ep.common.primitive.sort_keys import bits_of
from ep.cpu.compile.jit import jit
from ep.cpu.compile.memory import allocate, release
from ep.cpu.engine.entry import launcher
from ep.cpu.engine.form import Launcher
from ep.cpu.engine.reduce.sort_plan import SORT_PLAN, SORT_STATE
from ep.cpu.kernels.first_place import FIND, find_task
from ep.cpu.kernels.row_sort import SORT, sort_task
from ep.cpu.shared.context import CONTEXT, NO_MEMORY
from ep.cpu.shared.state import GRAIN_BYTES, LaunchState
from ep.cpu.threads.parallel import run
from ep.include.data_type import DataType

_FIND_WORDS, _SORT_WORDS = FIND.num_words, SORT.num_words


def arg_sort_launcher() -> Launcher:
    """Return the launcher of ArgSort, whose launches have a `SortPlan`."""
    return launcher("arg_sort", _launch, SORT_PLAN)


def set_task(state: LaunchState, data_type: DataType, finds_one: bool) -> None:
    """Compile the task for one place, or for several, and write it to the state."""
    if finds_one:
        state.set(find=find_task(*bits_of(data_type)))
    else:
        state.set(sort=sort_task(*bits_of(data_type)))


@jit
def _launch(context, num_bytes, in_place, sizes):
    state, plan = load_word(context, CONTEXT.state), load_word(context, CONTEXT.plan)
    x, places, own = load_word(context, CONTEXT.sources), load_word(context, CONTEXT.dst), stack_words(_SORT_WORDS)
    if load_word(plan, SORT_PLAN.num_places) == 1:
        return _find(state, plan, x, places, num_bytes)
    store_words(own, x, places, plan, 0)
    lines = load_word(plan, SORT_PLAN.outer) * load_word(plan, SORT_PLAN.inner)
    run(state, load_word(state, SORT_STATE.sort), own, lines, max(GRAIN_BYTES * lines // (8 * num_bytes), 1))
    return NO_MEMORY if load_word(own, SORT.lacks_memory) != 0 else 0


@jit
def _find(state, plan, x, places, num_bytes):
    own, task, found = stack_words(_FIND_WORDS), load_word(state, SORT_STATE.find), 0
    outer, inner, parts = (
        load_word(plan, SORT_PLAN.outer),
        load_word(plan, SORT_PLAN.inner),
        load_word(plan, SORT_PLAN.parts),
    )
    if parts > 1:
        found = allocate(outer * inner * parts * 16)
        if found == 0:
            return NO_MEMORY
    store_words(own, x, places, plan, found, 0)
    units = outer * load_word(plan, SORT_PLAN.blocks) * parts
    run(state, task, own, units, max(GRAIN_BYTES * units // num_bytes, 1))
    if parts > 1:
        store_word(own, FIND.merges, 1)
        run(state, task, own, outer * inner, GRAIN_BYTES // (16 * parts))
        release(found)
    return 0
