"""Expression: several ops in one walk. Intermediate values stay in registers and caches."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

from ep.include.errors import ArgumentTypeError
from ep.include.primitive.primitive import Factory, Primitive, Request
from ep.include.primitive.structure import Structure
from ep.include.stream import Stream


class Expression(Primitive):
    """The computation of all results of a structure in one launch, from any number of arrays."""

    @abstractmethod
    def Launch(self, stream: Stream, results: Sequence[Any], sources: Sequence[Any]) -> None:
        """Compute on `stream`.

        results: arrays of the device with one shape, of at most 8 dims, in the types of the structure's results.
        sources: arrays of the device that broadcast to that shape, in the types of its sources.

        If the structure has a product, its first two sources are the matrices, or batches of them, C-contiguous and of
        at least 2 dims each, or the array and the filters of a convolution; their product has the results' shape, and
        the other sources broadcast to that. If a MaxPool follows, the result has one element for each of its windows
        of the convolution, is C-contiguous, and overlaps no source.
        If the structure has rows, they are along the last axis of the shape that all arrays broadcast to, of 1 to
        kMaxRow elements; reduced results have one element along that axis. If the structure reduces alone, any axes of
        any length may be reduced: those along which such results have one element.
        The result of a ColumnOp has one element along all axes but the last, is C-contiguous, and overlaps no source;
        there is at least one row.
        If the structure has a SegmentSum, its results have the axes of batches and parts, one axis of segments in place
        of those of rows, and the other axes. There is at least one row. The source with the segments of rows has the
        axes of batches and rows alone, and is C-contiguous.
        A source whose rows a ChoiceOp reads has one more axis in front, of at least one element; its other axes
        broadcast to that shape.
        All others may have any strides. A result may be the storage of a source with the same shape and strides that is
        not a matrix of a product, of which no rows are chosen, and from which no segments are added up, and must not
        overlap others. No two elements of a result overlap.

        Raises TypeError or ValueError, naming the argument, before anything is written.
        """


class ExpressionFactory(Factory[Expression]):
    """The factory of Expression for a structure. There are more structures than a table could list: `keys` is empty."""

    primitive = Expression

    def New(self, structure: Structure) -> Expression | None:
        """Return the Expression of a structure, or None if the device has none; see `NewPrimitive`."""
        if not isinstance(structure, Structure):
            raise ArgumentTypeError("structure", f"must be a Structure, not {type(structure).__qualname__}")
        return self.Select(Request(Expression, None, None, options={"structure": structure}))
