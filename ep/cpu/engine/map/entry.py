"""The launchers of row kernels."""

from __future__ import annotations

from collections.abc import Callable

from ep.common.primitive.signature import Signature
from ep.cpu.engine.entry import launcher
from ep.cpu.engine.form import Launcher
from ep.cpu.engine.map import walk
from ep.cpu.engine.map.plan import map_record
from ep.cpu.engine.map.state import MapState
from ep.cpu.shared.context import LATER
from ep.cpu.shared.state import LaunchState


def map_launcher(state: LaunchState, row_kernel: int) -> Launcher:
    """Return the launcher of a primitive without a walk: all operands are contiguous.

    row_kernel: the address of a row kernel of any number of operands but two.
    """
    state.set(task=row_kernel, row_kernel=row_kernel)
    return launcher("map", walk.launch)


def compile_streaming(state: LaunchState, row_kernel: Callable[[], int]) -> None:
    """Compile the row kernel with non-temporal stores into the state, if one is wanted and there is none yet."""
    if state.words[MapState.streaming_kernel] == LATER:
        state.set(streaming_kernel=row_kernel())


def walk_launcher(signature: Signature, state: LaunchState, row_kernel: int) -> Launcher:
    """Return the launcher of a primitive whose launches have a `MapPlan`."""
    num_sources = len(signature.operands) - 1
    state.set(task=walk.walk(num_sources), row_kernel=row_kernel)
    return launcher("map.walk", walk.launch_walk, map_record(num_sources))
