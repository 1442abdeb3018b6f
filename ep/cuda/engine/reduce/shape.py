"""The part of a Reduce's plan that depends only on its key and dims."""

from __future__ import annotations

from typing import Final, NamedTuple

from ep.common.primitive.reduce_shape import Axis, ReduceShape
from ep.common.stored_types import stored_as, unit_of
from ep.cuda.compile.launch_config import PACK_BYTES
from ep.cuda.engine.reduce.plan import ReducePlan, Variant, reduce_plan
from ep.include.data_type import DataType
from ep.include.number_kind import Kind, number_kind, part_of
from ep.include.primitive.op_table import REDUCTIONS
from ep.include.primitive.reduce_op import SUMS, ReduceOp

_BY_SIZE: Final = ReduceOp.kSum, ReduceOp.kProd, ReduceOp.kAny, ReduceOp.kAll
"""The ops that are the same for signed and unsigned integers."""


class Stored(NamedTuple):
    """The types of the elements of a key in kernels.

    types: those of src and dst for Launch; loaded, written: those of kernels. in_parts: whether the two parts of
    complex numbers are reduced separately.
    """

    op: ReduceOp
    types: tuple[DataType, DataType]
    loaded: DataType
    written: DataType
    in_parts: bool


def stored_for(op: ReduceOp, data_type: DataType) -> Stored:
    """Return the types of the elements that `op` reduces in kernels."""
    kind, result = number_kind(data_type), REDUCTIONS[op].result_type(data_type)
    in_parts = kind is Kind.COMPLEX and op in SUMS
    if in_parts:
        loaded = part_of(data_type)
    else:
        loaded = unit_of(data_type) if kind is Kind.INTEGER and op in _BY_SIZE else stored_as(data_type)
    return Stored(op, (data_type, result), loaded, result if result is DataType.kBool else loaded, in_parts)


def usual_variant(stored: Stored) -> Variant:
    """Return the variant for a row of some length, which is loaded before the first launch."""
    return Shape(ReduceShape((1, 1024), (1,)), stored).plan(PACK_BYTES).variant


class Shape:
    """The plan for dims and axes; plans: the plans made so far, by the alignment of src."""

    __slots__ = ("_itemsize", "axes", "counts", "plans")

    def __init__(self, given: ReduceShape, stored: Stored) -> None:
        self.counts = num_src, num_dst = given.counts()
        axes = given.simplified() if num_src else (Axis(num_dst, False), Axis(0, True))
        self.axes = (*axes, Axis(2, False)) if stored.in_parts else axes
        self._itemsize = stored.loaded.itemsize
        self.plans: dict[int, ReducePlan] = {}

    def plan(self, alignment: int) -> ReducePlan:
        """Return the plan, always the same; alignment: the widest unit of src."""
        plan = self.plans.get(alignment)
        if plan is None:
            plan = self.plans[alignment] = reduce_plan(self.axes, self._itemsize, alignment)
        return plan
