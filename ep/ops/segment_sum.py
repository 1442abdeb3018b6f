"""segment_sum: sums of rows by the segments that they belong to."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ep.common.checks import as_count
from ep.common.primitive.broadcast import Dims
from ep.include.arrays import RESULT, Placeholder
from ep.include.primitive.structure import SegmentSum
from ep.include.primitive.unsorted_segment_sum import UnsortedSegmentSumFactory
from ep.ops.declare.function import FUNCTIONS, Indices, Tensor, operator
from ep.ops.declare.gradient import Backward, Gradients
from ep.ops.declare.operator import Attributes
from ep.ops.declare.type_rules import SameAs
from ep.ops.kernels import Calls, Launch, Plan, data_type, launching, primitive_exists
from ep.ops.sbp_signatures import B, P, signature
from ep.ops.shapes import around, axis_of
from ep.sbp import Problem, SbpSignature, Split, span


def _shape(shapes: Sequence[Dims], attributes: Attributes) -> list[Dims]:
    (data, _), axis = shapes, attributes["axis"]
    return [(*data[:axis], attributes["num_segments"], *data[axis + 1 :])]


def _signatures(problem: Problem) -> Iterator[SbpSignature]:
    for axis in range(len(problem.shapes[0])):
        yield (
            signature(Split(axis), Split(0), P)
            if axis == problem.attributes["axis"]
            else signature(Split(axis), B, Split(axis))
        )
    yield signature(B, B, Split(problem.attributes["axis"]))  # each rank sums the segments that it has
    yield signature(P, B, P)


def _local(problem: Problem, signature: SbpSignature, rank: int) -> Attributes:
    """Return the attributes of the rank's segments, which begin at `offset`."""
    given = problem.attributes
    if signature.outputs != (Split(given["axis"]),):
        return given
    begin, end = span(given["num_segments"], problem.ranks, rank)
    return {**given, "num_segments": end - begin, "offset": given["offset"] + begin}


def _gradient(back: Backward) -> Gradients:
    _, ids = back.inputs
    return [FUNCTIONS["gather"](back.dy, ids, back.attributes["axis"], mode="zero"), None]


@operator(
    shape=_shape, dtype=SameAs("data"), signatures=_signatures, local=_local, gradient=_gradient, joins=SegmentSum
)
def segment_sum(data: Tensor, segment_ids: Indices, num_segments: int, axis: int = 0) -> Attributes:
    """Return the sums of the parts of `data` along an axis that have the same id, as `jax.ops.segment_sum`.

    data: array of any type but bool.
    segment_ids: integers in any order, one for each place along the axis.
    num_segments: the size of the result along the axis; a part with an id outside `0 ... num_segments - 1` is left out.
    axis: negative ones are counted from the last.
    out: where to put the result, an array of its shape and dtype.

    A segment without parts is 0. Integers wrap around, and 16-bit floating types are accumulated in float32; the bits
    of a sum are the same in every run. It is the gradient of `gather`.
    """
    place = axis_of(data, "data", axis)
    if tuple(segment_ids.shape) != (data.shape[place],):
        raise ValueError(
            f"segment_ids has shape {tuple(segment_ids.shape)}; it must be ({data.shape[place]},), as data of shape "
            f"{tuple(data.shape)} has along axis {place}"
        )
    return {"num_segments": as_count(num_segments, "num_segments"), "axis": place, "offset": 0}


_SUM = primitive_exists(UnsortedSegmentSumFactory, data_type("data"), data_type("segment_ids"))


@launching("segment_sum", _SUM)
def segment_sum_kernel(calls: Calls, segment_sum: Any) -> Plan:
    """Return one launch of UnsortedSegmentSum."""
    (shape, _), axis, offset = calls.shapes, calls.attributes["axis"], calls.attributes["offset"]
    outer, count, inner = around(shape, axis)
    sizes, data, ids = (outer, calls.attributes["num_segments"], inner), Placeholder(0), Placeholder(1)
    return Plan(Launch(segment_sum, *sizes, data, count, ids, RESULT, offset))
