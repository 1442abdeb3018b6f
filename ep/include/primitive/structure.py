"""The structure of an Expression: its ops and their operands, independent of sizes. It is data alone."""

from __future__ import annotations

from enum import Enum
from typing import Any, Final, NamedTuple

import numpy as np

from ep.include.data_type import DataType
from ep.include.primitive.binary_op import BinaryOp
from ep.include.primitive.op_table import function_name
from ep.include.primitive.reduce_op import ReduceOp
from ep.include.primitive.unary_op import UnaryOp


class RowOp(Enum):
    """The ops that read a whole row to compute each of its elements, like the primitives of these names. The gradients
    have two operands with elements: the result of the softmax, and the gradient with respect to it."""

    kSoftmax = 0
    kLogSoftmax = 1
    kSoftmaxBackward = 2
    kLogSoftmaxBackward = 3

    @property
    def is_gradient(self) -> bool:
        """Whether it has two operands."""
        return self in (RowOp.kSoftmaxBackward, RowOp.kLogSoftmaxBackward)


class ChoiceOp(Enum):
    """The ops that choose by an index, like the primitives Gather and BatchGather: a row of a source, or the element of
    a row. The result is zero if there is none."""

    kRow = 0
    kElement = 1


class ColumnOp(Enum):
    """The op that adds up the elements of each column: those at one place of all rows."""

    kSum = 0


class SegmentSum(NamedTuple):
    """The op that adds up the elements of each segment, as BatchUnsortedSegmentSum does.

    batch_dims, outer_dims, row_dims: how many axes an element has of batches, of parts of a batch, and of rows, each of
    which belongs to a segment. All other axes follow these.
    """

    batch_dims: int
    outer_dims: int
    row_dims: int


class MatrixProduct(NamedTuple):
    """The op of a product of two matrices, as BroadcastMatmul has it with an alpha of 1 and a beta of 0.

    transpose_a, transpose_b: whether the last two axes of an operand are exchanged; a complex one is also conjugated.
    """

    transpose_a: bool
    transpose_b: bool


class Convolution(NamedTuple):
    """The op of a convolution: of x, shape (N, C, sizes...), with w, shape (M, C / groups, kernel...).

    The result has shape (N, M, counts...). strides, dilations: of windows, along each spatial axis. pads: zeros before
    the first element of each axis, then after the last one of each.
    """

    strides: tuple[int, ...]
    pads: tuple[int, ...]
    dilations: tuple[int, ...]
    groups: int


class MaxPool(NamedTuple):
    """The op that takes the largest element of each window of an array of shape (N, C, sizes...), as max_pool does.

    The result has shape (N, C, counts...). kernel: the places of a window; strides, dilations: of windows, each along
    each spatial axis. pads: places without an element before the first element of each axis, then after the last one.
    """

    kernel: tuple[int, ...]
    strides: tuple[int, ...]
    pads: tuple[int, ...]
    dilations: tuple[int, ...]


class Constant(NamedTuple):
    """A number that is part of a structure.

    bits: its bytes, so that -0.0 differs from 0.0 and a NaN is equal to itself.
    """

    data_type: DataType
    bits: bytes

    def __str__(self) -> str:
        value: Any = np.frombuffer(self.bits, self.data_type.dtype)[0]
        return f"{value:.6g}" if isinstance(value, np.floating) else str(value)


class Step(NamedTuple):
    """One op of a structure.

    op: None for Where. A ReduceOp makes one value of each row, from a value with elements; a RowOp keeps the row's
        elements. A MatrixProduct or Convolution is the first step of a structure without rows, of sources 0 and 1,
        which no other step reads. Those of a float32 MatrixProduct may have 16 bits, and those of
        an int32 product or convolution are int8 or uint8, each of its own type. The second operand of a ChoiceOp
        is a source of integers. kRow reads a source that has one more axis in front, along which it chooses; all its
        readers are such steps. kElement makes one value of each row, from a value with elements and one index for each
        row. A ColumnOp makes one row of all rows, which no step reads. A SegmentSum is the only op that reads rows; it
        reads a value with elements, and a source of integers that no other step reads: the segments of rows. A MaxPool
        is the last step of a structure with a Convolution, and the only result.
    operands: numbers of values.
    data_type: of the result. If it has 16 bits and `rounded` is False, the result stays in float32, and a reduction
        reads it in float32.
    attributes: of the op.
    """

    op: (
        UnaryOp
        | BinaryOp
        | ReduceOp
        | RowOp
        | ColumnOp
        | ChoiceOp
        | SegmentSum
        | MatrixProduct
        | Convolution
        | MaxPool
        | None
    )
    operands: tuple[int, ...]
    data_type: DataType
    attributes: tuple[float, ...] = ()
    rounded: bool = True

    @property
    def name(self) -> str:
        """The name of the op for people: that of an operator that computes the same."""
        op: Any = self.op
        return _NAMES.get(op) or _NAMES.get(type(op)) or function_name(op)


