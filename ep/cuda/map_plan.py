"""How a mapped launch goes over its data: what follows from dims, and from where the operands lie."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from ep.common.primitive.broadcast import Dims, broadcast_dims, simplify_broadcast_dims
from ep.common.primitive.movement import fits_32_bit_offsets
from ep.common.primitive.strides import contiguous_strides, expanded_strides
from ep.cuda.access import Access, Variant
from ep.cuda.plan import walk_words


class MapShape(NamedTuple):
    """What follows from dims.

    operands, dims: those of the operands and of dst, simplified; none where dst is empty.
    counts, count: the elements of the operands and of dst.
    may_be_numbers: for each operand whether it has no dims, so that a plain number does for it.
    """

    operands: tuple[Dims, ...]
    dims: Dims
    counts: tuple[int, ...]
    count: int
    may_be_numbers: tuple[bool, ...]


class MapPlan(NamedTuple):
    """A launch of one shape with operands of one kind each and addresses of one alignment; words: those of the walk."""

    variant: Variant
    packs: int
    num_items: int
    words: tuple[int, ...]


def map_shape(operands: Sequence[Dims], names: Sequence[str]) -> MapShape:
    """The shape of a launch whose operands have these dims; ValueError, with `names`, where they do not broadcast."""
    count = math.prod(broadcast_dims(*operands, names=names))
    simple, dims = simplify_broadcast_dims(*operands) if count else ([()] * len(operands), ())
    return MapShape(tuple(simple), dims, tuple(map(math.prod, operands)), count, tuple(not part for part in operands))


def pack_counts(count: int, elements: int, *, whole: bool) -> tuple[int, int]:
    """The packs of a launch over `count` elements, and its items: packs and single elements, whichever are more.

    whole: whether packs are taken at all.
    """
    packs = count // elements if whole else 0
    return packs, max(packs, count - packs * elements)


def map_plan(shape: MapShape, aligned: Sequence[bool | None], dst_aligned: bool, elements: int) -> MapPlan:
    """The plan of a launch.

    aligned: whether each operand lies at a multiple of its packs, None for a number.
    dst_aligned: whether dst does, and packs are taken at all.
    """
    dims, count = shape.dims, shape.count
    sides = range(len(shape.operands))
    accesses = [_access(shape, side, aligned[side]) for side in sides]
    # what is read as it is written must be aligned as dst must be
    whole = dst_aligned and all(aligned[side] for side in sides if accesses[side] is Access.SAME)
    if not whole:
        elements = 1
    packs, items = pack_counts(count, elements, whole=whole)
    walked = [side for side in sides if accesses[side] is Access.EACH]
    if not walked:
        return MapPlan(Variant(elements, tuple(accesses)), packs, items, ())
    bits = 32 if fits_32_bit_offsets(count, *shape.counts) else 64
    strides = [expanded_strides(simple, contiguous_strides(simple), len(dims)) for simple in shape.operands]
    along = [side for side in walked if strides[side][-1]]  # those that step along the innermost axis
    if whole and dims[-1] % elements == 0 and all(aligned[side] for side in along):
        dims = (*dims[:-1], dims[-1] // elements)
        for side in walked:
            accesses[side] = Access.PACK if side in along else Access.SPREAD
        for side in along:
            strides[side] = (*(stride // elements for stride in strides[side][:-1]), 1)
        if dims[-1] == 1 and len(dims) > 1:
            dims, strides = dims[:-1], [steps[:-1] for steps in strides]
    variant = Variant(elements, tuple(accesses), len(dims), bits)
    return MapPlan(variant, packs, items, walk_words(dims, strides, bits))


def _access(shape: MapShape, side: int, aligned: bool | None) -> Access:
    if aligned is None:
        return Access.NUMBER
    if shape.counts[side] == shape.count:
        return Access.SAME
    return Access.SINGLE if shape.counts[side] == 1 else Access.EACH
