"""argmax, argmin, argsort and argtopk: places of elements in an order; sort and topk: the elements themselves."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

from ep.common.checks import as_count, as_truth
from ep.common.primitive.broadcast import Dims
from ep.include.arrays import RESULT, Array, ArrayLike, Placeholder
from ep.include.data_type import DataType
from ep.include.number_kind import REAL
from ep.include.primitive.arg_sort import ArgSortFactory
from ep.include.primitive.sort_order import SortOrder
from ep.ops.composition import composition
from ep.ops.declare.function import FUNCTIONS, Tensor, operator
from ep.ops.declare.operator import Attributes
from ep.ops.declare.type_rules import Always
from ep.ops.kernels import Calls, Launch, Plan, Predicate, attribute, data_type, launching, primitive_exists
from ep.ops.sbp_signatures import signature
from ep.ops.shapes import around, axis_of, from_front
from ep.sbp import Problem, SbpSignature, Split

_PLACES = Always(DataType.kInt64)


def _shape_of_extreme(shapes: Sequence[Dims], attributes: Attributes) -> list[Dims]:
    (shape,), axis, kept = shapes, attributes["axis"], attributes["keepdims"]
    if axis is None:
        return [(1,) * len(shape) if kept else ()]
    return [(*shape[:axis], *(1,) * kept, *shape[axis + 1 :])]


def _shape_of_places(shapes: Sequence[Dims], attributes: Attributes) -> list[Dims]:
    (shape,), axis = shapes, attributes["axis"]
    return [(*shape[:axis], attributes.get("k", shape[axis]), *shape[axis + 1 :])]


def _signatures(problem: Problem) -> Iterator[SbpSignature]:
    along, kept = problem.attributes["axis"], problem.attributes.get("keepdims", True)
    for axis in range(len(problem.shapes[0]) if along is not None else 0):
        if axis != along:
            yield signature(Split(axis), Split(axis - (axis > along and not kept)))


def _extreme(x: Tensor, axis: Any, keepdims: Any) -> Attributes:
    num_dims, shape = len(x.shape), tuple(x.shape)
    if axis is not None:
        axis = from_front(axis, "axis", num_dims, num_dims)
    attributes = {"axis": axis, "keepdims": as_truth(keepdims, "keepdims")}
    if 0 in (shape if axis is None else (shape[axis],)) and 0 not in _shape_of_extreme([shape], attributes)[0]:
        raise ValueError(f"x of shape {shape} has no elements{'' if axis is None else f' along axis {axis}'}")
    return attributes


@operator(shape=_shape_of_extreme, dtype=_PLACES, signatures=_signatures)
def argmax(x: Tensor, axis: int | None = None, keepdims: bool = False) -> Attributes:
    """Return the place of the largest element along an axis, as `numpy.argmax`: of equal ones the first.

    x: array of any type but complex ones. NaN is the largest.
    axis: the axis; by default the place is that in x seen as one row. Negative ones are counted from the last.
    keepdims: whether the result keeps the axis, or all axes, with size 1.
    out: where to put the result, an array of its shape and of int64.

    Raises ValueError if there are no elements along the axis.
    """
    return _extreme(x, axis, keepdims)


@operator(shape=_shape_of_extreme, dtype=_PLACES, signatures=_signatures)
def argmin(x: Tensor, axis: int | None = None, keepdims: bool = False) -> Attributes:
    """Return the place of the least element along an axis, as `numpy.argmin`: of equal ones the first.

    x: array of any type but complex ones. NaN is the least.
    axis, keepdims, out: as of `argmax`. Raises ValueError if there are no elements along the axis.
    """
    return _extreme(x, axis, keepdims)


@operator(shape=_shape_of_places, dtype=_PLACES, signatures=_signatures)
def argsort(x: Tensor, axis: int = -1, descending: bool = False, stable: bool = True) -> Attributes:
    """Return the places of all elements along an axis in their order, as `numpy.argsort`.

    x: array of any type but complex ones. NaN is the largest; -0 and 0 are equal.
    axis: the last one by default; negative ones are counted from the last.
    descending: whether the largest element comes first.
    stable: equal elements are in the order of their places in any case, also with False.
    out: where to put the result, an array of its shape and of int64.
    """
    as_truth(stable, "stable")
    return {"axis": axis_of(x, "x", axis), "descending": as_truth(descending, "descending")}


@operator(shape=_shape_of_places, dtype=_PLACES, signatures=_signatures)
def argtopk(x: Tensor, k: int, axis: int = -1, largest: bool = True) -> Attributes:
    """Return the places of the largest elements along an axis, the largest first; of equal ones the first.

    x, axis, out: as of `argsort`.
    k: the number of places, at most as many as there are elements along the axis.
    largest: False for the least elements, the least first.
    """
    axis, count = axis_of(x, "x", axis), as_count(k, "k")
    if count > x.shape[axis]:
        raise ValueError(f"k is {count}; x of shape {tuple(x.shape)} has {x.shape[axis]} elements along axis {axis}")
    return {"k": count, "axis": axis, "largest": as_truth(largest, "largest")}


@composition(REAL)
def sort(x: ArrayLike, axis: int = -1, descending: bool = False, stable: bool = True) -> Array:
    """Return the elements along an axis in their order, as `numpy.sort`; `argsort` has the parameters."""
    return _at(x, FUNCTIONS["argsort"](x, axis, descending, stable), axis)


@composition(REAL)
def topk(x: ArrayLike, k: int, axis: int = -1, largest: bool = True, sorted: bool = True) -> tuple[Array, Array]:
    """Return the largest elements along an axis, and their places, as `torch.topk`; `argtopk` has the parameters.

    sorted: they are in order in any case, also with False.
    """
    as_truth(sorted, "sorted")
    places = FUNCTIONS["argtopk"](x, k, axis, largest)
    return _at(x, places, axis), places


def _at(x: Any, places: Any, axis: int) -> Any:
    """Return the elements at places along an axis."""
    last = len(x.shape) - 1
    if axis in (-1, last):
        return FUNCTIONS["gather"](x, places, last, last, mode="zero")
    moved = [FUNCTIONS["moveaxis"](one, axis, -1) for one in (x, places)]
    return FUNCTIONS["moveaxis"](FUNCTIONS["gather"](*moved, last, last, mode="zero"), -1, axis)


def _sort_kernel(calls: Calls, arg_sort: Any) -> Plan:
    """Return one launch of ArgSort."""
    (shape,), attributes = calls.shapes, calls.attributes
    axis = attributes["axis"]
    if axis is None:
        shape, axis = (math.prod(shape),), 0
    num_places = 1 if "keepdims" in attributes else attributes.get("k", shape[axis])
    return Plan(Launch(arg_sort, *around(shape, axis), num_places, Placeholder(0), RESULT))


def _register(name: str, order: SortOrder, when: Predicate | None = None) -> None:
    """Register the kernel of an order. when: the condition under which the operator asks for it."""
    exists, kernel = primitive_exists(ArgSortFactory, order, data_type("x")), f"{order.name.removeprefix('k')}Kernel"
    launching(name, exists, when=when, name=kernel, places="out", num_places="k")(_sort_kernel)


_register("argmax", SortOrder.kDescending)
_register("argmin", SortOrder.kAscendingNanFirst)
for _order, _largest in ((SortOrder.kAscending, False), (SortOrder.kDescending, True)):
    _register("argsort", _order, attribute("descending") == _largest)
    _register("argtopk", _order, attribute("largest") == _largest)
