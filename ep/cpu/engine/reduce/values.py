"""The values that reductions carry: their number, and whether rounding errors are kept."""

from __future__ import annotations

from typing import Final

from ep.include.data_type import DataType
from ep.include.number_kind import COMPLEXES, part_of
from ep.include.primitive.reduce_op import SUMS, TRUTHS, ReduceOp

_OF_DOUBLES: Final = tuple(one for one in DataType if part_of(one) is DataType.kDouble)


def num_parts(op: ReduceOp, data_type: DataType) -> int:
    """Return the number of values that an element becomes."""
    return 2 if data_type in COMPLEXES and op not in TRUTHS else 1


def is_compensated(op: ReduceOp, data_type: DataType) -> bool:
    """Return whether sums keep their rounding errors: sums of float64 do, since no wider type carries them."""
    return op in SUMS and data_type in _OF_DOUBLES
