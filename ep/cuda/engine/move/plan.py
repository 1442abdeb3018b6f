"""The plan of a walk that moves data, which depends on its strides and the addresses of the buffers."""

from __future__ import annotations

import math
from typing import NamedTuple

from ep.common.primitive.broadcast import StridedWalk
from ep.common.primitive.movement import fits_32_bit_offsets, split, widen
from ep.common.primitive.strides import contiguous_strides, extent
from ep.cuda.compile.kernel_words import walk_words
from ep.cuda.compile.launch_config import units_of_pack


class MoveVariant(NamedTuple):
    """One of the kernels of `move.move`.

    unit: the bytes that are read at once; pack_units: the number of units that a thread writes at once, 0 if dst is not
    written in the order of the walk; bits: those of the arithmetic of offsets.
    """

    num_axes: int
    unit: int
    pack_units: int
    bits: int


class MovePlan(NamedTuple):
    """A launch of one shape between addresses of one alignment; words: all but the addresses."""

    variant: MoveVariant
    num_items: int
    words: tuple[int, ...]


def move_plan(walk: StridedWalk, itemsize: int, src_alignment: int, dst_alignment: int) -> MovePlan:
    """Return the plan for a walk in elements. Alignments are the widest units that addresses are multiples of."""
    alignment = min(src_alignment, dst_alignment)
    walk, unit = widen(*split(walk, itemsize, alignment), alignment)
    count = math.prod(walk.dims)
    reach = max(extent(walk.dims, strides) for strides in walk[1:])
    bits = 32 if fits_32_bit_offsets(count, reach) else 64
    words = walk_words(walk.dims, walk[1:], bits)
    num_axes = len(walk.dims)
    if walk.dst_strides != contiguous_strides(walk.dims):
        return MovePlan(MoveVariant(num_axes, unit, 0, bits), count, (count, *words))
    pack_units = units_of_pack(unit, walk.dims[-1], dst_alignment)
    packs = count // pack_units
    return MovePlan(MoveVariant(num_axes, unit, pack_units, bits), max(packs, pack_units), (packs, count, *words))
