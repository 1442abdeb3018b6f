"""The only parallel loop of all CPU kernels (upstream's ParallelFor), and calls of tasks by address."""

from __future__ import annotations

from typing import Any, Final

from ep.common.native.emitted import emitted, intrinsic
from ep.common.native.on_demand import types
from ep.common.native.python_calls import acquire_gil, release_gil
from ep.common.native.record import Record
from ep.cpu.compile.jit import jit
from ep.cpu.compile.vectors import INT, NOTHING, WORD, call_address
from ep.cpu.shared.state import State

_CHUNKS_PER_LANE: Final = 4


@intrinsic
def call_task(typing_context: Any, address: Any, *words: Any) -> Any:
    """Call the task at `address` with `words`."""
    packed = len(words) == 1 and isinstance(words[0], types.BaseTuple)  # Numba types the call in both forms
    arguments = words[0] if packed else types.StarArgTuple(words)
    count = len(arguments)

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        call_address(builder, args[0], NOTHING, *(builder.extract_value(args[1], number) for number in range(count)))
        return context.get_dummy_value()

    return types.void(types.int64, arguments), generate


@emitted("int64")
def call_launcher(builder: Any, address: Any, context: Any, num_bytes: Any, in_place: Any, sizes: Any) -> Any:
    """Call the launcher at `address`, which `engine/form.py` describes, and return its result."""
    return call_address(builder, address, WORD, context, num_bytes, in_place, sizes)


@emitted("int64")
def call_function(builder: Any, address: Any) -> Any:
    """Call the C function at `address`, which takes nothing, and return its int."""
    return builder.sext(call_address(builder, address, INT), WORD)


@jit
def run(state: State, task: int, context: Record, count: int, grain: int) -> None:
    """Call `task(context, begin, end)` over [0, count): up to one grain on this thread, else on all threads.

    state: of the primitive. context: of any class, for all of which this is compiled once.
    """
    if count <= grain:
        call_task(task, context, 0, count)
        return
    settings, num_grains = state.settings, (count + grain - 1) // grain
    num_lanes = min(settings.num_threads, num_grains)
    thread_state = release_gil()
    if num_lanes == 1:
        call_task(task, context, 0, count)
    else:
        # a few chunks per thread: a late or slow thread leaves some to the others
        chunks_per_lane = min(num_grains // num_lanes, _CHUNKS_PER_LANE)
        call_task(state.share, settings.pool, task, context, count, num_lanes, chunks_per_lane)
    acquire_gil(thread_state)
