"""A group of values that one kernel computes, and how the kernel reads its operands."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from ep.common.primitive.broadcast import Dims
from ep.include.data_type import DataType
from ep.include.primitive.structure import Structure, kMaxOperands

_MOST_VALUES: Final = 40  # for one kernel: more would not fit in registers, and take long to compile
_MOST_SOURCES: Final = kMaxOperands - _MOST_VALUES


class Strided(NamedTuple):
    """Elements of an array at strides, in another order: the arguments of `Arrays.view`."""

    places: tuple[slice | int, ...] | None
    axes: tuple[int | None, ...] | None
    shape: Dims | None


class Indices(NamedTuple):
    """Indices of a gather: the size of the axis, the mode for those outside, and the shape and the type in which they
    are read."""

    size: int
    mode: str
    shape: Dims
    data_type: DataType


class Range(NamedTuple):
    """The numbers of rows from `begin` to `end`, in the shape in which they are read."""

    begin: int
    end: int
    shape: Dims
    data_type: DataType = DataType.kInt64


Access = Dims | Strided | Indices | Range | None
"""How a kernel reads an operand, if not as it is: in another shape, as a view, as indices, or a range in its place."""


@dataclass
class Group:
    """The values that one kernel computes, or the results of one operator.

    values: their positions. sources: the positions of operands. results: the positions of the values that are written.
    shape: the shape of a kernel's elements. reduced: its values with one element per row.
    stage, turn: groups are computed in the order of their stages; in a stage, groups that form kernels from the start
        have the turn -1, and the others that of the first value that they computed then.
    elements: the positions of operands that are read element by element.
    reads: for a kernel, the positions of its operands, and how each is read if not as it is: in another shape, as a
        view, as indices, or as a range in its place.
    columns: the positions of values that are sums of columns, beside others that are computed by rows.
    gone: the axes along which values are reduced, unless this is the last axis, by rows. segments: the shape of sums of
        segments, in which an axis replaces these axes.
    product: the position of a matrix product, the first value; the others are computed from it.
    again: the positions of values that another group computes, too, and writes if others need them.
    structure: the structure of a kernel. why: the reason why values are not computed with others; empty for a kernel.
    """

    values: list[int] = field(default_factory=list)
    sources: list[int] = field(default_factory=list)
    results: list[int] = field(default_factory=list)
    shape: Dims = ()
    stage: int = 0
    turn: int = -1
    elements: set[int] = field(default_factory=set)
    reduced: set[int] = field(default_factory=set)
    columns: set[int] = field(default_factory=set)
    reads: list[tuple[int, Access]] = field(default_factory=list)
    gone: tuple[int, ...] = ()
    segments: Dims = ()
    product: int | None = None
    again: set[int] = field(default_factory=set)
    structure: Structure | None = None
    why: str = ""

    @property
    def reduced_shape(self) -> Dims:
        """The shape of the reduced values, with the reduced axes."""
        return self.segments or tuple(1 if axis in self.removed else size for axis, size in enumerate(self.shape))

    def shape_of(self, position: int) -> Dims | None:
        """Return the shape in which the kernel writes a result; None for that of its elements."""
        if position in self.columns:
            return (*[1] * (len(self.shape) - 1), *self.shape[-1:])
        return self.reduced_shape if position in self.reduced else None

    @property
    def removed(self) -> tuple[int, ...]:
        """The axes along which values are reduced."""
        return self.gone or (len(self.shape) - 1,)

    def takes(self, sources: Set[int], more: int = 1) -> bool:
        """Return whether there is room for some more values and all operands."""
        return not self.values or (len(self.values) + more <= _MOST_VALUES and len(sources) <= _MOST_SOURCES)
