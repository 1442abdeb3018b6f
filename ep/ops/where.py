"""where: elements selected from two arrays by a condition."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ep.common.primitive.broadcast import Dims, broadcast_dims
from ep.include.arrays import RESULT, Placeholder
from ep.include.primitive.primitive import kMaxNumDims
from ep.include.primitive.where import Where, WhereFactory
from ep.ops.declare.function import FUNCTIONS, Condition, Operand, operator
from ep.ops.declare.gradient import Backward, Gradients
from ep.ops.declare.operator import Attributes
from ep.ops.declare.type_rules import SameAs
from ep.ops.kernels import Calls, Launch, Plan, data_type, launching, primitive_exists
from ep.ops.sbp_signatures import B, broadcast_signatures, partials_of, signature
from ep.ops.shapes import launch_dims
from ep.ops.terms import summed_to
from ep.sbp import Problem, SbpSignature


def _shape(shapes: Sequence[Dims], attributes: Attributes) -> list[Dims]:
    condition, x, y = shapes
    chosen = broadcast_dims(x, y, names=("x", "y"))
    return [broadcast_dims(condition, chosen, names=("condition", "x and y"))]


def _signatures(problem: Problem) -> Iterator[SbpSignature]:
    yield from broadcast_signatures(problem)
    for partial in partials_of(problem.out_type):
        yield signature(B, partial, partial, partial)


def _gradient(back: Backward) -> Gradients:
    condition, x, y = back.inputs
    where = FUNCTIONS["where"]
    return [None, summed_to(where(condition, back.dy, 0), x), summed_to(where(condition, 0, back.dy), y)]


@operator(
    shape=_shape,
    dtype=SameAs("x"),
    signatures=_signatures,
    gradient=_gradient,
    joins=Where,
    standard={"where": "`condition` may be of an integer type, too"},
)
def where(condition: Condition, x: Operand, y: Operand) -> Attributes:
    """Return the elements of `x` where `condition` is not 0, else those of `y`, as `numpy.where`.

    condition: array of bool or of an integer type.
    x, y: arrays of one dtype; a number gets the dtype of the other one.
    out: where to put the result, an array of its shape and dtype.

    The result has the shape to which all three broadcast, by NumPy's rules, and the dtype of x and y. Raises TypeError
    if their dtypes differ and for a condition of another type, ValueError for shapes that do not broadcast.
    """
    return {}


_WHERE = primitive_exists(WhereFactory, data_type("condition"), data_type("x"), kMaxNumDims)


@launching("where", _WHERE, cond="condition", z="out")
def where_kernel(calls: Calls, where: Any) -> Plan:
    """Return one launch of Where."""
    condition_dims, x_dims, y_dims = launch_dims("where", *calls.shapes)
    operands = (condition_dims, Placeholder(0), x_dims, Placeholder(1), y_dims, Placeholder(2))
    return Plan(Launch(where, *operands, RESULT))
