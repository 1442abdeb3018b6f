"""The plans of the map engine: one walk shared by all operands, some of which are copied to tiles first."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from typing import Any, Final

from ep.common.native.fields import address, addresses, word, words
from ep.common.native.record import Record, extended
from ep.common.primitive.broadcast import Dims, StridedWalk, simplify_walk
from ep.common.primitive.signature import Signature
from ep.common.primitive.strides import broadcast_strides, contiguous_strides
from ep.cpu.engine.loop_nest import LoopNest, adjacent
from ep.cpu.engine.move.plan import MovePlan, from_tile, streamed_unit, to_tile
from ep.cpu.engine.move.run_writer import RunWriter, by_transposed_tiles
from ep.cpu.machine.caches import scattered_from
from ep.include.data_type import DataType
from ep.include.primitive.primitive import kMaxNumDims


class MapLoops(Record):
    """The fields at the start of every plan, for any number of operands."""

    num_axes = word()
    count = word()  # elements of the walk
    gaps = word()  # whether dst has gaps: its elements are not adjacent in the order of the walk
    spill = address()  # with gaps, the plan that moves a tile of results to dst
    tiled = word()  # whether the walk proceeds in tiles
    blocked = word()  # whether the tiles are transposed blocks of the last two axes; in plans of one operand only
    # for blocks: whether dst is so large that its scattered lines are written with non-temporal stores
    scattered = word()
    crossed = word()  # for blocks: whether dst is contiguous along the last axis but one, not along the last
    dims = words(kMaxNumDims)


_SIZES: Final = adjacent(MapLoops, "num_axes", "count", "gaps", "spill", "tiled")
_BLOCKS: Final = adjacent(MapLoops, "num_axes", "count", "gaps", "spill", "tiled", "blocked", "scattered", "crossed")

TILE_BYTES: Final = 8192
"""The limit of the bytes of the tiles of all operands together."""

# a broadcast operand is copied to a tile if its rows are too short to fill a vector
_SHORT: Final = 16
_SHORT_BYTES: Final = 32


@cache
def map_record(num_sources: int) -> Any:
    """Return the class of the records of plans for `num_sources` operands that are read.

    strides: those of each operand, in elements; in a walk by blocks, followed by those of dst.
    fills: for each operand, the plan that copies its elements to a tile in the order of the walk; 0 if it is read in
        place.
    """
    return extended(MapLoops, strides=words(kMaxNumDims * (num_sources + 1)), fills=addresses(num_sources))


class MapPlan(LoopNest):
    """A walk over `dims` in row-major order, none of them 0, with strides in elements for each operand."""

    def __init__(
        self,
        signature: Signature,
        dims: Dims,
        strides: Sequence[Dims],
        data_types: Sequence[DataType],
        dst_strides: Dims | None = None,
    ) -> None:
        """Make the plan.

        strides: those of the operands that are read.
        data_types: those of the operands that are read, then that of dst.
        dst_strides: None if dst has no gaps.

        A row kernel of two operands reads rows in which each operand is contiguous or one element; any other row kernel
        reads contiguous elements only. All other walks proceed in tiles: each operand that is not in the order of the
        walk is copied to a tile.
        """
        fields = map_record(len(strides))
        super().__init__(fields, signature)
        dims, *steps = simplify_walk(dims, *strides, *(() if dst_strides is None else (dst_strides,)))
        self.set_words(fields.dims, dims)
        in_order = contiguous_strides(dims)
        to = in_order if dst_strides is None else steps.pop()
        gaps, spill = to != in_order, 0
        for source, each in enumerate(steps):
            self.set_words(fields.strides + kMaxNumDims * source, each)
        moves: list[MovePlan] = []
        if gaps or len(steps) != 2 or _want_tiles(dims, in_order, steps, data_types):
            for source, each in enumerate(steps):
                if each != in_order:
                    moves.append(to_tile(dims, each, data_types[source].itemsize))
                    self.words[fields.fills + source] = moves[-1].address
        if gaps:
            moves.append(from_tile(dims, to, data_types[-1].itemsize))
            spill = moves[-1].address
        self.set_words(_SIZES, (len(dims), math.prod(dims), gaps, spill, bool(moves)))
        self._moves = moves

    @property
    def moves(self) -> Sequence[MovePlan]:
        return self._moves


class BlockPlan(LoopNest):
    """A walk of one operand by blocks, each of which is transposed to a tile."""

    def __init__(self, signature: Signature, walk: StridedWalk, crossed: bool, data_types: Sequence[DataType]) -> None:
        """Make the plan.

        crossed: see MapLoops. data_types: as for `MapPlan`.
        """
        src_type, dst_type = data_types
        fields, size = map_record(1), src_type.itemsize
        super().__init__(fields, signature)
        fill = MovePlan(walk, size, RunWriter("transpose_tile", size), streamed_unit(walk, size))
        count = math.prod(walk.dims)
        scattered = count * dst_type.itemsize > scattered_from()
        self.set_words(_BLOCKS, (len(walk.dims), count, True, 0, True, True, scattered, crossed))
        self.set_words(fields.fills, (fill.address,))
        self.set_words(fields.dims, walk.dims)
        self.set_words(fields.strides, walk.src_strides)
        self.set_words(fields.strides + kMaxNumDims, walk.dst_strides)
        self._fill = fill

    @property
    def moves(self) -> Sequence[MovePlan]:
        return (self._fill,)


def broadcast_plan(
    signature: Signature,
    operand_dims: Sequence[Dims],
    dims: Dims,
    data_types: Sequence[DataType],
    counts: Sequence[int],
) -> MapPlan:
    """Return the plan of launches with row-major operands that are broadcast to `dims`, those of dst.

    data_types: as for `MapPlan`. counts: as in `LoopNest.set_checks`.
    """
    if operand_dims.count(dims) == len(operand_dims):  # nothing is broadcast
        plan = MapPlan(signature, (counts[-1],), [(1,)] * len(operand_dims), data_types)
    else:
        strides = [broadcast_strides(each, len(dims)) for each in operand_dims]
        plan = MapPlan(signature, dims, strides, data_types)
    plan.set_checks(counts, in_place=True)
    return plan


def strided_plan(
    signature: Signature, walk: StridedWalk, data_types: Sequence[DataType], counts: Sequence[int]
) -> LoopNest:
    """Return the plan of launches of one operand over a simplified walk; counts: as in `LoopNest.set_checks`."""
    blocks = by_transposed_tiles(walk, data_types[0].itemsize)
    plan: LoopNest
    if blocks is None:
        plan = MapPlan(signature, walk.dims, [walk.src_strides], data_types, walk.dst_strides)
    else:
        plan = BlockPlan(signature, *blocks, data_types)
    plan.set_checks(counts, in_place=walk.src_strides == walk.dst_strides)
    return plan


def _want_tiles(dims: Dims, in_order: Dims, strides: Sequence[Dims], data_types: Sequence[DataType]) -> bool:
    """Return whether a row kernel of two operands cannot read some operand in place, or only inefficiently."""
    for source, steps in enumerate(strides):
        if steps != in_order:
            short = len(dims) > 1 and dims[-1] < _SHORT and dims[-1] * data_types[source].itemsize < _SHORT_BYTES
            if short or steps[-1] not in (0, 1):
                return True
    return False
