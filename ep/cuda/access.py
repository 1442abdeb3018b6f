"""The ways in which an operand that may be broadcast is read."""

from enum import Enum
from typing import NamedTuple


class Access(Enum):
    """How an operand's elements follow those of dst, which are written in order, a pack at a time."""

    SAME = "as dst"
    NUMBER = "one number, given by the host"
    SINGLE = "one element, read once"
    PACK = "a whole pack at the walk's offset of the pack"
    SPREAD = "one element for a whole pack, at the walk's offset of the pack"
    EACH = "each element at the walk's offset of it"


class Variant(NamedTuple):
    """One of the kernels of a functor.

    elements: those of a pack; accesses: how the operands are read; num_axes, bits: of the walk, 0 and 32 where there
    is none.
    """

    elements: int
    accesses: tuple[Access, ...]
    num_axes: int = 0
    bits: int = 32
