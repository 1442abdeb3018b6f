"""The launcher of Reduce."""

from __future__ import annotations

from ep.common.native.words import stack_words, store_words
from ep.cpu.compile.jit import jit
from ep.cpu.compile.memory import allocate, release
from ep.cpu.engine.entry import launcher
from ep.cpu.engine.form import Launcher
from ep.cpu.engine.reduce.kernel import set_reduction
from ep.cpu.engine.reduce.plan import TILE_BYTES, ReduceLoops
from ep.cpu.engine.reduce.state import REDUCE_WORDS, ReduceContext
from ep.cpu.engine.reduce.walk import walk
from ep.cpu.shared.context import Context
from ep.cpu.shared.state import GRAIN_BYTES, LaunchState, State
from ep.cpu.threads.parallel import call_task, run
from ep.include.data_type import DataType
from ep.include.primitive.reduce_op import ReduceOp


@jit
def _launch(context: Context, num_bytes, in_place, sizes):
    state, plan, own = State.at(context.state), ReduceLoops.at(context.plan), stack_words(REDUCE_WORDS)
    store_words(own, context.sources[0].data, context.dst, plan, state, 0, 0, 0, 0)
    task = plan.task
    return run_reduction(state, task if task != 0 else state.task, own, num_bytes)


@jit
def run_reduction(state, task, own: ReduceContext, num_bytes):
    """Run a task on a context by ReduceContext, which reads and writes `num_bytes` bytes; return 0."""
    plan = ReduceLoops.at(own.plan)
    units, segments = plan.units, plan.segments
    if num_bytes <= GRAIN_BYTES:
        call_task(task, own, 0, units)
        return 0
    partials = allocate(TILE_BYTES * units * segments) if segments > 1 else 0
    if partials == 0:
        run(state, task, own, units, max(GRAIN_BYTES * units // num_bytes, 1))
        return 0
    own.partials = partials
    run(state, task, own, units * segments, max(GRAIN_BYTES * units * segments // num_bytes, 1))
    own.merges = 1
    call_task(task, own, 0, units)
    release(partials)
    return 0


def reduce_launcher(state: LaunchState, op: ReduceOp, data_type: DataType) -> Launcher:
    """Return the launcher of Reduce, whose launches have plans from `reduce_plan`, or a `WindowsPlan`.

    The tasks that a plan needs are written to the state before its first launch.
    """
    state.set(task=walk())
    set_reduction(state, op, data_type)
    return launcher("reduce", _launch, ReduceLoops)
