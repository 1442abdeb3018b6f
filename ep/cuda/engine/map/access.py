"""The ways in which an operand that may be broadcast is read, and a result is written."""

from enum import Enum
from typing import NamedTuple


class Access(Enum):
    """The access to an operand in a walk over the results, which goes a pack at a time.

    A result itself is written in the order of the walk, SAME, or where it has gaps by PACK or EACH.
    """

    SAME = "in the order of the walk"
    NUMBER = "one number, given by the host"
    SINGLE = "one element, read once"
    PACK = "a whole pack at the walk's offset of the pack"
    SPREAD = "one element for a whole pack, at the walk's offset of the pack"
    EACH = "each element at the walk's offset of it"

    @property
    def follows_the_walk(self) -> bool:
        """Whether the walk's offsets say where the elements are."""
        return self in (Access.PACK, Access.SPREAD, Access.EACH)

    __hash__ = object.__hash__  # every launch looks its variant up, and Enum's own hash is a function of Python


class Variant(NamedTuple):
    """One of the kernels of a functor.

    elements: those of a pack; accesses: how the operands are read; num_axes, bits: of the walk, 0 and 32 where there
    is none; results: how each result is written.
    places: for each side that follows the walk, operands first, which of the walk's offsets it takes; empty if each
        has its own, in this order.
    """

    elements: int
    accesses: tuple[Access, ...]
    num_axes: int = 0
    bits: int = 32
    results: tuple[Access, ...] = (Access.SAME,)
    places: tuple[int, ...] = ()

    def offsets(self) -> tuple[list[int], int]:
        """For each side, operands first, which of the walk's offsets it takes (0 where it takes none), and how many
        offsets the walk has."""
        sides = (*self.accesses, *self.results)
        walked = [side for side, access in enumerate(sides) if access.follows_the_walk]
        places, found = self.places or tuple(range(len(walked))), [0] * len(sides)
        for side, place in zip(walked, places, strict=True):
            found[side] = place
        return found, max(places, default=-1) + 1
