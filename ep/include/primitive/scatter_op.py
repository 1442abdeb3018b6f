"""The operations of BatchScatter."""

from collections.abc import Mapping
from enum import Enum
from typing import Final

from ep.include.primitive.binary_op import BinaryOp


class ScatterOp(Enum):
    """What becomes of an element and its update: the update, or their sum, product, maximum or minimum."""

    kUpdate = 0
    kAdd = 1
    kMul = 2
    kMax = 3
    kMin = 4


COMBINED_BY: Final[Mapping[ScatterOp, BinaryOp]] = {
    ScatterOp.kAdd: BinaryOp.kAdd,
    ScatterOp.kMul: BinaryOp.kMul,
    ScatterOp.kMax: BinaryOp.kMax,
    ScatterOp.kMin: BinaryOp.kMin,
}
"""The ops of two operands that combine an element and its update; kUpdate has none."""
