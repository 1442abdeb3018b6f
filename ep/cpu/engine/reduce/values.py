"""The values that reductions carry: their type, and the rounding errors beside them."""

from __future__ import annotations

from typing import Final

from ep.include.data_type import DataType
from ep.include.number_kind import COMPLEXES, FLOATS, PART, part_of
from ep.include.primitive.reduce_op import EXTREMES, SUMS, TRUTHS, ReduceOp

_OF_DOUBLES: Final = tuple(one for one in DataType if part_of(one) is DataType.kDouble)


def value_type(op: ReduceOp, data_type: DataType) -> DataType:
    """Return the type in which values are carried.

    Sums and products of floating types are carried in float64, the least and largest of 16-bit types in float32. 16-bit
    numbers are first added in float32, a few at a time.
    """
    stored = PART.get(data_type, data_type)  # `part_of` without its call: plans for new dims are made here
    if op in TRUTHS or stored not in FLOATS:
        return stored
    if op in EXTREMES:
        return stored if stored.itemsize > 4 else DataType.kFloat
    return DataType.kDouble


def num_parts(op: ReduceOp, data_type: DataType) -> int:
    """Return the number of values that an element becomes."""
    return 2 if data_type in COMPLEXES and op not in TRUTHS else 1


def is_compensated(op: ReduceOp, data_type: DataType) -> bool:
    """Return whether sums keep their rounding errors: sums of float64 do, since no wider type carries them."""
    return op in SUMS and data_type in _OF_DOUBLES
