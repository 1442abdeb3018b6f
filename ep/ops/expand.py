"""expand: an array repeated along axes of size 1 and along new axes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ep.common.checks import as_integer, as_size
from ep.common.primitive.broadcast import Dims
from ep.include.arrays import RESULT, Placeholder
from ep.include.primitive.expand import ExpandFactory
from ep.include.primitive.primitive import kMaxNumDims
from ep.ops.declare.function import FUNCTIONS, Tensor, operator
from ep.ops.declare.gradient import Backward, Gradients
from ep.ops.declare.operator import Attributes
from ep.ops.declare.type_rules import SameAs
from ep.ops.kernels import Calls, Launch, Plan, data_type, launching, primitive_exists
from ep.ops.sbp_signatures import B, moved_signatures, signature
from ep.ops.shapes import as_sizes, launch_dims
from ep.sbp import Problem, SbpSignature, Split, piece_shape


def _shape(shapes: Sequence[Dims], attributes: Attributes) -> list[Dims]:
    return [attributes["sizes"]]


def _signatures(problem: Problem) -> Iterator[SbpSignature]:
    (shape,), sizes = problem.shapes, problem.attributes["sizes"]
    num_new = len(sizes) - len(shape)
    kept = {axis: axis + num_new for axis in range(len(shape)) if shape[axis] == sizes[axis + num_new]}
    yield from moved_signatures(problem, kept)
    for axis in range(len(sizes)):
        if axis < num_new or shape[axis - num_new] == 1:
            yield signature(B, Split(axis))


def _local(problem: Problem, signature: SbpSignature, rank: int) -> Attributes:
    """Return the sizes of the rank's piece of the result."""
    sizes, (source,), (target,) = problem.attributes["sizes"], signature.inputs, signature.outputs
    if isinstance(source, Split) and not isinstance(target, Split):
        target = Split(source.axis + len(sizes) - len(problem.shapes[0]))
    return {"sizes": piece_shape(sizes, target, problem.ranks, rank)}


def _gradient(back: Backward) -> Gradients:
    return [FUNCTIONS["expand_grad"](back.dy, back.inputs[0].shape)]


@operator(
    shape=_shape,
    dtype=SameAs("x"),
    signatures=_signatures,
    local=_local,
    gradient=_gradient,
)
def expand(x: Tensor, *sizes: Any) -> Attributes:
    """Return `x` repeated to `sizes`.

    x: array with at most one axis for each of `sizes`; its axes match the last ones.
    sizes: integers, or one sequence of them. An axis of size 1 may become any size >= 0, any other keeps its size; -1
        keeps it as well. New axes come first and cannot be -1.
    out: where to put the result, an array of its shape and dtype.

    The result has the shape `sizes` and the dtype of x; it is a copy, not a view. Raises ValueError for sizes that do
    not fit.
    """
    return {"sizes": expanded_shape(x.shape, as_sizes(sizes, check=_size))}


def _size(value: Any, argument: str) -> int:
    """Return one of the sizes; -1 keeps the size of x."""
    size = as_integer(value, argument)
    return size if size < 0 else as_size(size, argument)


def expanded_shape(shape: Dims, sizes: Dims, argument: str = "sizes") -> Dims:
    """Return the shape of an array of `shape` that is expanded to `sizes`; ValueError if it cannot be expanded.

    argument: the name of `sizes` in errors.
    """
    num_new = len(sizes) - len(shape)
    if num_new < 0:
        raise ValueError(f"{argument} {sizes} has fewer axes than x, whose shape is {shape}")
    result = []
    for axis, size in enumerate(sizes):
        old = shape[axis - num_new] if axis >= num_new else None
        if size < 0 and (size != -1 or old is None):
            which = "new" if old is None else "kept"
            raise ValueError(
                f"{argument}[{axis}] is {size}; a {which} axis takes {'' if old is None else '-1 or '}a size >= 0"
            )
        if size != -1 and old not in (None, 1, size):
            raise ValueError(
                f"{argument}[{axis}] is {size}, but x of shape {shape} has {old} there; only 1 can be expanded"
            )
        result.append(old if size == -1 and old is not None else size)
    return tuple(result)


EXPAND = primitive_exists(ExpandFactory, data_type("x"), kMaxNumDims)


@launching("expand", EXPAND, src="x", dst="out")
def expand_kernel(calls: Calls, expand: Any) -> Plan:
    """Return one launch of Expand, from the dims of x to those of the result."""
    src_dims, dst_dims = launch_dims("expand", calls.shapes[0], calls.attributes["sizes"])
    return Plan(Launch(expand, src_dims, Placeholder(0), dst_dims, RESULT))
