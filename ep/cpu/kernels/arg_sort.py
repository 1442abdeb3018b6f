"""The launcher of ArgSort."""

from __future__ import annotations

from ep.common.native.fields import Int64
from ep.common.primitive.sort_keys import bits_of
from ep.cpu.compile.jit import jit
from ep.cpu.compile.memory import allocate, release
from ep.cpu.engine.entry import launcher
from ep.cpu.engine.form import Launcher
from ep.cpu.engine.reduce.sort_plan import SortLoops, SortState
from ep.cpu.kernels.first_place import FindContext, find_task
from ep.cpu.kernels.row_sort import SortContext, sort_task
from ep.cpu.shared.context import NO_MEMORY, Context
from ep.cpu.shared.state import GRAIN_BYTES, LaunchState
from ep.cpu.threads.parallel import run
from ep.include.data_type import DataType


def arg_sort_launcher() -> Launcher:
    """Return the launcher of ArgSort, whose launches have a `SortPlan`."""
    return launcher("arg_sort", _launch, SortLoops)


def set_task(state: LaunchState, data_type: DataType, finds_one: bool) -> None:
    """Compile the task for one place, or for several, and write it to the state."""
    if finds_one:
        state.set(find=find_task(*bits_of(data_type)))
    else:
        state.set(sort=sort_task(*bits_of(data_type)))


@jit
def _launch(context: Context, num_bytes: int, in_place: bool, sizes: int) -> int:
    state, plan = SortState.at(context.state), SortLoops.at(context.plan)
    x, places, sort = context.sources[0].data, context.dst, SortContext.on_stack()
    if plan.num_places == 1:
        return _find(state, plan, x, places, num_bytes)
    sort.x = x
    sort.places = places
    sort.plan = plan
    sort.lacks_memory = 0
    lines = plan.outer * plan.inner
    run(state, state.sort, sort, lines, max(GRAIN_BYTES * lines // (8 * num_bytes), 1))
    return NO_MEMORY if sort.lacks_memory != 0 else 0


@jit
def _find(state: SortState, plan: SortLoops, x: int, places: int, num_bytes: int) -> int:
    find, task, found = FindContext.on_stack(), state.find, 0
    outer, inner, parts = plan.outer, plan.inner, plan.parts
    if parts > 1:
        found = allocate(outer * inner * parts * 16)
        if found == 0:
            return NO_MEMORY
    find.x = x
    find.places = places
    find.plan = plan
    find.found = Int64.at(found)
    find.merges = 0
    units = outer * plan.blocks * parts
    run(state, task, find, units, max(GRAIN_BYTES * units // num_bytes, 1))
    if parts > 1:
        find.merges = 1
        run(state, task, find, outer * inner, GRAIN_BYTES // (16 * parts))
        release(found)
    return 0
