"""The ways in which an operand that may be broadcast is read, and dst is written."""

from enum import Enum
from typing import NamedTuple


class Access(Enum):
    """How an operand's elements follow the walk over those of dst, which goes a pack at a time.

    dst itself is written in the order of the walk, SAME, or where it has gaps by PACK or EACH.
    """

    SAME = "in the order of the walk"
    NUMBER = "one number, given by the host"
    SINGLE = "one element, read once"
    PACK = "a whole pack at the walk's offset of the pack"
    SPREAD = "one element for a whole pack, at the walk's offset of the pack"
    EACH = "each element at the walk's offset of it"

    __hash__ = object.__hash__  # every launch looks its variant up, and Enum's own hash is a function of Python


class Variant(NamedTuple):
    """One of the kernels of a functor.

    elements: those of a pack; accesses: how the operands are read; num_axes, bits: of the walk, 0 and 32 where there
    is none; result: how dst is written.
    """

    elements: int
    accesses: tuple[Access, ...]
    num_axes: int = 0
    bits: int = 32
    result: Access = Access.SAME
