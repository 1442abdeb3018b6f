"""concat and stack: several arrays joined to one."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from ep.common.primitive.broadcast import Dims
from ep.include.arrays import RESULT
from ep.ops.declare.function import FUNCTIONS, Tensors, operator
from ep.ops.declare.gradient import Backward, Gradients
from ep.ops.declare.operator import Attributes
from ep.ops.declare.type_rules import SameAs
from ep.ops.kernels import Calls, Plan, launching
from ep.ops.regions import COPY_ND, columns
from ep.ops.sbp_signatures import moved_signatures
from ep.ops.shapes import from_front
from ep.ops.terms import viewed
from ep.run.steps import operands
from ep.sbp import Problem, SbpSignature


def _concat_shape(shapes: Sequence[Dims], attributes: Attributes) -> list[Dims]:
    axis, first = attributes["axis"], shapes[0]
    if axis is None:
        return [(sum(map(math.prod, shapes)),)]
    return [(*first[:axis], sum([shape[axis] for shape in shapes]), *first[axis + 1 :])]


def _stack_shape(shapes: Sequence[Dims], attributes: Attributes) -> list[Dims]:
    axis, first = attributes["axis"], shapes[0]
    return [(*first[:axis], len(shapes), *first[axis:])]


def _concat_signatures(problem: Problem) -> Iterable[SbpSignature]:
    axes = {axis: axis for axis in range(len(problem.shapes[0])) if axis != problem.attributes["axis"]}
    return moved_signatures(problem, {} if problem.attributes["axis"] is None else axes)


def _stack_signatures(problem: Problem) -> Iterable[SbpSignature]:
    new = problem.attributes["axis"]
    return moved_signatures(problem, {axis: axis + (axis >= new) for axis in range(len(problem.shapes[0]))})


def _concat_gradient(back: Backward) -> Gradients:
    axis = back.attributes["axis"]
    sizes = [one.size if axis is None else one.shape[axis] for one in back.inputs]
    parts = FUNCTIONS["split"](back.dy, np.cumsum(sizes)[:-1].tolist(), axis or 0)
    return [viewed(part, one.shape) for part, one in zip(parts, back.inputs, strict=True)]


def _stack_gradient(back: Backward) -> Gradients:
    parts = FUNCTIONS["split"](back.dy, len(back.inputs), back.attributes["axis"])
    return [viewed(part, one.shape) for part, one in zip(parts, back.inputs, strict=True)]


@operator(
    shape=_concat_shape,
    dtype=SameAs("arrays"),
    signatures=_concat_signatures,
    gradient=_concat_gradient,
    takes_out=False,
)
def concat(arrays: Tensors, axis: int | None = 0) -> Attributes:
    """Return arrays joined along an axis, as `numpy.concat`.

    arrays: one or more, of one dtype and of the same shape but for the axis.
    axis: negative: counted from the last; None: the arrays are flattened, and may have any shapes.

    Raises TypeError if the dtypes differ, ValueError if the shapes do.
    """
    if axis is None:
        return {"axis": None}
    shapes = [array.shape for array in arrays]
    first = shapes[0]
    along = from_front(axis, "axis", len(first), len(first))
    for shape in dict.fromkeys(shapes):
        if len(shape) != len(first) or _without(shape, along) != _without(first, along):
            raise ValueError(
                f"arrays[{shapes.index(shape)}] has shape {shape}, arrays[0] has {first}; "
                f"they may differ at axis {along} alone"
            )
    return {"axis": along}


@operator(
    shape=_stack_shape,
    dtype=SameAs("arrays"),
    signatures=_stack_signatures,
    gradient=_stack_gradient,
    takes_out=False,
)
def stack(arrays: Tensors, axis: int = 0) -> Attributes:
    """Return arrays joined along a new axis, as `numpy.stack`.

    arrays: one or more, of one dtype and one shape.
    axis: the position of the new axis in the result; negative: counted from the last one there.

    Raises TypeError if the dtypes differ, ValueError if the shapes do.
    """
    shapes = [array.shape for array in arrays]
    first = shapes[0]
    for shape in dict.fromkeys(shapes):
        if shape != first:
            raise ValueError(
                f"arrays[{shapes.index(shape)}] has shape {shape}, arrays[0] has {first}; they must be equal"
            )
    return {"axis": from_front(axis, "axis", len(first) + 1, len(first) + 1)}


def _without(shape: Dims, axis: int) -> Dims:
    return shape[:axis] + shape[axis + 1 :]


@launching("concat", COPY_ND, src="x", dst="out")
@launching("stack", COPY_ND, src="x", dst="out")
def join_kernel(calls: Calls, copy_nd: Any) -> Plan:
    """Return one launch of CopyNd, which copies each array to its columns.

    Columns are those of the rows that the axes before `axis` form.
    """
    shapes, rows = calls.shapes, math.prod(calls.shapes[0][: calls.attributes["axis"] or 0])
    size = sum([math.prod(shape) for shape in shapes])  # a list comprehension is faster than a generator here
    if size == 0:
        return Plan()
    return _joining(copy_nd, calls.subject.data_types["out"].dtype, (rows, size // rows), len(shapes))


@lru_cache(maxsize=64)
def _joining(copy_nd: Any, dtype: Any, shape: tuple[int, int], count: int) -> Plan:
    """Return the plan that makes an array of parts. It is kept here for calls with so many that they have no key."""
    return Plan(columns(copy_nd, dtype, shape, 0, RESULT, operands(count), to_parts=False))
