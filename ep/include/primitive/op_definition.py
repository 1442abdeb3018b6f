"""The rows of the table of ops."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto
from typing import Final

from ep.include.data_type import DataType
from ep.include.number_kind import ALL, COMPLEXES, FLOATS, PART, part_of
from ep.include.primitive.binary_op import BinaryOp
from ep.include.primitive.reduce_op import ReduceOp
from ep.include.primitive.unary_op import UnaryOp


@dataclass(frozen=True, slots=True)
class Attribute:
    """One attribute of an op: the meaning of `attr0` or `attr1` of `New`.

    default: upstream's user-level default; None if a value must be given.
    stored: whether the value is compared with elements that another op has stored, rounded to their data type.
    """

    name: str
    default: float | None
    stored: bool = False


class Gives(Enum):
    """The rule by which an op's result type follows from its source type."""

    SAME = auto()
    BOOLEAN = auto()
    PART = auto()
    """A floating type; by default, that of a complex number's parts."""
    WHOLE = auto()
    """A complex type; by default, the one with parts of the source type."""
    ANY = auto()
    """Any type, a complex one for complex numbers. It must be given."""


class Cost(Enum):
    """The resource, besides memory, that bounds a launch. A device divides the work accordingly."""

    LIGHT = auto()
    """A few instructions: bound by memory alone."""
    DIVISION = auto()
    REMAINDER = auto()
    FUNCTION = auto()
    """One or two elementary functions."""
    POWER = auto()
    SERIES = auto()
    """The gamma function's family, and zeta."""


_WHOLE: Final = {part: whole for whole, part in PART.items()}


@dataclass(frozen=True, slots=True)
class OpDefinition:
    """The facts about one op.

    takes: the source types that the op is defined on.
    operands: their names, in the order of Launch.
    attributes: in the order attr0, attr1.
    gradient: the ops that compute the gradient of the source from that of the result. Several if they need different
        operands; none if the gradient is 0 or is a composition of several ops.
    """

    op: UnaryOp | BinaryOp | ReduceOp
    takes: tuple[DataType, ...]
    gives: Gives
    cost: Cost
    operands: tuple[str, ...]
    attributes: tuple[Attribute, ...] = ()
    gradient: tuple[UnaryOp | BinaryOp, ...] = ()

    def result_types(self, source: DataType) -> tuple[DataType, ...]:
        """Return every result type of the op on operands of type `source`."""
        if self.gives is Gives.PART:
            return FLOATS
        if self.gives is Gives.WHOLE:
            return COMPLEXES
        if self.gives is Gives.ANY:
            return COMPLEXES if source in COMPLEXES else ALL
        return (self.result_type(source),)

    def result_type(self, source: DataType) -> DataType:
        """Return the result type that follows from `source` alone. Does not check whether the op accepts `source`."""
        if self.gives is Gives.BOOLEAN:
            return DataType.kBool
        if self.gives is Gives.PART:
            return part_of(source)
        if self.gives is Gives.WHOLE:
            return _WHOLE.get(source, source)
        return source
