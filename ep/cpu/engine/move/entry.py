"""The launchers of the primitives that move bytes."""

from __future__ import annotations

from ep.cpu.engine.entry import launcher
from ep.cpu.engine.form import Launcher
from ep.cpu.engine.move import byte_runs, gather, gather_walk, pad, walk
from ep.cpu.engine.move.plan import BoxLoops, MoveLoops, PadLoops
from ep.cpu.shared.state import GRAIN_BYTES, LaunchState
from ep.include.data_type import DataType


def move_launcher(state: LaunchState) -> Launcher:
    """Return the launcher of a primitive whose launches have a `MovePlan`."""
    state.set(task=walk.task())
    return launcher("move", walk.launch, MoveLoops)


def box_launcher(state: LaunchState) -> Launcher:
    """Return the launcher of CopyNd, whose launches have a `RegionPlan`."""
    state.set(task=walk.task())
    return launcher("move.box", walk.launch_box, BoxLoops)


def pad_launcher(state: LaunchState, data_type: DataType) -> Launcher:
    """Return the launcher of ConstantPad, whose launches have a `PadPlan`."""
    state.set(task=pad.task(data_type.itemsize))
    return launcher("move", walk.launch, PadLoops)


def gather_launcher(state: LaunchState, indices_type: DataType) -> Launcher:
    """Return the launcher of Gather and BatchGather."""
    state.set(task=gather_walk.task(), unsigned=indices_type.dtype.kind == "u")
    return launcher("gather", gather.launch)


def copy_launcher(state: LaunchState) -> Launcher:
    """Return the launcher of Memcpy."""
    state.set(task=byte_runs.copy_task(), grain=GRAIN_BYTES // 2)
    return launcher("move.copy_bytes", byte_runs.launch_copy)


def set_launcher(state: LaunchState) -> Launcher:
    """Return the launcher of Memset."""
    state.set(task=byte_runs.set_task(), grain=GRAIN_BYTES // 2)
    return launcher("move.set_bytes", byte_runs.launch_set)
