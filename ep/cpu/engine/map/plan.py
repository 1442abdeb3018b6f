"""The plan of the map engine: one walk that all operands share, and which of them are written out before."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from typing import Any, Final

from ep.common.primitive.broadcast import Dims, StridedWalk, broadcast_dims, simplify_walk
from ep.common.primitive.signature import Signature
from ep.common.primitive.strides import contiguous_strides, expanded_strides
from ep.cpu.engine.move.plan import MovePlan
from ep.cpu.engine.move.row_writer import RowWriter, by_transposed_tiles
from ep.cpu.engine.plan import Plan
from ep.cpu.machine.caches import scattered_from
from ep.cpu.shared.layout import layout
from ep.include.data_type import DataType
from ep.include.primitive.primitive import kMaxNumDims

MAP_PLAN: Final = layout(
    "MapPlan",
    num_axes=1,
    count=1,  # elements of the walk
    gaps=1,  # whether dst has any: its elements are not adjacent in the order of the walk
    spill=1,  # where it has, the plan that moves a tile of results to dst
    tiled=1,  # whether the walk goes by tiles
    blocked=1,  # whether these are blocks of its last two axes, which are transposed: of plans of one operand
    scattered=1,  # and whether dst is so large that lines of it that are written here and there go past the caches
    crossed=1,  # where they are, whether dst has adjacent elements along the last axis but one, not along the last
    dims=kMaxNumDims,
)
"""What the plans of any number of operands begin with."""

TILE_BYTES: Final = 8192
"""Of the tiles of all operands: no more, for a thread may have little stack."""

# rows of an operand that is broadcast which would fill no vector: it is written out first
_SHORT: Final = 16
_SHORT_BYTES: Final = 32


@cache
def map_layout(num_sources: int) -> Any:
    """The layout of plans for so many operands that are read.

    strides: of each, in elements, and of dst after them where the walk goes by blocks.
    fills: for each, the plan that writes its elements out in the order of the walk, 0 where they are read in place.
    """
    return layout("MapPlan", MAP_PLAN, strides=kMaxNumDims * (num_sources + 1), fills=num_sources)


class MapPlan(Plan):
    """A walk over `dims` in row-major order, none of them 0, with strides in elements for each operand."""

    def __init__(
        self,
        signature: Signature,
        dims: Sequence[int],
        strides: Sequence[Sequence[int]],
        data_types: Sequence[DataType],
        dst_strides: Sequence[int] | None = None,
    ) -> None:
        """strides: of the operands that are read; data_types: theirs, then that of dst; dst_strides: None without gaps.

        A row kernel of two operands reads rows in which either is contiguous or one element; one of another number of
        operands reads adjacent elements alone. For all else the walk goes by tiles, to which every operand is written
        out that is not in the order of the walk.
        """
        fields = map_layout(len(strides))
        super().__init__(fields, signature)
        self._moves: list[MovePlan] = []
        dims, *steps = simplify_walk(dims, *strides, *([] if dst_strides is None else [dst_strides]))
        self.set(num_axes=len(dims), count=math.prod(dims))
        self.set_words(fields.dims, dims)
        in_order = contiguous_strides(dims)
        gaps = dst_strides is not None and steps[-1] != in_order
        sources = []  # that are not in the order of the walk
        for source, row_steps in enumerate(steps[: len(strides)]):
            self.set_words(fields.strides + kMaxNumDims * source, row_steps)
            if row_steps != in_order:
                sources.append((source, row_steps, data_types[source].itemsize))
        if gaps or len(strides) != 2 or any(_wants_tile(dims, each, size) for _, each, size in sources):
            for source, row_steps, itemsize in sources:
                fill = MovePlan(_to_tile(dims, row_steps), itemsize)
                self.set(tiled=1)
                self.words[fields.fills + source] = fill.address
                self._moves.append(fill)
        if gaps:
            spill = MovePlan(_from_tile(dims, steps[-1]), data_types[-1].itemsize)
            self.set(gaps=1, tiled=1, spill=spill.address)
            self._moves.append(spill)

    @property
    def moves(self) -> Sequence[MovePlan]:
        return self._moves


class BlockPlan(Plan):
    """A walk of one operand by blocks, each of which is transposed to a tile."""

    def __init__(self, signature: Signature, walk: StridedWalk, crossed: bool, data_types: Sequence[DataType]) -> None:
        """crossed: see MAP_PLAN; data_types: as for `MapPlan`."""
        src_type, dst_type = data_types
        fields, size = map_layout(1), src_type.itemsize
        super().__init__(fields, signature)
        fill = MovePlan(walk, size, writer=RowWriter("transpose_tile", size))
        count = math.prod(walk.dims)
        self.set(num_axes=len(walk.dims), count=count, gaps=1, tiled=1, fills=fill.address)
        self.set(blocked=1, scattered=count * dst_type.itemsize > scattered_from(), crossed=crossed)
        self.set_words(fields.dims, walk.dims)
        self.set_words(fields.strides, walk.src_strides)
        self.set_words(fields.strides + kMaxNumDims, walk.dst_strides)
        self._fill = fill

    @property
    def moves(self) -> Sequence[MovePlan]:
        return (self._fill,)


def broadcast_plan(signature: Signature, operand_dims: Sequence[Dims], data_types: Sequence[DataType]) -> MapPlan:
    """The plan of launches whose operands are row-major and broadcast to dst; data_types: as for `MapPlan`."""
    dims = broadcast_dims(*operand_dims)
    counts = [*map(math.prod, operand_dims), math.prod(dims)]
    if operand_dims.count(dims) == len(operand_dims):  # nothing is broadcast
        plan = MapPlan(signature, counts[-1:], [(1,)] * len(operand_dims), data_types)
    else:
        strides = [expanded_strides(each, contiguous_strides(each), len(dims)) for each in operand_dims]
        plan = MapPlan(signature, dims, strides, data_types)
    plan.set_checks(counts, in_place=True)
    return plan


def strided_plan(
    signature: Signature, walk: StridedWalk, data_types: Sequence[DataType], counts: Sequence[int]
) -> Plan:
    """The plan of launches of one operand over a simplified walk; counts: as in `Plan.set_checks`."""
    blocks = by_transposed_tiles(walk, data_types[0].itemsize)
    plan: Plan
    if blocks is None:
        plan = MapPlan(signature, walk.dims, [walk.src_strides], data_types, walk.dst_strides)
    else:
        plan = BlockPlan(signature, *blocks, data_types)
    plan.set_checks(counts, in_place=walk.src_strides == walk.dst_strides)
    return plan


def _wants_tile(dims: Dims, steps: Dims, itemsize: int) -> bool:
    """Whether a row kernel of two operands cannot read an operand as it lies, not in order, or not well."""
    is_short = len(dims) > 1 and dims[-1] < _SHORT and dims[-1] * itemsize < _SHORT_BYTES
    return is_short or steps[-1] not in (0, 1)


def _to_tile(dims: Dims, steps: Dims) -> StridedWalk:
    dims, steps = simplify_walk(dims, steps)
    return StridedWalk(dims, steps, contiguous_strides(dims))


def _from_tile(dims: Dims, steps: Dims) -> StridedWalk:
    dims, steps = simplify_walk(dims, steps)
    return StridedWalk(dims, contiguous_strides(dims), steps)
