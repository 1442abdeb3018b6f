"""expand_grad and repeat_grad: sums over axes that were broadcast, and over copies."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ep.common.primitive.broadcast import Dims
from ep.common.primitive.reduce_shape import ReduceShape
from ep.include.arrays import RESULT, Placeholder
from ep.include.primitive.primitive import kMaxNumDims
from ep.include.primitive.reduce import ReduceFactory
from ep.include.primitive.reduce_op import ReduceOp
from ep.ops.declare.function import Tensor, operator
from ep.ops.declare.operator import Attributes
from ep.ops.declare.type_rules import SameAs
from ep.ops.expand import expanded_shape
from ep.ops.kernels import Calls, Launch, Plan, data_type, launching, primitive_exists
from ep.ops.repeat import repeat_dims
from ep.ops.sbp_signatures import PMAX, PMIN, P, signature
from ep.ops.shapes import as_sizes
from ep.sbp import Problem, SbpSignature, Split, piece_shape


def _shape(shapes: Sequence[Dims], attributes: Attributes) -> list[Dims]:
    return [attributes["shape"]]


def _signatures(problem: Problem) -> Iterator[SbpSignature]:
    (dy,), (x,) = problem.shapes, problem.out_shapes
    num_new = len(dy) - len(x)
    for axis, size in enumerate(dy):
        kept = axis >= num_new and x[axis - num_new] == size
        yield signature(Split(axis), Split(axis - num_new) if kept else P)
    yield signature(P, P)
    if dy == x:  # nothing is summed
        yield signature(PMAX, PMAX)
        yield signature(PMIN, PMIN)


def _local(problem: Problem, signature: SbpSignature, rank: int) -> Attributes:
    return {"shape": piece_shape(problem.attributes["shape"], signature.outputs[0], problem.ranks, rank)}


@operator(shape=_shape, dtype=SameAs("dy"), signatures=_signatures, local=_local)
def expand_grad(dy: Tensor, shape: Any) -> Attributes:
    """Return the gradient of `expand`: the sum of `dy` over the axes that were new or were expanded.

    dy: the gradient with respect to the result of expand, of its shape.
    shape: that of the input of expand; `dy` of the same shape is copied.
    out: where to put the result, an array of its shape and dtype.

    It is also the gradient of the broadcasting in operators. The order of the sum depends only on the shapes: the bits
    are the same in every run. Raises ValueError for a shape that does not expand to that of `dy`.
    """
    sizes = as_sizes((shape,), "shape")
    try:
        expanded_shape(sizes, tuple(dy.shape))
    except ValueError as error:
        raise ValueError(f"shape {sizes} does not expand to that of dy, {tuple(dy.shape)}") from error
    return {"shape": sizes}


def _repeat_signatures(problem: Problem) -> Iterator[SbpSignature]:
    (x,), sizes = problem.out_shapes, problem.attributes["sizes"]
    num_new = len(sizes) - len(x)
    for axis, times in enumerate(sizes):
        size = 1 if axis < num_new else x[axis - num_new]
        if times == 1 and axis >= num_new:
            yield signature(Split(axis), Split(axis - num_new))
        elif size == 1 or times % problem.ranks == 0:  # each rank sums whole copies
            yield signature(Split(axis), P)
    yield signature(P, P)


def _repeat_local(problem: Problem, signature: SbpSignature, rank: int) -> Attributes:
    """Return the shape of the rank's piece of x, or the number of copies of it that the rank has."""
    (dy,), (out,), given = signature.inputs, signature.outputs, problem.attributes
    if isinstance(dy, Split) and not isinstance(out, Split):
        return {**given, "sizes": piece_shape(given["sizes"], dy, problem.ranks, rank)}
    return {**given, "shape": piece_shape(given["shape"], out, problem.ranks, rank)}


@operator(shape=_shape, dtype=SameAs("dy"), signatures=_repeat_signatures, local=_repeat_local)
def repeat_grad(dy: Tensor, shape: Any, sizes: Any) -> Attributes:
    """Return the gradient of `repeat`: the sum of `dy` over the copies.

    dy: the gradient with respect to the result of repeat, of its shape.
    shape: that of the input of repeat. sizes: the copies along each axis, one sequence of them.
    out: where to put the result, an array of its shape and dtype.

    The order of the sum depends only on the shapes: the bits are the same in every run. Raises ValueError for shapes
    that do not fit.
    """
    of_x, times = as_sizes((shape,), "shape"), as_sizes((sizes,))
    expected = repeat_dims(of_x, times)[-1]
    if tuple(dy.shape) != expected:
        raise ValueError(f"dy has shape {tuple(dy.shape)}; the result of repeat has {expected}")
    return {"shape": of_x, "sizes": times}


_SUM = primitive_exists(ReduceFactory, ReduceOp.kSum, data_type("dy"), kMaxNumDims)


def _adding_up(reduce: Any, dims: Dims, to_dims: Dims) -> Plan:
    """Return the launch that sums dy, seen as an array of `dims`, to the result, seen as one of `to_dims`.

    `to_dims` expands to `dims`. Raises ValueError if more than 8 axes are needed.
    """
    num_new = len(dims) - len(to_dims)
    axes = [axis for axis, size in enumerate(dims) if axis < num_new or (to_dims[axis - num_new] == 1 != size)]
    shape = ReduceShape(dims, tuple(axes))
    if len(dims) > kMaxNumDims and 0 not in dims:
        merged = shape.simplified()
        gone = tuple(position for position, axis in enumerate(merged) if axis.reduced)
        shape = ReduceShape(tuple(axis.size for axis in merged), gone)
    if len(shape.src_dims) > kMaxNumDims:
        raise ValueError(f"dy needs {len(shape.src_dims)} axes; at most {kMaxNumDims} are possible")
    src_dims, gone = shape
    return Plan(Launch(reduce, src_dims, Placeholder(0), gone, RESULT))


@launching("expand_grad", _SUM, src="dy", dst="out")
def expand_grad_kernel(calls: Calls, reduce: Any) -> Plan:
    """Return a sum over the axes along which dy is larger than x."""
    return _adding_up(reduce, calls.shapes[0], calls.attributes["shape"])


@launching("repeat_grad", _SUM, src="dy", dst="out")
def repeat_grad_kernel(calls: Calls, reduce: Any) -> Plan:
    """Return a sum over the axes of copies, with dy seen as an expansion of x."""
    src_dims, dst_dims, _ = repeat_dims(calls.attributes["shape"], calls.attributes["sizes"])
    return _adding_up(reduce, dst_dims, src_dims)
