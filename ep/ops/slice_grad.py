"""slice_grad: the gradient of a slice, in an array of zeros."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

from ep.common.primitive.broadcast import Dims, simplify_strided
from ep.common.primitive.strides import contiguous_strides
from ep.include.arrays import RESULT, Placeholder
from ep.include.primitive.constant_pad import ConstantPadFactory
from ep.include.primitive.expand import ExpandFactory
from ep.include.primitive.fill import FillFactory
from ep.include.primitive.primitive import kMaxNumDims
from ep.ops.declare.function import Tensor, operator
from ep.ops.declare.operator import Attributes
from ep.ops.declare.type_rules import SameAs
from ep.ops.kernels import Calls, Launch, Plan, Temporary, data_type, launching, primitive_exists
from ep.ops.sbp_signatures import B, partials_of, signature, sum_of
from ep.ops.shapes import as_sizes
from ep.ops.slice import places_in, slice_ends, slice_ranges
from ep.sbp import Problem, SbpSignature, Split, piece_sizes, span


def _shape(shapes: Sequence[Dims], attributes: Attributes) -> list[Dims]:
    return [attributes["shape"]]


def _signatures(problem: Problem) -> Iterator[SbpSignature]:
    (taken,), (shape,), ranks = problem.shapes, problem.out_shapes, problem.ranks
    for axis, places in enumerate(problem.attributes["ranges"]):
        offset = problem.attributes["offsets"][axis]
        ends = [[offset + end for end in span(shape[axis], ranks, rank)] for rank in range(ranks)]
        mine = [len(places_in(places, *one)) for one in ends]
        if mine == piece_sizes(taken[axis], ranks):  # the selected part of each piece of the result is a piece of dy
            yield signature(Split(axis), Split(axis))
        yield signature(Split(axis), sum_of(problem.types[0]))
        yield signature(B, Split(axis))
    for partial in partials_of(problem.types[0]):
        yield signature(partial, partial)


def _local(problem: Problem, signature: SbpSignature, rank: int) -> Attributes:
    """Return the attributes of the rank's piece of dy in its piece of the result, which begins at `offsets`."""
    given, (source,), (target,) = problem.attributes, signature.inputs, signature.outputs
    shape, ranges, offsets = [*given["shape"]], [*given["ranges"]], [*given["offsets"]]
    if isinstance(target, Split):
        begin, end = span(shape[target.axis], problem.ranks, rank)
        shape[target.axis] = end - begin
        offsets[target.axis] += begin
    if isinstance(source, Split):
        begin, end = span(problem.shapes[0][source.axis], problem.ranks, rank)
        ranges[source.axis] = ranges[source.axis][begin:end]
    return {"shape": tuple(shape), "ranges": tuple(ranges), "offsets": tuple(offsets)}


@operator(shape=_shape, dtype=SameAs("dy"), signatures=_signatures, local=_local)
def slice_grad(dy: Tensor, shape: Any, *slices: Any) -> Attributes:
    """Return the gradient of `slice`: `dy` at the elements of x that the slices selected, and zeros elsewhere.

    dy: the gradient with respect to the result of slice, of its shape.
    shape: that of x. slices: as in slice.
    out: where to put the result, an array of its shape and dtype.

    Raises the errors of `slice`, and ValueError if dy does not have the shape of its result.
    """
    sizes = as_sizes((shape,), "shape")
    ranges = slice_ranges(slices, sizes)
    expected = tuple(map(len, ranges))
    if tuple(dy.shape) != expected:
        raise ValueError(f"dy has shape {tuple(dy.shape)}; the result of slice has {expected}")
    return {"shape": sizes, "ranges": tuple(ranges), "offsets": (0,) * len(sizes)}


_FILL = primitive_exists(FillFactory, data_type("dy"))
_EXPAND = primitive_exists(ExpandFactory, data_type("dy"), kMaxNumDims)
_PAD = primitive_exists(ConstantPadFactory, data_type("dy"))


@launching("slice_grad", _FILL, _EXPAND, _PAD, src="dy", dst="out")
def slice_grad_kernel(calls: Calls, fill: Any, expand: Any, pad: Any) -> Plan:
    """Return launches that put dy into a box of zeros by the steps of the slices, and pad the box to the result."""
    (taken,), names = calls.shapes, ("shape", "ranges", "offsets")
    sizes, ranges, offsets = (calls.attributes[name] for name in names)
    ends = [slice_ends(one) for one in ranges]
    cropped = tuple(end - begin for begin, end in ends)
    before = tuple(begin - offset for (begin, _), offset in zip(ends, offsets, strict=True))
    after = tuple(offset + size - end for (_, end), offset, size in zip(ends, offsets, sizes, strict=True))
    box = Temporary(cropped, calls.subject.data_types["dy"].dtype)
    launches = [Launch(fill, box, 0, math.prod(cropped))]
    if 0 not in taken:
        steps = tuple(one.step * stride for one, stride in zip(ranges, contiguous_strides(cropped), strict=True))
        dims, src_strides, dst_strides = simplify_strided(taken, contiguous_strides(taken), steps)
        launches.append(Launch(expand, dims, Placeholder(0), dims, box, src_strides, dst_strides))
    return Plan(*launches, Launch(pad, cropped, box, before, after, 0, RESULT))
