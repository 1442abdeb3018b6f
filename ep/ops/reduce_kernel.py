"""The kernels of reductions: one launch of Reduce, after a Cast, and the means of pieces."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ep.common.primitive.broadcast import Dims
from ep.common.primitive.reduce_shape import ReduceShape
from ep.include.arrays import RESULT, Placeholder
from ep.include.primitive.binary_op import BinaryOp
from ep.include.primitive.broadcast_elementwise_binary import BroadcastElementwiseBinaryFactory
from ep.include.primitive.cast import CastFactory
from ep.include.primitive.fill import FillFactory
from ep.include.primitive.primitive import kMaxNumDims
from ep.include.primitive.reduce import ReduceFactory
from ep.include.primitive.reduce_op import ReduceOp
from ep.ops.kernels import Calls, Launch, Plan, Temporary, Value, data_type, primitive_exists
from ep.ops.kernels.conditions import Needs, Subject
from ep.ops.kernels.primitive_exists import PrimitiveExists


def reduce_kernel(calls: Calls, reduce: Any, cast: Any = None) -> Plan:
    """Return one launch of Reduce, after a Cast to another type than that of x, if there is one."""
    (shape,), axes, types = calls.shapes, calls.attributes["axes"], calls.subject.data_types
    count, converted = math.prod(shape), (shape, types["out"].dtype)
    if len(shape) > kMaxNumDims:
        shape, axes = _simplified(shape, axes)
    x: Value = Temporary(*converted) if cast is not None else Placeholder(0)
    steps = [Launch(cast, Placeholder(0), x, count)] if cast is not None else []
    return Plan(*steps, Launch(reduce, shape, x, axes, RESULT))


def mean_of_piece_kernel(calls: Calls, mean: Any, cast: Any, mul: Any, fill: Any) -> Plan:
    """Return the launches of the mean of a piece, times its share of the elements; 0 for no elements."""
    result = math.prod(size for axis, size in enumerate(calls.shapes[0]) if axis not in calls.attributes["axes"])
    mine = math.prod(calls.shapes[0][axis] for axis in calls.attributes["axes"])
    if not mine:
        return Plan(Launch(fill, RESULT, 0, result))
    share = mine / calls.attributes["count"]
    return Plan(reduce_kernel(calls, mean, cast), Launch(mul, (result,), RESULT, (), share, RESULT))


def _simplified(shape: Dims, axes: tuple[int, ...]) -> tuple[Dims, tuple[int, ...]]:
    """Return shape and axes with merged neighbours; ValueError if more than 8 axes remain."""
    kept = ReduceShape(shape, axes).simplified() if 0 not in shape else ()
    if not kept:
        stay = [size for axis, size in enumerate(shape) if axis not in axes]
        gone = [shape[axis] for axis in axes]
        return (int(np.prod(stay)), int(np.prod(gone))), (1,)
    if len(kept) > kMaxNumDims:
        raise ValueError(
            f"x of shape {shape} along axes {axes} needs {len(kept)} axes where neighbours of one kind are one; "
            f"at most {kMaxNumDims} are possible"
        )
    return tuple(axis.size for axis in kept), tuple(place for place, axis in enumerate(kept) if axis.reduced)


def exists(op: ReduceOp, converts: bool) -> Any:
    """Return the condition that a device has Reduce for an op. converts: whether in the type of the result."""
    return primitive_exists(ReduceFactory, op, data_type("out" if converts else "x"), kMaxNumDims)


class _Conversion(PrimitiveExists):
    """The condition that x has the type of the result, for which nothing is made, or that a Cast to it exists."""

    def holds(self, subject: Subject) -> bool:
        return _is_same(subject) or super().holds(subject)

    def why(self, subject: Subject) -> str:
        return "" if _is_same(subject) else super().why(subject)

    def needs(self, subject: Subject) -> Needs:
        return [] if _is_same(subject) else super().needs(subject)

    def make(self, subject: Subject) -> Any:
        return None if _is_same(subject) else super().make(subject)

    def __str__(self) -> str:
        return f"{super().__str__()}, unless x has the type of the result"


def _is_same(subject: Subject) -> bool:
    return subject.data_types["x"] is subject.data_types["out"]


CAST = _Conversion(CastFactory, (data_type("x"), data_type("out")), ())
MUL = primitive_exists(BroadcastElementwiseBinaryFactory, BinaryOp.kMul, data_type("out"), data_type("out"), 1)
FILL = primitive_exists(FillFactory, data_type("out"))
