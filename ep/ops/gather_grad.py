"""gather_grad and batch_gather_grad: gradients scattered to the rows that gather read, and added up."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ep.common.primitive.broadcast import Dims
from ep.include.primitive.batch_unsorted_segment_sum import BatchUnsortedSegmentSumFactory
from ep.include.primitive.structure import SegmentSum
from ep.include.primitive.unsorted_segment_sum import UnsortedSegmentSumFactory
from ep.ops.declare.function import FUNCTIONS, Indices, Tensor, function_of, operator
from ep.ops.declare.gradient import Backward, Gradients
from ep.ops.declare.operator import Attributes, operator_named
from ep.ops.declare.type_rules import SameAs
from ep.ops.gather import gather_axes
from ep.ops.indexed import for_indices, indexed
from ep.ops.indices import IndexMode, check_mode
from ep.ops.kernels import Calls, Plan, attribute, data_type, launching
from ep.ops.sbp_signatures import B, P, signature
from ep.ops.shapes import as_sizes
from ep.sbp import Problem, SbpSignature, Split, span


def _shape(shapes: Sequence[Dims], attributes: Attributes) -> list[Dims]:
    return [attributes["shape"]]


def _signatures(problem: Problem) -> Iterator[SbpSignature]:
    (_, indices), (params,) = problem.shapes, problem.out_shapes
    axis, batch = problem.attributes["axis"], problem.attributes["batch_dims"]
    for place in range(batch):
        yield signature(Split(place), Split(place), Split(place))
    for place in range(batch, len(indices)):
        yield signature(Split(axis + place - batch), Split(place), P)
    yield signature(B, B, Split(axis))  # each rank sums the rows that it has
    for place in range(batch, len(params)):
        if place != axis:
            moved = place if place < axis else place + len(indices) - batch - 1
            yield signature(Split(moved), B, Split(place))
    yield signature(P, B, P)


def _local(problem: Problem, signature: SbpSignature, rank: int) -> Attributes:
    """Return the attributes of the rank's piece of the rows, which begins at `offset`."""
    (out,), given, axis = signature.outputs, problem.attributes, problem.attributes["axis"]
    shape, offset = list(given["shape"]), given["offset"]
    if isinstance(out, Split):
        begin, end = span(shape[out.axis], problem.ranks, rank)
        shape[out.axis] = end - begin
        offset += begin if out.axis == axis else 0
    return {**given, "shape": tuple(shape), "offset": offset}


def _gradient(back: Backward) -> Gradients:
    given = {name: back.attributes[name] for name in ("axis", "batch_dims", "mode")}
    return [FUNCTIONS["gather"](back.dy, back.inputs[1], **given), None]


@operator(shape=_shape, dtype=SameAs("dy"), signatures=_signatures, local=_local, gradient=_gradient, joins=SegmentSum)
def gather_grad(
    dy: Tensor, indices: Indices, shape: Any, axis: int | None = None, batch_dims: int = 0, mode: IndexMode = "raise"
) -> Attributes:
    """Return the gradient of `gather` with respect to params: for each row, the sum of `dy` over its copies.

    dy: the gradient with respect to the result of gather, of its shape.
    indices, axis, batch_dims, mode: the arguments of gather.
    shape: that of params.
    out: where to put the result, an array of its shape and dtype.

    Rows that no index selects are 0. Repeated indices add up in their order: the bits are the same in every run. Raises
    ValueError for shapes that do not fit, and the errors of gather for indices.
    """
    check_mode(mode)
    sizes = as_sizes((shape,), "shape")
    along, batch = gather_axes(sizes, indices.shape, axis, batch_dims)
    expected = sizes[:along] + tuple(indices.shape[batch:]) + sizes[along + 1 :]
    if tuple(dy.shape) != expected:
        raise ValueError(f"dy has shape {tuple(dy.shape)}; the result of gather has {expected}")
    return {"shape": sizes, "axis": along, "batch_dims": batch, "mode": mode, "offset": 0, "size": sizes[along]}


@function_of(operator_named("gather_grad"))
def batch_gather_grad(dy: Tensor, indices: Indices, shape: Any, mode: IndexMode = "raise") -> Attributes:
    """Return the gradient of `batch_gather` with respect to params; the arguments are those of `gather_grad`."""
    batch = len(indices.shape) - 1
    declared = operator_named("gather_grad")
    return declared.resolve(dy, indices, shape, axis=batch, batch_dims=batch, mode=mode)


_TYPES = {"data_type": data_type("dy"), "segment_ids_type": data_type("indices")}
_NAMES: dict[str, Any] = {"data": "dy", "segment_ids": "indices"}


_SUM = for_indices(UnsortedSegmentSumFactory, **_TYPES)
_BATCH_SUM = for_indices(BatchUnsortedSegmentSumFactory, **_TYPES)


@launching("gather_grad", _SUM, when=attribute("batch_dims") == 0, **_NAMES)
def gather_grad_kernel(calls: Calls, segment_sum: Any) -> Plan:
    """Return one launch of UnsortedSegmentSum, of one batch."""
    return indexed(calls, segment_sum, calls.attributes["shape"], has_batches=False)


@launching("gather_grad", _BATCH_SUM, when=attribute("batch_dims") != 0, **_NAMES)
def batch_gather_grad_kernel(calls: Calls, segment_sum: Any) -> Plan:
    """Return one launch of BatchUnsortedSegmentSum: each batch has its own indices."""
    return indexed(calls, segment_sum, calls.attributes["shape"], has_batches=True)
