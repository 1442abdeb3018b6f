"""What Launch calls of the primitives that move bytes."""

from __future__ import annotations

from collections.abc import Callable

from ep.common.primitive.signature import Signature
from ep.cpu.engine.entry import entry
from ep.cpu.engine.move import byte_runs, gather, gather_walk, pad, walk
from ep.cpu.engine.move.gather_state import GATHER_STATE
from ep.cpu.engine.move.plan import BOX_PLAN, MOVE_PLAN, PAD_PLAN
from ep.cpu.shared.state import GRAIN_BYTES, STATE, LaunchState
from ep.include.data_type import DataType


def move_entry(name: str, signature: Signature, state: LaunchState) -> Callable[..., int]:
    """The entry (state, plan, dims, operands) of a primitive whose launches have a `MovePlan`."""
    state.set(task=walk.task())
    return entry(name, signature, STATE, walk.launch, MOVE_PLAN)


def box_entry(signature: Signature, state: LaunchState) -> Callable[..., int]:
    """The entry (state, plan, dims, operands) of CopyNd, whose launches have a `BoxPlan`."""
    state.set(task=walk.task())
    return entry("copy_nd", signature, STATE, walk.launch_box, BOX_PLAN)


def pad_entry(signature: Signature, state: LaunchState, data_type: DataType) -> Callable[..., int]:
    """The entry (state, plan, dims, operands) of ConstantPad, whose launches have a `PadPlan`."""
    state.set(task=pad.task(data_type.itemsize))
    return entry("constant_pad", signature, STATE, walk.launch, PAD_PLAN)


def gather_entry(signature: Signature, state: LaunchState, indices_type: DataType) -> Callable[..., int]:
    """The entry (state, sizes, offset, operands) of Gather and BatchGather."""
    state.set(task=gather_walk.task(), unsigned=indices_type.dtype.kind == "u")
    return entry("gather", signature, GATHER_STATE, gather.launch)


def copy_entry(signature: Signature, state: LaunchState) -> Callable[..., int]:
    """The entry (state, count, operands) of Memcpy."""
    state.set(task=byte_runs.copy_task(), grain=GRAIN_BYTES // 2)
    return entry("memcpy", signature, STATE, byte_runs.launch_copy)


def set_entry(signature: Signature, state: LaunchState) -> Callable[..., int]:
    """The entry (state, count, value, operand) of Memset."""
    state.set(task=byte_runs.set_task(), grain=GRAIN_BYTES // 2)
    return entry("memset", signature, STATE, byte_runs.launch_set)
