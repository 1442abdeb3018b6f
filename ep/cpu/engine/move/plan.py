"""The plans of the move engine: a walk over units of bytes between two sides."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

from ep.common.native.fields import address, word, words
from ep.common.native.record import Record
from ep.common.primitive.broadcast import Dims, StridedWalk, simplify_walk
from ep.common.primitive.movement import widen
from ep.common.primitive.pad_shape import PadShape
from ep.common.primitive.region_copy import RegionCopy
from ep.common.primitive.signature import Signature
from ep.common.primitive.strides import contiguous_strides, extent
from ep.cpu.engine.loop_nest import LoopNest, adjacent
from ep.cpu.engine.move.run_writer import RunWriter, in_few_streams, run_writer, streamed_in_lines, transposed
from ep.cpu.machine.caches import far_from, scattered_from
from ep.cpu.shared.state import GRAIN_BYTES
from ep.include.data_type import DataType
from ep.include.primitive.primitive import kMaxNumDims


class MoveLoops(Record):
    num_axes = word()
    count = word()  # units
    grain = word()  # the most units of a launch on one thread
    unit = word()  # bytes
    streamed = word()  # the unit if dst has no gaps, so that a tile of results can be streamed; else 0
    in_lines = word()  # bits of dst that must be 0 for the writer to use non-temporal stores itself; -1 if it cannot
    far = word()  # whether src is too large for the caches, so that blocks of it are prefetched
    writer = address()  # the address of the task that writes rows
    walk = address()  # the address of the task that walks
    whole_rows = word()  # whether a range is rounded to whole rows: rows are not cut
    dims = words(kMaxNumDims)
    strides = words(2 * kMaxNumDims)  # of src, then of dst, in bytes


class BoxLoops(MoveLoops):
    """The plan of a walk that uses parts of both sides, which may be parts of one array."""

    begins = words(2)  # the start of the walk in src, and in dst, in bytes
    ends = words(2)  # the end of the walk in src, and in dst, in bytes
    apart = word()  # the distance in bytes from src to dst if the boxes interleave in memory without sharing a byte


class PadLoops(MoveLoops):
    """The plan of a launch that writes dst in order; a walk copies a part of it. `count`: the units of dst."""

    begins = words(2)  # the start of the copied box in src, and in dst, in bytes
    num_rows = word()  # of the box; 0 if all of dst is padding


LINKED: Final = adjacent(MoveLoops, "writer", "walk")
"""The fields that `link` writes."""

compiled: Final[dict[RunWriter, tuple[int, int]]] = {}
"""The tasks that `link` has compiled so far: the addresses of each writer and of the task that walks."""

_WALK: Final = adjacent(
    MoveLoops,
    *("num_axes", "count", "grain", "unit", "streamed", "in_lines", "far", "writer", "walk", "whole_rows", "dims"),
)
_BOX: Final = adjacent(BoxLoops, "begins", "ends", "apart")
_PAD: Final = adjacent(PadLoops, "begins", "num_rows")
_NOT_COMPILED: Final = 0, 0

_NOWHERE: Final = 2**62  # no two buffers are this far apart
_WRITTEN: Final = 2  # the cost of a written byte, relative to the bytes that other launches read and write


class WalkPlan(LoopNest):
    """A walk over units of `unit` bytes, with strides in units."""

    def _set_walk(
        self,
        walk: StridedWalk,
        unit: int,
        count: int,
        streamed: int,
        in_lines: int = 0,
        addresses: tuple[int, int] = _NOT_COMPILED,
        whole_rows: bool = False,
    ) -> None:
        """Write the fields of `MoveLoops`; addresses: `writer` and `walk`."""
        dims, src_strides, dst_strides = walk
        grain = GRAIN_BYTES // (_WRITTEN * unit) or 1
        far = unit * extent(dims, src_strides) > far_from()
        words = len(dims), count, grain, unit, streamed, in_lines, far, *addresses, whole_rows, *dims
        self.set_words(_WALK, words)
        self.set_words(MoveLoops.strides, [unit * step for step in src_strides])
        self.set_words(MoveLoops.strides + kMaxNumDims, [unit * step for step in dst_strides])


class MovePlan(WalkPlan):
    """A plan that moves a whole walk.

    writer: must be compiled, or loaded, before a launch. is_linked: whether the plan has its address.
    """

    def __init__(
        self,
        walk: StridedWalk,
        unit: int,
        writer: RunWriter,
        streamed: int,
        whole_rows: bool = False,
        signature: Signature | None = None,
        fields: Any = MoveLoops,
    ) -> None:
        """Make the plan.

        writer: the writer of rows. streamed, whole_rows: see `MoveLoops`.
        fields: the class of its record.
        """
        super().__init__(fields, signature)
        addresses = compiled.get(writer)
        self.writer, self.is_linked = writer, addresses is not None
        in_lines = streamed_in_lines(writer, walk, unit)
        self._set_walk(walk, unit, math.prod(walk.dims), streamed, in_lines, addresses or _NOT_COMPILED, whole_rows)

    @property
    def moves(self) -> Sequence[MovePlan]:
        return (self,)


def streamed_unit(walk: StridedWalk, unit: int) -> int:
    """Return the field `streamed` of `MoveLoops`, for a writer of any part of a row."""
    return unit if walk.dst_strides == contiguous_strides(walk.dims) else 0


def to_tile(dims: Dims, strides: Dims, unit: int) -> MovePlan:
    """Return the plan that copies a strided operand to a tile, in the order of a walk over `dims`."""
    dims, strides = simplify_walk(dims, strides)
    walk = StridedWalk(dims, strides, contiguous_strides(dims))
    return MovePlan(walk, unit, run_writer(walk, unit), unit)


def from_tile(dims: Dims, strides: Dims, unit: int) -> MovePlan:
    """Return the plan that copies a tile, in the order of a walk over `dims`, to a dst with strides and gaps."""
    dims, strides = simplify_walk(dims, strides)
    walk = StridedWalk(dims, contiguous_strides(dims), strides)
    return MovePlan(walk, unit, run_writer(walk, unit), 0)


def move_plan(
    signature: Signature,
    walk: StridedWalk,
    data_type: DataType,
    counts: Sequence[int],
    data_types: Sequence[DataType] = (),
) -> MovePlan:
    """Return the plan of launches that move elements of one data type over a simplified walk.

    counts, data_types: as in `LoopNest.set_checks`.
    """
    plan = MovePlan(*_in_any_order(walk, data_type.itemsize), signature)
    plan.set_checks(counts, walk.src_strides == walk.dst_strides, data_types)
    return plan


def _in_any_order(walk: StridedWalk, itemsize: int) -> tuple[StridedWalk, int, RunWriter, int, bool]:
    """Return the arguments of a `MovePlan` for launches of a whole walk, which may visit its axes in any order."""
    walk, unit = widen(walk, itemsize)
    blocks = transposed(walk, unit, scattered_from())
    if blocks is not None:  # a writer of whole rows only would write beyond a streamed tile
        return blocks[0], unit, blocks[1], 0, True
    writer = run_writer(walk, unit)
    if writer.kind == "copy" and unit * extent(walk.dims, walk.src_strides) > far_from():
        # tiles are too short to prefetch rows of src: with them, such launches took 1.1 to 2.2 times as long on a Zen 4
        return in_few_streams(walk), unit, writer, 0, False
    return walk, unit, writer, streamed_unit(walk, unit), False


class RegionPlan(MovePlan):
    """A plan that moves a box between two arrays of one data type."""

    def __init__(self, signature: Signature, box: RegionCopy, data_type: DataType, apart: int | None = None) -> None:
        """Make the plan.

        apart: the distance in bytes from src's buffer to dst's, if the address ranges of the two boxes overlap.
        """
        walk, size = box.walk(), data_type.itemsize
        super().__init__(*_in_any_order(walk, size), signature, BoxLoops)
        dims, src_strides, dst_strides = walk
        dst_begin, src_begin = box.offsets()
        src_end, dst_end = src_begin + extent(dims, src_strides), dst_begin + extent(dims, dst_strides)
        self.apart = apart
        ends = size * src_begin, size * dst_begin, size * src_end, size * dst_end
        self.set_words(_BOX, (*ends, _NOWHERE if apart is None else apart))
        self.set_checks(box.counts(), False, (data_type, data_type))


class PadPlan(WalkPlan):
    """A plan that copies a box of src into dst and writes the padding around it."""

    def __init__(self, signature: Signature, shape: PadShape, data_type: DataType, counts: tuple[int, int]) -> None:
        """Make the plan.

        counts: those of the shape.
        """
        simple, size = shape.simplified(), data_type.itemsize
        box = simple.copied()
        num_copied = math.prod(box.extent)
        walk = box.walk() if num_copied else StridedWalk((1,), (1,), (1,))
        dims, src_strides, dst_strides = walk
        if not src_strides[-1] == dst_strides[-1] == 1:  # rows of one element
            walk = StridedWalk((*dims, 1), (*src_strides, 1), (*dst_strides, 1))
        super().__init__(PadLoops, signature)
        dst_begin, src_begin = box.offsets()
        self._set_walk(walk, size, counts[1], size)
        self.set_words(_PAD, (size * src_begin, size * dst_begin, num_copied // walk.dims[-1]))
        self.set_checks(counts, in_place=False)
