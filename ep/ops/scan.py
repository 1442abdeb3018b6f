"""cumulative_sum and cumulative_prod: the sums or products of all elements up to each one, along an axis."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

from ep.common.checks import as_truth
from ep.common.primitive.broadcast import Dims
from ep.include.arrays import RESULT, Placeholder
from ep.include.data_type import DataType, DTypeLike
from ep.include.number_kind import COMPLEXES, FLOATS
from ep.include.primitive.constant_pad import ConstantPadFactory
from ep.include.primitive.scan import ScanFactory
from ep.include.primitive.scan_op import ScanOp
from ep.ops.declare.function import FUNCTIONS, Tensor, operator
from ep.ops.declare.gradient import Backward, Gradients
from ep.ops.declare.operator import Attributes
from ep.ops.declare.type_rules import Given
from ep.ops.kernels import Calls, Launch, Plan, Temporary, Value, attribute, data_type, launching, primitive_exists
from ep.ops.reduce import type_of_sums
from ep.ops.reduce_kernel import CAST
from ep.ops.sbp_signatures import P, signature, signatures_beside
from ep.ops.shapes import around, axis_of
from ep.ops.terms import conjugated, in_type, wide
from ep.sbp import Problem, SbpSignature


def _shape(shapes: Sequence[Dims], attributes: Attributes) -> list[Dims]:
    (shape,), axis = shapes, attributes["axis"]
    return [(*shape[:axis], shape[axis] + attributes["include_initial"], *shape[axis + 1 :])]


def _signatures_of_sums(problem: Problem) -> Iterator[SbpSignature]:
    yield from signatures_beside(problem)
    (source,), inexact = problem.types, FLOATS + COMPLEXES
    if source is not DataType.kBool and (source in inexact or problem.out_type not in inexact):
        yield signature(P, P)


def _resolved(x: Tensor, axis: Any, dtype: Any, include_initial: Any, reverse: Any) -> Attributes:
    if axis is None and (num_dims := len(x.shape)) > 1:
        raise ValueError(f"axis is None; x of shape {tuple(x.shape)} has {num_dims} axes, so one must be given")
    place = axis_of(x, "x", 0 if axis is None else axis)
    data_type = type_of_sums(x, dtype)
    if data_type is DataType.kBool:
        raise TypeError("dtype is bool; sums and products are of a type of numbers")
    return {
        "axis": place,
        "dtype": data_type,
        "include_initial": as_truth(include_initial, "include_initial"),
        "reverse": as_truth(reverse, "reverse"),
    }


def _gradient_of_sums(back: Backward) -> Gradients:
    """Return the sums of dy from each element on: these results contain it."""
    (x,), axis, reverse = back.inputs, back.attributes["axis"], back.attributes["reverse"]
    total = FUNCTIONS["cumulative_sum"](_without_initial(back), axis, reverse=not reverse)
    return [in_type(total, x.dtype)]


def _gradient_of_products(back: Backward) -> Gradients:
    """Return the product of the elements before each one, times a sum over the results that contain it.

    The sum of element n is dy[n] + x[n + 1] times that of element n + 1. It is computed for 2, then 4, then 8 elements,
    with the products of as many. There is no division, which would fail with a zero.
    """
    (x,), axis, reverse = back.inputs, back.attributes["axis"], back.attributes["reverse"]
    elements, total = conjugated(wide(in_type(x, back.dy.dtype))), wide(_without_initial(back))

    def moved(of: Any, by: int, value: int) -> Any:
        """Return what is `by` elements later; earlier for a negative number."""
        by = -by if reverse else by
        return FUNCTIONS["pad"](
            of, [(-by, by) if at == axis else (0, 0) for at in range(len(x.shape))], constant_values=value
        )

    factors, by = moved(elements, 1, 0), 1
    before = FUNCTIONS["cumulative_prod"](moved(elements, -1, 1), axis, reverse=reverse) if x.size else elements
    while by < x.shape[axis]:
        total = FUNCTIONS["add"](total, FUNCTIONS["mul"](factors, moved(total, by, 0)))
        factors, by = FUNCTIONS["mul"](factors, moved(factors, by, 0)), 2 * by
    return [in_type(FUNCTIONS["mul"](before, total), x.dtype)]


def _without_initial(back: Backward) -> Any:
    """Return the gradient by all results but the initial 0 or 1."""
    if not back.attributes["include_initial"]:
        return back.dy
    axis, ends = back.attributes["axis"], (0, -1) if back.attributes["reverse"] else (-1, 0)
    return FUNCTIONS["pad"](back.dy, [ends if at == axis else (0, 0) for at in range(len(back.dy.shape))])


@operator(shape=_shape, dtype=Given("dtype"), signatures=_signatures_of_sums, gradient=_gradient_of_sums)
def cumulative_sum(
    x: Tensor,
    axis: int | None = None,
    dtype: DTypeLike | None = None,
    include_initial: bool = False,
    *,
    reverse: bool = False,
) -> Attributes:
    """Return the sums of all elements up to each one along an axis, as `numpy.cumulative_sum`.

    x: array of any type.
    axis: it may be omitted if x has one axis; negative ones are counted from the last.
    dtype: that of the result, to which elements are converted first; by default, that of x, but int64 for bool and
        smaller integers, and uint64 for smaller unsigned ones.
    include_initial: whether the result begins with 0, and has one element more along the axis.
    reverse: whether each sum is of the elements from there to the last one; 0 is then the last element.
    out: where to put the result, an array of its shape and dtype.

    The order of additions depends on the shape alone. Floating types up to 32 bits are accumulated in float64. Sums of
    adjacent numbers are added, so of float64 near the largest number one may overflow although the result would not.
    """
    return _resolved(x, axis, dtype, include_initial, reverse)


@operator(shape=_shape, dtype=Given("dtype"), signatures=signatures_beside, gradient=_gradient_of_products)
def cumulative_prod(
    x: Tensor,
    axis: int | None = None,
    dtype: DTypeLike | None = None,
    include_initial: bool = False,
    *,
    reverse: bool = False,
) -> Attributes:
    """Return the products of all elements up to each one along an axis, as `numpy.cumulative_prod`.

    x, axis, dtype, reverse, out: as of `cumulative_sum`.
    include_initial: whether the result begins with 1, and has one element more along the axis.
    """
    return _resolved(x, axis, dtype, include_initial, reverse)


_PAD = primitive_exists(ConstantPadFactory, data_type("out"))


def _scan_kernel(initial: int, calls: Calls, scan: Any, cast: Any, pad: Any) -> Plan:
    """Return one launch of Scan, after a Cast to another type, and a ConstantPad for the initial 0 or 1."""
    (shape,), attributes, types = calls.shapes, calls.attributes, calls.subject.data_types
    axis, more, dtype = attributes["axis"], int(attributes["include_initial"]), types["out"].dtype
    (outer, size, inner), is_last = around(shape, axis), attributes["reverse"]
    before, after = (0, 0 if is_last else more, 0), (0, more if is_last else 0, 0)
    x: Value = Placeholder(0)
    steps = []
    if cast is not None:
        given, x = x, Temporary(shape, dtype)
        steps.append(Launch(cast, given, x, math.prod(shape)))
    if more:
        steps.append(Launch(pad, (outer, size, inner), x, before, after, initial, RESULT))
        x = RESULT
    return Plan(*steps, Launch(scan, outer, size + more, inner, x, RESULT))


def _register(name: str, op: ScanOp, initial: int, reverse: bool) -> None:
    needs = primitive_exists(ScanFactory, op, data_type("out")), CAST, _PAD
    kernel, when = f"{op.name.removeprefix('k')}Kernel", attribute("reverse") == reverse
    launching(name, *needs, when=when, name=kernel, src="x", dst="out")(partial(_scan_kernel, initial))


_register("cumulative_sum", ScanOp.kSum, 0, False)
_register("cumulative_sum", ScanOp.kSumToEnd, 0, True)
_register("cumulative_prod", ScanOp.kProd, 1, False)
_register("cumulative_prod", ScanOp.kProdToEnd, 1, True)
