"""The plan of the move engine: a walk over units of bytes between two sides."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

from ep.common.primitive.box_copy import BoxCopy
from ep.common.primitive.broadcast import StridedWalk
from ep.common.primitive.movement import widen
from ep.common.primitive.pad_shape import PadShape
from ep.common.primitive.signature import Signature
from ep.common.primitive.strides import contiguous_strides, extent
from ep.cpu.engine.move.row_writer import RowWriter, row_writer, streamed_in_lines, transposed
from ep.cpu.engine.plan import Plan
from ep.cpu.machine.caches import far_from, scattered_from
from ep.cpu.shared.layout import layout
from ep.cpu.shared.state import GRAIN_BYTES
from ep.include.data_type import DataType
from ep.include.primitive.primitive import kMaxNumDims

MOVE_PLAN: Final = layout(
    "MovePlan",
    num_axes=1,
    count=1,  # units
    grain=1,  # units up to which a launch stays on one thread
    unit=1,  # bytes
    streamed=1,  # the same where dst has no gaps, so that what is written to a tile can be streamed; else 0
    in_lines=1,  # bits of dst that must be 0 for the writer to write past the caches itself, -1 where it cannot
    far=1,  # whether src is larger than what is near enough: blocks of it are fetched before their turn
    writer=1,  # the address of the task that writes rows
    walk=1,  # and of the one that walks
    whole_rows=1,  # whether a range is moved to where rows begin: rows are not cut
    dims=kMaxNumDims,
    strides=2 * kMaxNumDims,  # of src, then of dst, in bytes
)

BOX_PLAN: Final = layout(
    "BoxPlan",
    MOVE_PLAN,
    begins=2,  # where the walk begins in src, and in dst, in bytes
    ends=2,  # where the walk ends in src, and in dst, in bytes
    apart=1,  # how many bytes dst lies after src where the two boxes lie between each other, and share nothing
)
"""The plan of a walk that uses parts of both sides, which may lie in one array."""

PAD_PLAN: Final = layout(
    "PadPlan",
    MOVE_PLAN,
    begins=2,  # where the box that is copied begins in src, and in dst, in bytes
    num_rows=1,  # of the box, 0 where all is padding
)
"""The plan of a launch that writes dst in its order, of which a walk copies a part; `count` is that of dst."""

_NOWHERE: Final = 2**62  # no buffer lies so far from another
_WRITTEN: Final = 2  # what a byte that is written costs, in bytes read and written by other launches


class MovePlan(Plan):
    """Moves units of `unit` bytes over a walk, whose strides are in units.

    writer: what must be compiled, or loaded, before a launch.
    """

    def __init__(
        self,
        walk: StridedWalk,
        unit: int,
        signature: Signature | None = None,
        in_any_order: bool = False,
        fields: Any = MOVE_PLAN,
        writer: RowWriter | None = None,
    ) -> None:
        """in_any_order: whether launches are of the whole walk, so that it may go over its axes in another order.

        fields: the layout, that of the engine or one that begins with it.
        writer: of rows, where it is another than the walk's own.
        """
        super().__init__(fields, signature)
        count = math.prod(walk.dims)
        blocks = transposed(walk, unit, scattered_from()) if in_any_order else None
        walk, self.writer = blocks or (walk, writer or row_writer(walk, unit))
        # what moves whole rows alone would write beyond the tiles that are streamed
        in_order = blocks is None and walk.dst_strides == contiguous_strides(walk.dims)
        self.set(
            num_axes=len(walk.dims),
            count=count,
            grain=max(GRAIN_BYTES // (_WRITTEN * unit), 1),
            unit=unit,
            streamed=unit * in_order,
            in_lines=streamed_in_lines(self.writer, walk, unit),
            far=unit * extent(walk.dims, walk.src_strides) > far_from(),
            whole_rows=blocks is not None,
        )
        self.set_words(MOVE_PLAN.dims, walk.dims)
        self.set_words(MOVE_PLAN.strides, [unit * step for step in walk.src_strides])
        self.set_words(MOVE_PLAN.strides + kMaxNumDims, [unit * step for step in walk.dst_strides])

    @property
    def moves(self) -> Sequence[MovePlan]:
        return (self,)


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
    plan = MovePlan(*widen(walk, data_type.itemsize), signature, in_any_order=True)
    plan.set_checks(counts, walk.src_strides == walk.dst_strides, data_types)
    return plan


class BoxPlan(MovePlan):
    """Moves a box between two arrays of one data type."""

    def __init__(self, signature: Signature, box: BoxCopy, data_type: DataType, apart: int | None = None) -> None:
        """apart: how many bytes the buffer of dst lies after that of src, where the box of one spans the other's."""
        walk, size = box.walk(), data_type.itemsize
        super().__init__(*widen(walk, size), signature, in_any_order=True, fields=BOX_PLAN)
        dst_begin, src_begin = (size * offset for offset in box.offsets())
        dst_end, src_end = (
            begin + size * extent(walk.dims, strides)
            for begin, strides in ((dst_begin, walk.dst_strides), (src_begin, walk.src_strides))
        )
        self.apart = apart
        self.set_words(BOX_PLAN.begins, (src_begin, dst_begin))
        self.set_words(BOX_PLAN.ends, (src_end, dst_end))
        self.set(apart=_NOWHERE if apart is None else apart)
        self.set_checks(box.counts(), False, (data_type, data_type))


class PadPlan(MovePlan):
    """Copies a box of src to dst, and writes what lies around it there. It names no writer."""

    def __init__(self, signature: Signature, shape: PadShape, data_type: DataType) -> None:
        simple, size = shape.simplified(), data_type.itemsize
        box = simple.copied()
        num_copied = math.prod(box.extent)
        walk = box.walk() if num_copied else StridedWalk((1,), (1,), (1,))
        if (walk.src_strides[-1], walk.dst_strides[-1]) != (1, 1):  # rows of one element
            walk = StridedWalk(*((*part, 1) for part in walk))
        super().__init__(walk, size, signature, fields=PAD_PLAN)
        counts, (dst_begin, src_begin) = shape.counts(), box.offsets()
        self.set(count=counts[1], streamed=size, in_lines=0, num_rows=num_copied // walk.dims[-1])
        self.set_words(PAD_PLAN.begins, (size * src_begin, size * dst_begin))
        self.set_checks(counts, in_place=False)

    @property
    def moves(self) -> Sequence[MovePlan]:
        return ()
