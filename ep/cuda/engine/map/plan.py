"""The plan of a mapped launch, which depends on dims and the addresses of the operands."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple

from ep.common.checks import as_dims
from ep.common.primitive.broadcast import Dims, broadcast_dims, simplify_walk
from ep.common.primitive.expand_shape import ExpandShape
from ep.common.primitive.movement import fits_32_bit_offsets
from ep.common.primitive.strides import broadcast_strides, contiguous_strides
from ep.cuda.compile.kernel_words import Words, walk_words
from ep.cuda.engine.map.access import Access, Variant


class ChosenRows(NamedTuple):
    """An operand of which rows are chosen: its place, the number of rows, and the elements from one to the next."""

    place: int
    num_rows: int
    stride: int


class MapShape:
    """The plan for the dims of a launch. Its sides are the operands and, last of all, the results.

    counts: the number of elements that each side must have.
    num_elements: the number of elements of dst that are written.
    may_be_numbers: for each operand, whether it has no dims, so it may be a plain number.
    in_place: whether an operand with as many elements as dst is traversed in the same order as dst.
    plans: the plans made so far, by the alignments of the sides.
    chosen: the operands that are rows, of which the next operand chooses.
    """

    __slots__ = ("chosen", "counts", "dims", "in_place", "may_be_numbers", "num_elements", "plans", "strides")

    def __init__(
        self,
        dims: Dims,
        strides: Sequence[Dims],
        counts: tuple[int, ...],
        may_be_numbers: tuple[bool, ...],
        chosen: tuple[ChosenRows, ...] = (),
    ) -> None:
        """dims, strides: the simplified walk in the order of dst's memory, and the strides of all sides; none if dst
        has no elements."""
        self.chosen = chosen
        self.dims, self.strides = dims, tuple(strides)
        self.counts, self.may_be_numbers = counts, may_be_numbers
        self.num_elements = math.prod(dims) if dims else 0
        alike = zip(strides, counts, strict=False)  # no strides without elements
        self.in_place = all(steps == strides[-1] for steps, count in alike if count == counts[-1])
        self.plans: dict[tuple[bool | None, ...], MapPlan] = {}


class MapWords(NamedTuple):
    """The words of a kernel.

    sources: two for each operand: its address and nothing, or the bytes of a number. Of chosen rows, the second one is
    the bytes from one row to the next, and of their indices it is the number of rows.
    results: their addresses. packs: those that are whole, of num_elements. walk: see `walk_words`.
    """

    sources: Words
    results: Words
    packs: int
    num_elements: int
    attribute0: int
    attribute1: int
    walk: Words


class MapPlan(NamedTuple):
    """A launch of one shape with operands of one kind each and addresses of one alignment; words: those of the walk."""

    variant: Variant
    packs: int
    num_items: int
    words: tuple[int, ...]


def flat_shape(count: int, num_operands: int) -> MapShape:
    """Return the shape of a launch over `count` adjacent elements of each side."""
    sides = num_operands + 1
    dims, strides = ((count,), ((1,),) * sides) if count else ((), ())
    return MapShape(dims, strides, (count,) * sides, (False,) * num_operands)


def filled_shape(count: int) -> MapShape:
    """Return the shape of a launch that writes one element `count` times."""
    dims, strides = ((count,), ((0,), (1,))) if count else ((), ())
    return MapShape(dims, strides, (1, count), (False,))


def checked_shape(given: Sequence[Any], names: Sequence[str], max_num_dims: int | None) -> tuple[Hashable, MapShape]:
    """Return the dims of operands as Launch takes them, in tuples, and their shape.

    Raises an error, with `names`, for invalid ones.
    """
    dims = tuple(as_dims(each, name, max_num_dims or 0) for each, name in zip(given, names, strict=True))
    return dims, map_shape(dims, names)


def map_shape(operands: Sequence[Dims], names: Sequence[str]) -> MapShape:
    """Return the shape of a launch whose operands have these dims.

    Raises ValueError, with `names`, if they do not broadcast.
    """
    dims = broadcast_dims(*operands, names=names)
    sides = (*operands, dims)
    counts, numbers = tuple(map(math.prod, sides)), tuple(not part for part in operands)
    if not counts[-1]:
        return MapShape((), (), counts, numbers)
    steps = [broadcast_strides(part, len(dims)) for part in sides]
    dims, *strides = simplify_walk(dims, *steps)
    return MapShape(dims, strides, counts, numbers)


def strided_shape(shape: ExpandShape) -> MapShape:
    """Return the shape of a launch of one operand with dims and strides on both sides."""
    counts, numbers = shape.counts(), (not shape.src_dims,)
    if not counts[-1]:
        return MapShape((), (), counts, numbers)
    dims, *strides = shape.walk()
    return MapShape(dims, strides, counts, numbers)


def map_plan(shape: MapShape, aligned: Sequence[bool | None], elements: int, num_results: int = 1) -> MapPlan:
    """Return the plan of a launch with packs of `elements`.

    aligned: whether each side is aligned to its packs, None for an operand that is a number; False for results without
    packs.
    """
    dims, strides, count = shape.dims, list(shape.strides), shape.num_elements
    chosen = {place: stride for place, _, stride in shape.chosen}
    sides, num_operands = range(len(aligned)), len(aligned) - num_results
    as_written = contiguous_strides(dims)
    accesses = [Access.EACH if side in chosen else _access(strides[side], as_written, aligned[side]) for side in sides]
    walked = [side for side in sides if accesses[side] is Access.EACH]
    # operands that are read in the order of the walk must be aligned, and so must results
    whole = all(aligned[side] for side in sides if side >= num_operands or accesses[side] is Access.SAME)
    # offsets below 0 are those of 64 bits
    small = fits_32_bit_offsets(count, *shape.counts) and all(step >= 0 for steps in strides for step in steps)
    bits = 32 if small else 64
    by_packs = all(_by_packs(dims, strides[side], bool(aligned[side]), elements) for side in walked)
    by_packs &= all(not stride % elements and not strides[side + 1][-1] for side, stride in chosen.items())
    if walked and whole and by_packs:
        dims = (*dims[:-1], dims[-1] // elements)
        for side in walked:
            accesses[side] = Access.PACK if strides[side][-1] else Access.SPREAD
            if strides[side][-1]:
                strides[side] = (*(stride // elements for stride in strides[side][:-1]), 1)
        if dims[-1] == 1 and len(dims) > 1:
            dims, strides = dims[:-1], [steps[:-1] for steps in strides]
    elif any(side >= num_operands for side in walked):
        whole = False
    elements = elements if whole else 1
    packs = count // elements if whole else 0
    reads, writes = tuple(accesses[:num_operands]), tuple(accesses[num_operands:])
    items = max(packs, count - packs * elements)
    if not walked:
        return MapPlan(Variant(elements, reads, results=writes), packs, items, ())
    ways = list(dict.fromkeys(strides[side] for side in walked))  # sides with the same strides share offsets
    places = tuple(ways.index(strides[side]) for side in walked) if len(ways) < len(walked) else ()
    variant = Variant(elements, reads, len(dims), bits, writes, places, tuple(chosen))
    return MapPlan(variant, packs, items, walk_words(dims, ways, bits))


def _access(strides: Dims, as_written: Dims, aligned: bool | None) -> Access:
    """Return how a side is read or written, element by element."""
    if aligned is None:
        return Access.NUMBER
    if strides == as_written:
        return Access.SAME
    return Access.EACH if any(strides) else Access.SINGLE


def _by_packs(dims: Dims, strides: Dims, aligned: bool, elements: int) -> bool:
    """Return whether a pack of the walk is a pack of this side, or one element of it."""
    if dims[-1] % elements:
        return False
    if strides[-1] == 0:
        return True
    return aligned and strides[-1] == 1 and not any(stride % elements for stride in strides[:-1])
