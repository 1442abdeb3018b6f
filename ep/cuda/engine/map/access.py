"""The ways to read an operand that may be broadcast, and to write a result."""

from enum import Enum
from typing import NamedTuple


class Access(Enum):
    """The access to an operand in a walk over the results, one pack at a time.

    A result is written in the order of the walk, SAME, or by PACK or EACH if it has gaps.
    """

    SAME = "in the order of the walk"
    NUMBER = "one number, given by the host"
    SINGLE = "one element, read once"
    PACK = "a whole pack at the walk's offset of the pack"
    SPREAD = "one element for a whole pack, at the walk's offset of the pack"
    EACH = "each element at the walk's offset of it"

    @property
    def follows_the_walk(self) -> bool:
        """Whether elements are found by the offsets of the walk."""
        return self in (Access.PACK, Access.SPREAD, Access.EACH)

    __hash__ = object.__hash__  # every launch looks its variant up, and the hash of Enum is a Python function


class Variant(NamedTuple):
    """One of the kernels of a functor.

    elements: the elements of a pack; accesses: how the operands are read; num_axes, bits: those of the walk, 0 and 32
    without a walk; results: how each result is written. places: for each side that follows the walk, operands first,
    the number of its offset in the walk; empty if each has its own, in this order. chosen: the operands that are rows,
    of which the next operand chooses.
    """

    elements: int
    accesses: tuple[Access, ...]
    num_axes: int = 0
    bits: int = 32
    results: tuple[Access, ...] = (Access.SAME,)
    places: tuple[int, ...] = ()
    chosen: tuple[int, ...] = ()

    def offsets(self) -> tuple[list[int], int]:
        """For each side, operands first, the number of its offset in the walk (0 if it uses none), and the number of
        offsets."""
        sides = (*self.accesses, *self.results)
        walked = [side for side, access in enumerate(sides) if access.follows_the_walk]
        places, found = self.places or tuple(range(len(walked))), [0] * len(sides)
        for side, place in zip(walked, places, strict=True):
            found[side] = place
        return found, max(places, default=-1) + 1
