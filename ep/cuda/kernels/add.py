"""Add: the sum of a chunk of operands."""

from __future__ import annotations

from ep.common.functor.sums import sum_of
from ep.cuda.compile.arithmetic import storage_arithmetic
from ep.cuda.engine.map.functor import Functor
from ep.include.data_type import DataType
from ep.include.number_kind import number_kind


def functor(num_operands: int, first_type: DataType, data_type: DataType, dst_type: DataType) -> Functor:
    """The sum of so many operands from the left, rounded once; all but the first are of `data_type`.

    first_type, dst_type: that of the operands, or that of a sum which is not rounded yet.
    """
    maker, types = sum_of(num_operands, number_kind(data_type)), (first_type, *(data_type,) * (num_operands - 1))
    return Functor(f"sum{num_operands}", maker, types, dst_type, storage_arithmetic(data_type))
