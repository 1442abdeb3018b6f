"""The record of an op: the facts about it that hold on all devices."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto
from typing import Any, Final

from ep.include.data_type import DataType
from ep.include.number_kind import ALL, BOOL, COMPLEXES, FLOATS, INTEGERS, PART, part_of

BITS: Final = BOOL + INTEGERS
INEXACT: Final = FLOATS + COMPLEXES


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


class Order(Enum):
    """What a larger operand makes of the result, for all finite values of the other one: never less, or never more."""

    RISES = auto()
    FALLS = auto()
    RISES_FROM = auto()
    """NaN below some number, and rising from there; NaN propagates."""
    FALLS_FROM = auto()


_WHOLE: Final = {part: whole for whole, part in PART.items()}


@dataclass(frozen=True, slots=True)
class OpDefinition:
    """The facts about one op.

    takes: the source types that the op is defined on.
    operands: their names, in the order of Launch.
    attributes: in the order attr0, attr1. by_name: whether the function takes them by name alone.
    order: for each operand, or for dy alone; for the signs of the attributes' defaults. Nothing if it has none.
    on_bool: what it is on bool, if that is "or" or "and" of two operands, of which one may be negated.
    gradient: the ops that compute the gradient of the source from that of the result. Several if they need different
        operands; none if the gradient is 0 or is a composition of several ops. OPS has them.
    backward_of: the unary op that it is the gradient of.
    transposed: of a linear op, the name of the op that is its gradient.
    is_constant: whether it is constant between steps, so that the gradient is 0 wherever it is defined.
    alias, differs: the array API standard's name of the function, if it is another one, and the differences from it.
    onnx: the name of the operator of ONNX that is equal.
    """

    takes: tuple[DataType, ...]
    gives: Gives = Gives.SAME
    cost: Cost = Cost.LIGHT
    operands: tuple[str, ...] = ("x",)
    attributes: tuple[Attribute, ...] = ()
    by_name: bool = False
    order: tuple[Order, ...] = ()
    on_bool: str = ""
    gradient: tuple[Any, ...] = ()
    backward_of: Enum | None = None
    transposed: str = ""
    is_constant: bool = False
    alias: str = ""
    differs: str = ""
    onnx: str = ""

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


class Op(Enum):
    """An enumeration of ops, each with its record; they are numbered from 0, as upstream's."""

    _value_: int
    definition: OpDefinition

    def __new__(cls, definition: OpDefinition) -> Op:
        op = object.__new__(cls)
        op._value_, op.definition = len(cls.__members__), definition
        return op
