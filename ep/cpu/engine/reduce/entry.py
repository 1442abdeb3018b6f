"""The launcher of Reduce."""

from __future__ import annotations

from ep.cpu.compile.jit import jit
from ep.cpu.compile.memory import allocate, release
from ep.cpu.engine.entry import launcher
from ep.cpu.engine.form import Launcher
from ep.cpu.engine.reduce.kernel import set_reduction
from ep.cpu.engine.reduce.plan import TILE_BYTES, ReduceLoops
from ep.cpu.engine.reduce.state import ReduceContext, ReduceState
from ep.cpu.engine.reduce.walk import walk
from ep.cpu.shared.context import Context, StridedContext
from ep.cpu.shared.state import GRAIN_BYTES, LaunchState, State
from ep.cpu.threads.parallel import call_task, run
from ep.include.data_type import DataType
from ep.include.primitive.reduce_op import ReduceOp


@jit
def _launch(context: Context, num_bytes: int, in_place: int, sizes: int) -> int:
    reduction = ReduceContext.on_stack()
    plan, state = ReduceLoops.at(context.plan), ReduceState.at(context.state)
    reduce_context(reduction, context.sources[0].data, context.dst, plan, state)
    task = plan.task if plan.task != 0 else state.task
    return run_reduction(state, task, reduction, num_bytes)


@jit
def reduce_context(reduction: ReduceContext, src: int, dst: int, plan: int, state: int) -> None:
    """Write the context of a walk without partials, whose elements are read."""
    reduction.src = src
    reduction.dst = dst
    reduction.plan = ReduceLoops.at(plan)
    reduction.state = ReduceState.at(state)
    reduction.partials = 0
    reduction.merges = 0
    reduction.map = 0
    reduction.map_context = StridedContext.at(0)


@jit
def run_reduction(state: State, task: int, reduction: ReduceContext, num_bytes: int) -> int:
    """Run a task on a context, which reads and writes `num_bytes` bytes; return 0. state: that of the launch."""
    units, segments = reduction.plan.units, reduction.plan.segments
    if num_bytes <= GRAIN_BYTES:
        call_task(task, reduction, 0, units)
        return 0
    partials = allocate(TILE_BYTES * units * segments) if segments > 1 else 0
    if partials == 0:
        run(state, task, reduction, units, max(GRAIN_BYTES * units // num_bytes, 1))
        return 0
    reduction.partials = partials
    run(state, task, reduction, units * segments, max(GRAIN_BYTES * units * segments // num_bytes, 1))
    reduction.merges = 1
    call_task(task, reduction, 0, units)
    release(partials)
    return 0


def reduce_launcher(state: LaunchState, op: ReduceOp, data_type: DataType) -> Launcher:
    """Return the launcher of Reduce, whose launches have plans from `reduce_plan`, or a `WindowsPlan`.

    The tasks that a plan needs are written to the state before its first launch.
    """
    state.set(task=walk())
    set_reduction(state, op, data_type)
    return launcher("reduce", _launch, ReduceLoops)
