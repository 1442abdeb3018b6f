"""one_hot: indices of classes as rows in which one element has another value."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ep.common.checks import as_count
from ep.common.primitive.broadcast import Dims
from ep.common.scalar import check_scalar
from ep.include.arrays import RESULT, Placeholder
from ep.include.data_type import DTypeLike, as_data_type
from ep.include.primitive.one_hot import OneHotFactory
from ep.ops.declare.function import Indices, operator
from ep.ops.declare.operator import Attributes
from ep.ops.declare.type_rules import Given
from ep.ops.kernels import Calls, Launch, Plan, data_type, launching, primitive_exists
from ep.ops.sbp_signatures import B, signature
from ep.sbp import Problem, SbpSignature, Split, span


def _shape(shapes: Sequence[Dims], attributes: Attributes) -> list[Dims]:
    return [(*shapes[0], attributes["upper_bound"] - attributes["lower_bound"])]


def _signatures(problem: Problem) -> Iterator[SbpSignature]:
    num_dims = len(problem.shapes[0])
    for axis in range(num_dims):
        yield signature(Split(axis), Split(axis))
    yield signature(B, Split(num_dims))


def _local(problem: Problem, signature: SbpSignature, rank: int) -> Attributes:
    """Return the attributes of the classes that the rank has."""
    given = problem.attributes
    if signature.outputs != (Split(len(problem.shapes[0])),):
        return given
    first = given["lower_bound"]
    begin, end = span(given["upper_bound"] - first, problem.ranks, rank)
    return {**given, "lower_bound": first + begin, "upper_bound": first + end}


@operator(shape=_shape, dtype=Given("dtype"), signatures=_signatures, local=_local)
def one_hot(
    indices: Indices,
    num_classes: int,
    on_value: complex = 1,
    off_value: complex = 0,
    dtype: DTypeLike | None = None,
) -> Attributes:
    """Return a row for each index: `on_value` at the place of the index, and `off_value` elsewhere.

    indices: array of integers of any shape.
    num_classes: the number of elements of a row.
    on_value, off_value: numbers that the dtype of the result holds.
    dtype: that of the result; by default, the dtype that NumPy gives the two numbers (int64, float64, ...).
    out: where to put the result, an array of its shape and dtype.

    The result has the shape `(*indices.shape, num_classes)`. An index outside `0 ... num_classes - 1` gives a row of
    `off_value`, as in TensorFlow; PyTorch raises an error. Raises TypeError for indices that are not integers.
    """
    depth = as_count(num_classes, "num_classes")
    for value, name in ((on_value, "on_value"), (off_value, "off_value")):
        check_scalar(value, name)
    data_type = as_data_type(np.array([on_value, off_value]).dtype if dtype is None else dtype)
    values = {"on_value": on_value, "off_value": off_value, "dtype": data_type}
    return {"lower_bound": 0, "upper_bound": depth, **values}


_ONE_HOT = primitive_exists(OneHotFactory, data_type("indices"), data_type("out"))


@launching("one_hot", _ONE_HOT)
def one_hot_kernel(calls: Calls, one_hot: Any) -> Plan:
    """Return one launch of OneHot."""
    names = "on_value", "off_value", "lower_bound", "upper_bound"
    on, off, lower, upper = (calls.attributes[name] for name in names)
    return Plan(Launch(one_hot, Placeholder(0), RESULT, on, off, math.prod(calls.shapes[0]), lower, upper))
