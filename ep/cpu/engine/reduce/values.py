"""The accumulators of reductions: the type of values, and those kept beside them."""

from __future__ import annotations

from typing import Final

from ep.include.data_type import DataType
from ep.include.number_kind import COMPLEXES, FLOATS, PART, part_of
from ep.include.primitive.reduce_op import EXTREMES, SUMS, TRUTHS, ReduceOp

_OF_DOUBLES: Final = tuple(one for one in DataType if part_of(one) is DataType.kDouble)


def value_type(op: ReduceOp, data_type: DataType) -> DataType:
    """Sums and products of floating types are carried in float64, the least and largest of 16-bit ones in float32.

    A few 16-bit numbers are added in float32 before.
    """
    stored = PART.get(data_type, data_type)  # `part_of` without its call: plans for new dims are made here
    if op in TRUTHS or stored not in FLOATS:
        return stored
    if op in EXTREMES:
        return stored if stored.itemsize > 4 else DataType.kFloat
    return DataType.kDouble


def num_parts(op: ReduceOp, data_type: DataType) -> int:
    """Return how many values an element becomes."""
    return 2 if data_type in COMPLEXES and op not in TRUTHS else 1


def is_compensated(op: ReduceOp, data_type: DataType) -> bool:
    """Return whether sums keep what rounding loses: those of float64, which no wider type carries."""
    return op in SUMS and data_type in _OF_DOUBLES
