"""Expression: several elementwise ops over one walk, whose intermediate values are never written."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, NamedTuple

from ep.include.data_type import DataType
from ep.include.errors import ArgumentTypeError
from ep.include.primitive.binary_op import BinaryOp
from ep.include.primitive.primitive import Factory, Primitive, Request
from ep.include.primitive.unary_op import UnaryOp
from ep.include.stream import Stream


class Constant(NamedTuple):
    """A number that is part of a structure.

    bits: its bytes, so that -0.0 is not 0.0 and a NaN is equal to itself.
    """

    data_type: DataType
    bits: bytes


class Step(NamedTuple):
    """One op of a structure.

    op: of Where, None.
    operands: numbers of values.
    data_type: of the result. Where it has 16 bits and `rounded` is False, the result is left in float32.
    attributes: of the op.
    """

    op: UnaryOp | BinaryOp | None
    operands: tuple[int, ...]
    data_type: DataType
    attributes: tuple[float, ...] = ()
    rounded: bool = True


class Structure(NamedTuple):
    """What an Expression computes, whatever the sizes: values are numbered, sources, constants and steps in order.

    sources: the types of what is read. results: the values that are written, in their own types.
    """

    sources: tuple[DataType, ...]
    constants: tuple[Constant, ...]
    steps: tuple[Step, ...]
    results: tuple[int, ...]

    def data_type(self, value: int) -> DataType:
        """The type of a value."""
        if value < len(self.sources):
            return self.sources[value]
        value -= len(self.sources)
        if value < len(self.constants):
            return self.constants[value].data_type
        return self.steps[value - len(self.constants)].data_type


kMaxOperands = 64
"""The most arrays that a launch of an Expression reads and writes."""


class Expression(Primitive):
    """All results of a structure at once, from any number of arrays."""

    @abstractmethod
    def Launch(self, stream: Stream, results: Sequence[Any], sources: Sequence[Any]) -> None:
        """Compute on `stream`.

        results: arrays of the device with one shape, of at most 8 dims, in the types of the structure's results.
        sources: arrays of the device that broadcast to that shape, in the types of its sources.
        Both may have any strides. A result may be the storage of a source with the same shape and strides, and overlaps
        others in no way. No two elements of a result lie on each other.

        Raises TypeError or ValueError, naming the argument, before anything is written.
        """


class ExpressionFactory(Factory[Expression]):
    """Makes Expression for a structure. There are more than a table could list: `keys` is empty."""

    primitive = Expression

    def New(self, structure: Structure) -> Expression | None:
        """Return what computes a structure, None where the device has no such primitive; see `NewPrimitive`."""
        if not isinstance(structure, Structure):
            raise ArgumentTypeError("structure", f"must be a Structure, not {type(structure).__qualname__}")
        return self.Select(Request(Expression, None, None, options={"structure": structure}))
