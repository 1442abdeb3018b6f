"""resample: weighted sums of elements of an array, at places along an axis."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

from ep.common.primitive.broadcast import Dims
from ep.include.arrays import RESULT, Placeholder
from ep.include.data_type import DataType, as_data_type
from ep.include.number_kind import FLOATS
from ep.include.primitive.binary_op import BinaryOp
from ep.include.primitive.expression import ExpressionFactory
from ep.include.primitive.fill import FillFactory
from ep.include.primitive.registry import RequirePrimitive
from ep.include.primitive.structure import ChoiceOp, Step, Structure
from ep.include.primitive.unary_op import UnaryOp
from ep.ops.declare.function import FUNCTIONS, Indices, Tensor, operator
from ep.ops.declare.gradient import Backward, Gradients
from ep.ops.declare.operator import Attributes
from ep.ops.declare.type_rules import SameAs
from ep.ops.kernels import (
    Calls,
    Launch,
    Plan,
    Subject,
    Temporary,
    Value,
    View,
    data_type,
    launching,
    primitive_exists,
    views_exist,
)
from ep.ops.kernels.conditions import Value as SubjectValue
from ep.ops.sbp_signatures import B, P, signature
from ep.ops.shapes import around, axis_of
from ep.ops.terms import in_type, viewed, zeros_like
from ep.ops.window_kernel import MOVES, WindowMoves
from ep.sbp import Problem, SbpSignature, Split

_MOST_ADDENDS: Final = 8
"""The most addends of a launch. More take seconds to compile."""


def _shape(shapes: Sequence[Dims], attributes: Attributes) -> list[Dims]:
    (x, places, _), axis = shapes, attributes["axis"]
    return [(*x[:axis], places[1], *x[axis + 1 :])]


def _signatures(problem: Problem) -> Iterator[SbpSignature]:
    axis = problem.attributes["axis"]
    for other in range(len(problem.shapes[0])):
        if other != axis:
            yield signature(Split(other), B, B, Split(other))
    yield signature(B, Split(1), Split(1), Split(axis))
    yield signature(B, Split(0), Split(0), P)
    yield signature(P, B, B, P)
    yield signature(B, B, P, P)


def arithmetic_of(kind: DataType) -> DataType:
    """Return the type of the weights of elements of a type, and of their sums."""
    return kind if kind in (DataType.kFloat, DataType.kDouble) else DataType.kFloat


def _gradient(back: Backward) -> Gradients:
    """Return the gradients of x, by addends that are scattered to their places, and of the weights."""
    (x, places, weights), axis = back.inputs, back.attributes["axis"]
    others = tuple(one for one in range(len(x.shape)) if one != axis)
    of_x, of_weights = None, list[Any]()
    dy = in_type(back.dy, weights.dtype)
    for addend in range(places.shape[0]):
        at, weight = (FUNCTIONS["slice"](one, (addend, addend + 1)) for one in (places, weights))
        at, along = viewed(at, (places.shape[1],)), (places.shape[1], *(1,) * (len(x.shape) - axis - 1))
        share = FUNCTIONS["mul"](dy, viewed(weight, along))
        part = FUNCTIONS["gather_grad"](share, at, x.shape, axis, 0, "zero")
        of_x = part if of_x is None else FUNCTIONS["add"](of_x, part)
        taken = in_type(FUNCTIONS["gather"](x, at, axis, mode="zero"), weights.dtype)
        of_weights.append(FUNCTIONS["sum"](FUNCTIONS["mul"](dy, taken), others))
    if of_x is None:
        return [zeros_like(x), None, zeros_like(weights)]
    return [in_type(of_x, x.dtype), None, FUNCTIONS["stack"](of_weights)]


@operator(shape=_shape, dtype=SameAs("x"), signatures=_signatures, gradient=_gradient)
def resample(x: Tensor, places: Indices, weights: Tensor, axis: int = 0) -> Attributes:
    """Return weighted sums of elements of `x` along an axis: of one element for each row of `places`.

    x: array of a floating dtype.
    places: integers of shape (addends, count), places along the axis.
    weights: array of the shape of places, of the dtype of x; for float16 and bfloat16 of float32.
    axis: negative ones are counted from the last.
    out: where to put the result, an array of its shape and dtype.

    The result has `count` elements along the axis. A place outside of x, such as -1, adds nothing. float16 and bfloat16
    are accumulated in float32 and rounded once. Raises TypeError for weights of another dtype, ValueError for shapes
    that do not fit.
    """
    along = axis_of(x, "x", axis)
    if len(places.shape) != 2:
        raise ValueError(f"places has shape {tuple(places.shape)}; it must have two axes: addends, and their sums")
    if tuple(weights.shape) != tuple(places.shape):
        raise ValueError(
            f"weights has shape {tuple(weights.shape)}, places has {tuple(places.shape)}; both must be equal"
        )
    kind = as_data_type(x.dtype)
    if kind in FLOATS and weights.dtype != (expected := arithmetic_of(kind).dtype):  # kernels refuse other types of x
        raise TypeError(f"weights has dtype {weights.dtype}; for x of {x.dtype} it must be {expected}")
    return {"axis": along}


class _Variant(NamedTuple):
    """What the structure of a launch depends on: types, the number of addends, and which part of the sum it is."""

    kind: DataType
    places: DataType
    addends: int
    begins: bool
    ends: bool


def _structure(variant: _Variant) -> Structure:
    """Return the structure of a sum: its sources are x, the sum of earlier addends, places, and weights."""
    kind, number, wide = variant.kind, variant.addends, arithmetic_of(variant.kind)
    first = 1 + (not variant.begins)
    sources = (kind, *(wide,) * (first - 1), *(variant.places,) * number, *(wide,) * number)
    steps = list[Step]()

    def add(op: UnaryOp | BinaryOp | ChoiceOp, *operands: int, to: DataType = wide) -> int:
        steps.append(Step(op, operands, to))
        return len(sources) + len(steps) - 1

    total = None if variant.begins else 1
    for addend in range(number):
        element = add(ChoiceOp.kRow, 0, first + addend, to=kind)
        element = element if wide is kind else add(UnaryOp.kCast, element)
        product = add(BinaryOp.kMul, element, first + number + addend)
        total = product if total is None else add(BinaryOp.kAdd, total, product)
    assert total is not None
    if variant.ends and wide is not kind:
        total = add(UnaryOp.kCast, total, to=kind)
    return Structure(sources, (), tuple(steps), (total,))


class _OneAddend(SubjectValue):
    """The structure of sums of one addend: a device that supports it supports more, too."""

    def of(self, subject: Subject) -> Structure:
        types = subject.data_types
        return _structure(_Variant(types["x"], types["places"], 1, begins=True, ends=True))

    def __str__(self) -> str:
        return 'product(data_type("x"), data_type("places"))'


_FILL = primitive_exists(FillFactory, data_type("out"))


@launching(
    "resample",
    *(MOVES, _FILL),
    when=data_type("x").one_of(*FLOATS) & views_exist() & primitive_exists(ExpressionFactory, _OneAddend()),
)
def resample_kernel(calls: Calls, moves: WindowMoves, fill: Any) -> Plan:
    """Return launches of Expression, which chooses the elements, and adds up some at a time."""
    (x, (addends, count), _), (result,), axis = (
        calls.shapes,
        _shape(calls.shapes, calls.attributes),
        calls.attributes["axis"],
    )
    if 0 in result:
        return Plan()
    if addends * x[axis] == 0:
        return Plan(Launch(fill, RESULT, 0, math.prod(result)))
    (outer, size, inner), types = around(x, axis), calls.subject.data_types
    of_x, written = (outer, size, inner)[: 2 + (inner > 1)], (outer, count, inner)[: 2 + (inner > 1)]
    # the axes of views: of x, with the one that is chosen along in front, and of a row of places or weights
    chosen, row = (1, 0, None, 2)[: 1 + len(of_x)], (None, 0, None)[: len(of_x)]
    elements, steps, earlier = View(View(Placeholder(0), of_x), axes=chosen), list[Any](), list[Value]()
    for begin in range(0, addends, _MOST_ADDENDS):
        run = range(begin, min(begin + _MOST_ADDENDS, addends))
        ends = run.stop == addends
        rows = [View(Placeholder(table), places=(number, slice(None)), axes=row) for table in (1, 2) for number in run]
        structure = _structure(_Variant(types["x"], types["places"], len(run), begin == 0, ends))
        # a new Expression, which launches faster since all of its launches have the same shapes
        add = RequirePrimitive(ExpressionFactory, calls.subject.device_type, structure)
        target = View(RESULT, written) if ends else Temporary(written, arithmetic_of(types["x"]).dtype)
        steps.append(Launch(add, [target], [elements, *earlier, *rows]))
        earlier = [target]
    return Plan(*steps, copy=moves.copy(math.prod(result)))
