"""A structure of each kind of kernel, to test whether a device supports the kind."""

from __future__ import annotations

from functools import cache
from typing import Final

from ep.include.data_type import DataType
from ep.include.primitive.reduce_op import TRUTHS, ReduceOp
from ep.include.primitive.structure import (
    ChoiceOp,
    ColumnOp,
    Convolution,
    MatrixProduct,
    MaxPool,
    RowOp,
    SegmentSum,
    Step,
    Structure,
)
from ep.include.primitive.unary_op import UnaryOp

_FLOAT: Final = DataType.kFloat
MAP: Final = Structure((_FLOAT,), (), (Step(UnaryOp.kNegative, (0,), _FLOAT),), (1,))
REDUCTION: Final = MAP._replace(steps=(*MAP.steps, Step(ReduceOp.kSum, (1,), _FLOAT)), results=(2,))


@cache
def rows(op: ReduceOp | RowOp, data_type: DataType) -> Structure:
    """Return a structure with elements of a type as a result, beside those of `op` on them."""
    result_type = DataType.kBool if op in TRUTHS else data_type
    operands = (1, 1) if isinstance(op, RowOp) and op.is_gradient else (1,)
    steps = Step(UnaryOp.kIdentity, (0,), data_type), Step(op, operands, result_type)
    return Structure((data_type,), (), steps, (1, 2))


@cache
def columns(data_type: DataType) -> Structure:
    """Return a structure of sums of rows, and of columns."""
    steps = Step(ReduceOp.kSum, (0,), data_type), Step(ColumnOp.kSum, (0,), data_type)
    return Structure((data_type,), (), steps, (1, 2))


@cache
def gathers(op: ChoiceOp, data_type: DataType, indices_type: DataType) -> Structure:
    """Return a structure that chooses."""
    step, indices = Step(op, (0, 1), data_type), () if op is ChoiceOp.kRow else (1,)
    return Structure((data_type, indices_type), (), (step,), (2,), indices)


@cache
def adds(data_type: DataType, indices_type: DataType) -> Structure:
    """Return a structure that adds up segments of computed rows."""
    steps = Step(UnaryOp.kIdentity, (0,), data_type), Step(SegmentSum(0, 0, 1), (2, 1), data_type)
    return Structure((data_type, indices_type), (), steps, (3,))


@cache
def products(data_type: DataType, operands: tuple[DataType, DataType]) -> Structure:
    """Return a structure of a product of a type, of matrices of types."""
    steps = Step(MatrixProduct(False, False), (0, 1), data_type), Step(UnaryOp.kIdentity, (2,), data_type)
    return Structure(operands, (), steps, (3,))


@cache
def convolutions(data_type: DataType, operands: tuple[DataType, DataType], num_axes: int) -> Structure:
    """Return a structure of a convolution of a type, of arrays of types."""
    op = Convolution((1,) * num_axes, (0,) * 2 * num_axes, (1,) * num_axes, 1)
    steps = Step(op, (0, 1), data_type), Step(UnaryOp.kIdentity, (2,), data_type)
    return Structure(operands, (), steps, (3,))


@cache
def pools(data_type: DataType, op: MaxPool) -> Structure:
    """Return a structure of a convolution whose windows are reduced."""
    convolution = convolutions(data_type, (data_type, data_type), len(op.kernel))
    return convolution._replace(steps=(*convolution.steps, Step(op, (3,), data_type)), results=(4,))
