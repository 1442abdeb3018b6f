"""The plan of the move engine: a walk over units of bytes between two sides."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ep.common.primitive.broadcast import StridedWalk
from ep.common.primitive.movement import widen
from ep.common.primitive.signature import Signature
from ep.common.primitive.strides import contiguous_strides
from ep.cpu.engine.layout import layout
from ep.cpu.engine.move.row_writer import row_writer
from ep.cpu.engine.plan import Plan
from ep.cpu.engine.state import GRAIN_BYTES
from ep.include.data_type import DataType
from ep.include.primitive.primitive import kMaxNumDims

MOVE_PLAN: Final = layout(
    "MovePlan",
    num_axes=1,
    count=1,  # units
    grain=1,  # units up to which a launch stays on one thread
    streamed=1,  # bytes of a unit where dst has no gaps, so that it can be streamed; else 0
    writer=1,  # the address of the task that writes rows
    walk=1,  # and of the one that walks
    dims=kMaxNumDims,
    strides=2 * kMaxNumDims,  # of src, then of dst, in bytes
)

_WRITTEN: Final = 2  # what a byte that is written costs, in bytes read and written by other launches


class MovePlan(Plan):
    """Moves units of `unit` bytes over a walk, whose strides are in units.

    writer: what must be compiled, or loaded, before a launch.
    """

    def __init__(self, walk: StridedWalk, unit: int, signature: Signature | None = None) -> None:
        super().__init__(MOVE_PLAN, signature)
        count = 1
        for size in walk.dims:
            count *= size
        in_order = walk.dst_strides == contiguous_strides(walk.dims)
        self.set(num_axes=len(walk.dims), count=count, streamed=unit * in_order, dims=walk.dims)
        self.set(grain=max(GRAIN_BYTES // (_WRITTEN * unit), 1))
        for side, strides in enumerate(walk[1:]):
            first = MOVE_PLAN.strides + kMaxNumDims * side
            self.words[first : first + len(strides)] = [unit * step for step in strides]
        self.writer = row_writer(walk, unit)
        self.moves = (self,)


def move_plan(
    signature: Signature,
    walk: StridedWalk,
    data_type: DataType,
    counts: Sequence[int],
    data_types: Sequence[DataType] = (),
) -> MovePlan:
    """The plan of launches that move elements of one data type over a simplified walk.

    counts, data_types: as in `Plan.set_checks`.
    """
    plan = MovePlan(*widen(walk, data_type.itemsize), signature)
    plan.set_checks(counts, walk.src_strides == walk.dst_strides, data_types)
    return plan