_NAMES: Final[dict[Any, str]] = {
    None: "where",
    ChoiceOp: "gather",
    ColumnOp: "sum",
    SegmentSum: "segment_sum",
    MatrixProduct: "matmul",
    Convolution: "conv",
    MaxPool: "max_pool",
}


class Structure(NamedTuple):
    """The computation of an Expression, independent of sizes.

    Values are numbered: sources, constants and steps in order.
    A value has an element for each position, or is *reduced*: it has one for each row, or a row for each segment. The
    reduced values are the results of a ReduceOp, a SegmentSum or of kElement, constants, the sources listed in
    `reduced`, and the results of other ops on such values alone.

    sources: the types of the sources. results: the values that are written, in their own types.
    reduced: the sources that are reduced.
    """

    sources: tuple[DataType, ...]
    constants: tuple[Constant, ...]
    steps: tuple[Step, ...]
    results: tuple[int, ...]
    reduced: tuple[int, ...] = ()

    def __str__(self) -> str:
        """Return the names of the ops, in their order."""
        return " ".join(step.name for step in self.steps)

    @property
    def has_rows(self) -> bool:
        """Whether any op reads a whole row; otherwise this is a map."""
        return any(reads_whole_rows(step) for step in self.steps)

    @property
    def product(self) -> MatrixProduct | Convolution | None:
        """The product that all other steps are computed with, if there is one."""
        op = self.steps[0].op if self.steps else None
        return op if isinstance(op, MatrixProduct | Convolution) else None

    @property
    def pool(self) -> MaxPool | None:
        """The op that takes the largest elements of windows of all other steps' value, if there is one."""
        op = self.steps[-1].op if self.steps else None
        return op if isinstance(op, MaxPool) else None

    @property
    def segment_sum(self) -> Step | None:
        """The step that adds up segments, if there is one."""
        return next((step for step in self.steps if isinstance(step.op, SegmentSum)), None)

    @property
    def column_sums(self) -> set[int]:
        """The values that are one row of all rows."""
        first = len(self.sources) + len(self.constants)
        return {value for value, step in enumerate(self.steps, first) if isinstance(step.op, ColumnOp)}

    @property
    def chosen(self) -> set[int]:
        """The sources with one more axis in front, whose rows are chosen."""
        return {step.operands[0] for step in self.steps if step.op is ChoiceOp.kRow}

    @property
    def chooses(self) -> bool:
        """Whether any op chooses by an index."""
        return any(isinstance(step.op, ChoiceOp) for step in self.steps)

    @property
    def reduces_alone(self) -> bool:
        """Whether all results are reduced, and no unreduced value depends on a reduced one: any axes may be reduced."""
        reduced, first = self.are_reduced(), len(self.sources) + len(self.constants)
        reads_rows = any(
            isinstance(step.op, RowOp) or any(reduced[one] for one in step.operands if one >= first)
            for value, step in enumerate(self.steps, first)
            if not reduced[value]
        )
        if any(step.op is ChoiceOp.kElement for step in self.steps):
            return False
        return self.has_rows and not reads_rows and all(reduced[value] for value in self.results)

    def data_type(self, value: int) -> DataType:
        """Return the type of a value."""
        if value < len(self.sources):
            return self.sources[value]
        value -= len(self.sources)
        if value < len(self.constants):
            return self.constants[value].data_type
        return self.steps[value - len(self.constants)].data_type

    def are_reduced(self) -> list[bool]:
        """Return whether each value is reduced."""
        found = [value in self.reduced for value in range(len(self.sources))] + [True] * len(self.constants)
        for step in self.steps:
            is_one = isinstance(step.op, ReduceOp | SegmentSum) or step.op is ChoiceOp.kElement
            found.append(is_one or (not reads_whole_rows(step) and all(found[one] for one in step.operands)))
        return found


def reads_whole_rows(step: Step) -> bool:
    """Return whether a step reads whole rows to compute an element, or the one value of a row, column or segment."""
    return isinstance(step.op, ReduceOp | RowOp | ColumnOp | SegmentSum) or step.op is ChoiceOp.kElement


kMaxOperands = 64
"""The largest number of arrays that a launch of an Expression reads and writes."""
kMaxRow = 8192
"""The largest number of elements in a row of an Expression that has rows."""
