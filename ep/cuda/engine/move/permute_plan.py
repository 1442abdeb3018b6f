"""The plan of a launch of Permute."""

from __future__ import annotations

from ep.common.primitive.movement import split, widen
from ep.common.primitive.permute_shape import PermuteShape
from ep.cuda.engine.move.plan import MovePlan, move_plan
from ep.cuda.engine.move.tile import TilePlan, tile_plan


def permute_plan(shape: PermuteShape, itemsize: int, src_alignment: int, dst_alignment: int) -> MovePlan | TilePlan:
    """Return the plan; src has elements.

    It uses tiles if the innermost axes of dst and src differ: otherwise reading memory would be slow.

    An innermost axis of both that fits in a unit, such as the two parts of a complex number, is not an axis here.
    """
    walk, alignment = shape.walk(), min(src_alignment, dst_alignment)
    in_units, unit = widen(*split(walk, itemsize, alignment), alignment)
    if in_units.src_strides[-1] != 1:
        return tile_plan(in_units, unit, alignment)
    return move_plan(walk, itemsize, src_alignment, dst_alignment)
