"""cast: an array converted to another data type."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ep.common.primitive.broadcast import Dims
from ep.include.arrays import RESULT, Placeholder
from ep.include.data_type import DataType, DTypeLike, as_data_type
from ep.include.number_kind import BOOL, COMPLEXES, FLOATS
from ep.include.primitive.cast import CastFactory
from ep.include.primitive.unary_op import UnaryOp
from ep.ops.declare.function import Tensor, operator
from ep.ops.declare.gradient import Backward, Gradients
from ep.ops.declare.operator import Attributes
from ep.ops.declare.type_rules import Given
from ep.ops.kernels import Calls, Launch, Plan, data_type, launching, primitive_exists
from ep.ops.sbp_signatures import PMAX, PMIN, P, signature
from ep.ops.terms import in_type
from ep.sbp import Problem, SbpSignature, Split


def _shape(shapes: Sequence[Dims], attributes: Attributes) -> Sequence[Dims]:
    return shapes


def _signatures(problem: Problem) -> Iterator[SbpSignature]:
    (shape,), (source,), target = problem.shapes, problem.types, problem.out_type
    for axis in range(len(shape)):
        yield signature(Split(axis), Split(axis))
    if _keeps_sums(source, target):
        yield signature(P, P)
    if _keeps_order(source, target):
        yield signature(PMAX, PMAX)
        yield signature(PMIN, PMIN)
    if source.dtype.kind == "u" and target in BOOL:
        yield signature(P, PMAX)


def _keeps_sums(source: DataType, target: DataType) -> bool:
    """Whether a sum may be cast term by term, up to rounding: not if fractions are cut off, nor to or from bool."""
    if source in BOOL or target in BOOL:
        return False
    return source not in FLOATS or target in FLOATS + COMPLEXES


def _keeps_order(source: DataType, target: DataType) -> bool:
    """Whether a larger number never becomes a smaller one: not if integers wrap, nor from signed types to bool."""
    if source in COMPLEXES or target in COMPLEXES:
        return False
    if target in BOOL:
        return source in BOOL or source.dtype.kind == "u"
    if source in BOOL or source in FLOATS or target in FLOATS:
        return True
    return np.can_cast(source.dtype, target.dtype, "safe")


def _gradient(back: Backward) -> Gradients:
    return [in_type(back.dy, back.inputs[0].dtype)]


@operator(
    shape=_shape,
    dtype=Given("dtype"),
    aliases=["astype"],
    signatures=_signatures,
    gradient=_gradient,
    joins=UnaryOp.kCast,
    standard={
        "astype": "always a copy; floating-point numbers out of an integer type's range become the nearest one, NaN 0"
    },
)
def cast(x: Tensor, dtype: DTypeLike) -> Attributes:
    """Return `x` in another data type, as `numpy.astype`.

    x: array of any shape and type.
    dtype: a DataType, a NumPy dtype or a sized name, such as "float16" or "bfloat16".
    out: where to put the result, an array of its shape and dtype.

    The result is always a new array, even if x has that type already. Floating-point numbers are converted to integers
    toward zero; numbers out of range become the largest or smallest integer, and NaN becomes 0. Integers wrap. Raises
    TypeError for a complex array and a real type: use `real(x)` or `imag(x)`.
    """
    data_type = as_data_type(dtype)
    if as_data_type(x.dtype) in COMPLEXES and data_type not in COMPLEXES:
        raise TypeError(f"dtype is {data_type.dtype}, and x has dtype {x.dtype}; take real(x) or imag(x) first")
    return {"dtype": data_type}


_CAST = primitive_exists(CastFactory, data_type("x"), data_type("out"))


@launching("cast", _CAST, src="x", dst="out")
def cast_kernel(calls: Calls, cast: Any) -> Plan:
    """Return one launch of Cast."""
    return Plan(Launch(cast, Placeholder(0), RESULT, math.prod(calls.shapes[0])))
