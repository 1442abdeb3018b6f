"""repeat and tile: copies of an array side by side."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ep.common.primitive.broadcast import Dims
from ep.include.arrays import RESULT, Placeholder
from ep.ops.declare.function import FUNCTIONS, Tensor, function_of, operator
from ep.ops.declare.gradient import Backward, Gradients
from ep.ops.declare.operator import Attributes, operator_named
from ep.ops.declare.type_rules import SameAs
from ep.ops.expand import EXPAND
from ep.ops.kernels import Calls, Launch, Plan, launching
from ep.ops.sbp_signatures import B, moved_signatures, signature
from ep.ops.shapes import as_sizes, launch_dims
from ep.sbp import Problem, SbpSignature, Split, piece_shape


def _shape(shapes: Sequence[Dims], attributes: Attributes) -> list[Dims]:
    return [repeat_dims(shapes[0], attributes["sizes"])[-1]]


def _signatures(problem: Problem) -> Iterator[SbpSignature]:
    (shape,), sizes = problem.shapes, problem.attributes["sizes"]
    num_new = len(sizes) - len(shape)
    yield from moved_signatures(
        problem, {axis: axis + num_new for axis in range(len(shape)) if sizes[axis + num_new] <= 1}
    )
    for axis, times in enumerate(sizes):
        size = 1 if axis < num_new else shape[axis - num_new]
        if size == 1 or times % problem.ranks == 0:  # each rank makes whole copies
            yield signature(B, Split(axis))


def _local(problem: Problem, signature: SbpSignature, rank: int) -> Attributes:
    """Return the number of copies of x in the rank's piece of the result."""
    sizes, (source,), (target,) = problem.attributes["sizes"], signature.inputs, signature.outputs
    if isinstance(source, Split) or not isinstance(target, Split):
        return problem.attributes
    return {"sizes": piece_shape(sizes, target, problem.ranks, rank)}


def _gradient(back: Backward) -> Gradients:
    return [FUNCTIONS["repeat_grad"](back.dy, back.inputs[0].shape, back.attributes["sizes"])]


@operator(
    shape=_shape,
    dtype=SameAs("x"),
    signatures=_signatures,
    local=_local,
    gradient=_gradient,
    standard={"tile": "at most 8 axes, counted as `ep.ops.repeat` says"},
)
def repeat(x: Tensor, *sizes: Any) -> Attributes:
    """Return `sizes` copies of `x` side by side along each axis, as `numpy.tile`; `numpy.repeat` is another function.

    x: array with at most one axis for each of `sizes`; its axes match the last ones.
    sizes: integers >= 0, or one sequence of them.
    out: where to put the result, an array of its shape and dtype.

    The result has the dtype of x and, along each axis, its size times the number of copies; a missing axis of x has
    size 1. Raises ValueError for sizes that do not fit, and if more than 8 axes are needed even after neighbours are
    merged: an axis with several copies counts as two.
    """
    times = as_sizes(sizes)
    repeat_dims(x.shape, times)
    return {"sizes": times}


@function_of(operator_named("repeat"))
def tile(x: Tensor, repetitions: Any) -> Attributes:
    """Return `repetitions` copies of `x` side by side along each axis, as `numpy.tile`.

    repetitions: an integer >= 0, or a sequence of them. If x has more axes, they are for the last ones; `repeat` raises
        an error for that, and is otherwise the same function.
    """
    sizes = as_sizes((repetitions,), "repetitions")
    return {"sizes": (1,) * (len(x.shape) - len(sizes)) + sizes}


def repeat_dims(shape: Dims, sizes: Dims) -> tuple[Dims, Dims, Dims]:
    """Return the dims between which a repetition is an expansion, and the shape of its result.

    An axis of size d that is repeated r times is `(1, d)` expanded to `(r, d)`, seen as one axis of size r d: `(3, 1,
    5)` repeated `(5, 3, 1)` is `(1, 3, 1, 5)` expanded to `(5, 3, 3, 5)`, seen as `(15, 3, 5)`. An axis of size 1, or
    one that is not repeated, needs no second axis.
    """
    num_new = len(sizes) - len(shape)
    if num_new < 0:
        raise ValueError(f"sizes {sizes} has fewer axes than x, whose shape is {shape}")
    src_dims: list[int] = []
    dst_dims: list[int] = []
    result: list[int] = []
    for size, times in zip((1,) * num_new + shape, sizes, strict=True):
        if size != 1 and times != 1:
            src_dims.append(1)
            dst_dims.append(times)
        src_dims.append(size)
        dst_dims.append(times if size == 1 else size)
        result.append(size * times)
    return tuple(src_dims), tuple(dst_dims), tuple(result)


@launching("repeat", EXPAND, src="x", dst="out")
def repeat_kernel(calls: Calls, expand: Any) -> Plan:
    """Return one launch of Expand, between arrays of other dims."""
    src_dims, dst_dims, _ = repeat_dims(calls.shapes[0], calls.attributes["sizes"])
    src_dims, dst_dims = launch_dims("repeat", src_dims, dst_dims)
    return Plan(Launch(expand, src_dims, Placeholder(0), dst_dims, RESULT))
