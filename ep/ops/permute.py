"""permute and transpose: an array with its axes in another order."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from ep.common.checks import are_several
from ep.common.primitive.broadcast import Dims
from ep.include.arrays import RESULT, Placeholder
from ep.include.primitive.permute import PermuteFactory
from ep.include.primitive.primitive import kMaxNumDims
from ep.include.shown import shown
from ep.ops.declare.function import FUNCTIONS, Tensor, function_of, operator
from ep.ops.declare.gradient import Backward, Gradients
from ep.ops.declare.operator import Attributes, operator_named
from ep.ops.declare.type_rules import SameAs
from ep.ops.kernels import Calls, Launch, Plan, launching, primitive_exists
from ep.ops.sbp_signatures import moved_signatures
from ep.ops.shapes import from_front
from ep.sbp import Problem, SbpSignature


def _shape(shapes: Sequence[Dims], attributes: Attributes) -> list[Dims]:
    return [tuple(shapes[0][axis] for axis in attributes["axes"])]


def _signatures(problem: Problem) -> Iterable[SbpSignature]:
    return moved_signatures(problem, {source: target for target, source in enumerate(problem.attributes["axes"])})


def _gradient(back: Backward) -> Gradients:
    axes = back.attributes["axes"]
    return [FUNCTIONS["permute"](back.dy, [axes.index(axis) for axis in range(len(axes))])]


@operator(shape=_shape, dtype=SameAs("x"), aliases=["permute_dims"], signatures=_signatures, gradient=_gradient)
def permute(x: Tensor, axes: Iterable[int]) -> Attributes:
    """Return `x` with its axes in the order `axes`, as `numpy.permute_dims`: axis i of the result is axis axes[i] of x.

    x: array of any type.
    axes: each axis of x once; negative ones are counted from the last.
    out: where to put the result, an array of its shape and dtype.

    The result has the dtype of x, and is a copy, not a view. Raises ValueError for axes that are not those of x, and if
    there are more than 8 once neighbours that stay together are merged.
    """
    return {"axes": _order(axes, len(x.shape))}


@function_of(operator_named("permute"))
def transpose(x: Tensor, axes: Iterable[int] | None = None) -> Attributes:
    """Return `x` with its axes in another order, as `numpy.transpose`: as `permute`, or reversed without `axes`.

    PyTorch's `transpose` has two axes as arguments, and exchanges them.
    """
    num_dims = len(x.shape)
    return {"axes": tuple(reversed(range(num_dims))) if axes is None else _order(axes, num_dims)}


def _order(axes: Any, num_dims: int) -> tuple[int, ...]:
    """Return axes, counted from the front."""
    if not are_several(axes):
        raise TypeError(f"axes must be a sequence of integers, not {shown(axes)}")
    order = tuple(from_front(axis, f"axes[{place}]", num_dims, num_dims) for place, axis in enumerate(axes))
    if sorted(order) != list(range(num_dims)):
        raise ValueError(f"axes are {order}; each of the {num_dims} axes of x must be there once")
    return order


def _merged(shape: Dims, order: tuple[int, ...]) -> tuple[Dims, tuple[int, ...]]:
    """Return dims and order without axes of size 1, and with axes that are consecutive in both merged."""
    groups: list[list[int]] = []
    last = None
    kept = [axis for axis in range(len(shape)) if shape[axis] != 1]
    for axis in order:
        if shape[axis] == 1:
            continue
        if last is not None and kept.index(axis) == kept.index(last) + 1:
            groups[-1].append(axis)
        else:
            groups.append([axis])
        last = axis
    in_src = sorted(groups)
    dims = []
    for group in in_src:
        size = 1
        for axis in group:
            size *= shape[axis]
        dims.append(size)
    return tuple(dims), tuple(in_src.index(group) for group in groups)


_PERMUTE = primitive_exists(PermuteFactory, kMaxNumDims)


@launching("permute", _PERMUTE, src="x", dst="out")
def permute_kernel(calls: Calls, permute: Any) -> Plan:
    """Return one launch of Permute, on merged axes if there are more than 8."""
    (shape,), order = calls.shapes, calls.attributes["axes"]
    dims, merged = (shape, order) if len(order) <= kMaxNumDims else _merged(shape, order)
    if len(dims) > kMaxNumDims:
        raise ValueError(
            f"x of shape {shape} by axes {order} needs {len(dims)} axes where neighbours that stay together are one; "
            f"at most {kMaxNumDims} are possible"
        )
    return Plan(Launch(permute, calls.subject.data_types["x"].dtype, dims, Placeholder(0), merged, RESULT))
