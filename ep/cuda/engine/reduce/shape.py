"""What follows from the key of a Reduce and from its dims, whatever the addresses."""

from __future__ import annotations

from typing import Final

from ep.common.primitive.reduce_shape import Axis, ReduceShape
from ep.common.stored_types import stored_as, unit_of
from ep.cuda.engine.reduce.plan import ReducePlan, reduce_plan
from ep.include.data_type import DataType
from ep.include.number_kind import PART, Kind, number_kind
from ep.include.primitive.reduce_op import SUMS, ReduceOp

_BY_SIZE: Final = ReduceOp.kSum, ReduceOp.kProd, ReduceOp.kAny, ReduceOp.kAll
"""What is the same for integers with and without sign."""


def stored_for(op: ReduceOp, data_type: DataType) -> tuple[bool, DataType]:
    """Whether the two parts of complex numbers are reduced each for itself; and the type that kernels load."""
    kind = number_kind(data_type)
    if kind is Kind.COMPLEX and op in SUMS:
        return True, PART[data_type]
    return False, unit_of(data_type) if kind is Kind.INTEGER and op in _BY_SIZE else stored_as(data_type)


class Shape:
    """What follows from dims and axes; plans: those that were made, by the alignment of src."""

    __slots__ = ("axes", "counts", "plans")

    def __init__(self, given: ReduceShape, in_parts: bool) -> None:
        """in_parts: whether the two parts of complex numbers are reduced each for itself."""
        self.counts = num_src, num_dst = given.counts()
        axes = given.simplified() if num_src else (Axis(num_dst, False), Axis(0, True))
        self.axes = (*axes, Axis(2, False)) if in_parts else axes
        self.plans: dict[int, ReducePlan] = {}

    def plan(self, stored: DataType, alignment: int) -> ReducePlan:
        """The plan for elements that are loaded as `stored`, always the same; alignment: the widest unit of src."""
        plan = self.plans.get(alignment)
        if plan is None:
            plan = self.plans[alignment] = reduce_plan(self.axes, stored.itemsize, alignment)
        return plan
