"""slice: a box of an array, with steps."""

from __future__ import annotations

import builtins
from collections.abc import Iterator, Sequence
from typing import Any

from ep.common.primitive.broadcast import Dims, simplify_strided
from ep.common.primitive.pad_shape import PadShape
from ep.common.primitive.strides import contiguous_strides
from ep.include.arrays import Array
from ep.include.primitive.expand import ExpandFactory
from ep.include.primitive.primitive import kMaxNumDims
from ep.include.shown import shown
from ep.ops.boxes import BoxKernel
from ep.ops.declare.function import Tensor, operator
from ep.ops.declare.operator import Attributes
from ep.ops.declare.type_rules import SameAs
from ep.ops.kernels import Call, Subject, attribute, data_type, primitive_exists, register_kernel
from ep.ops.names import launch
from ep.ops.rows import B, partials_of, row
from ep.sbp import Problem, Signature, Split, piece_sizes, span


def _shape(shapes: Sequence[Dims], attributes: Attributes) -> list[Dims]:
    return [tuple(map(len, attributes["ranges"]))]


def _rows(problem: Problem) -> Iterator[Signature]:
    (result,), ranks = problem.out_shapes, problem.ranks
    for axis, size in enumerate(result):
        split = row(Split(axis), Split(axis))
        sizes = [len(_local(problem, split, rank)["ranges"][axis]) for rank in range(ranks)]
        if sizes == piece_sizes(size, ranks):  # what is left of each piece is the piece of what is left
            yield split
        yield row(B, Split(axis))
    for partial in partials_of(problem.types[0]):
        yield row(partial, partial)


def _local(problem: Problem, signature: Signature, rank: int) -> Attributes:
    """The places of the slices in the rank's piece of x, or those of its piece of the result."""
    ranges, (source,), (target,) = [*problem.attributes["ranges"]], signature.inputs, signature.outputs
    if isinstance(source, Split):
        begin, end = span(problem.shapes[0][source.axis], problem.ranks, rank)
        mine = places_in(ranges[source.axis], begin, end)
        ranges[source.axis] = range(mine.start - begin, mine.stop - begin, mine.step) if mine else range(0)
    elif isinstance(target, Split):
        begin, end = span(problem.out_shapes[0][target.axis], problem.ranks, rank)
        ranges[target.axis] = ranges[target.axis][begin:end]
    return _attributes(ranges)


@operator(shape=_shape, dtype=SameAs("x"), rows=_rows, local=_local)
def slice(x: Tensor, *slices: Any) -> Attributes:
    """Return a box of `x`, as `x[slices]` of NumPy, for slices with positive steps; it is no view.

    x: array of any type.
    slices: for each axis a `slice`, a tuple `(start, stop)` or `(start, stop, step)`, or None for all of it; axes for
        which there is none are kept. Each part may be None; negative ones count from the end; what is out of range is
        cut, all as NumPy has it.
    out: where to put the result, an array of its shape and dtype.

    Raises TypeError for what is no slice, an integer too: axes are kept; ValueError for more slices than axes, for
    steps below 1, and where more than 8 axes are left once those that are kept whole are part of their neighbours.
    """
    return _attributes(slice_ranges(slices, x.shape))


def _attributes(ranges: Sequence[range]) -> Attributes:
    return {"ranges": tuple(ranges), "strided": any(one.step != 1 and len(one) > 1 for one in ranges)}


def slice_ranges(slices: Sequence[Any], shape: Dims) -> list[range]:
    """Return the places along each axis."""
    if len(slices) > len(shape):
        raise ValueError(f"there are {len(slices)} slices for the {len(shape)} axes of x")
    ranges = []
    for position, size in enumerate(shape):
        given = slices[position] if position < len(slices) else None
        if given is None:
            given = builtins.slice(None)
        elif isinstance(given, tuple) and len(given) in (2, 3):
            given = builtins.slice(*given)
        if not isinstance(given, builtins.slice):
            raise TypeError(
                f"slices[{position}] must be a slice, a tuple of 2 or 3 integers, or None, not {shown(given)}"
            )
        try:
            begin, end, step = given.indices(size)
        except (TypeError, ValueError) as error:  # parts that are no integers; a step of 0
            raise type(error)(f"slices[{position}]: {error}") from error
        if step < 1:
            raise ValueError(f"slices[{position}] has the step {step}; it must be 1 at least")
        ranges.append(range(begin, max(begin, end), step))
    return ranges


_EXPAND = primitive_exists(ExpandFactory, data_type("x"), kMaxNumDims)


@register_kernel("slice", matches=(attribute("strided") == False) & BoxKernel.exists)  # noqa: E712
class SliceKernel(BoxKernel):
    """The box that the slices leave: one launch of CopyNd."""

    def compute(self, call: Call) -> None:
        self.crop(call, *call.outputs)

    def crop(self, call: Call, dst: Array) -> None:
        """Copy the box from the first to the last element that is taken."""
        (x,), ranges = call.inputs, call.attributes["ranges"]
        before = tuple(-one.start for one in ranges)
        after = tuple(end - size for (_, end), size in zip(map(slice_ends, ranges), x.shape, strict=True))
        shape = PadShape(x.shape, before, after)
        if len(x.shape) > kMaxNumDims:
            shape = shape.simplified()
        self.copy(call, shape.copied(), x, dst)


def places_in(places: range, begin: int, end: int) -> range:
    """The places from `begin` to `end`."""
    first = -(-max(begin - places.start, 0) // places.step)
    last = -(-max(end - places.start, 0) // places.step)
    return places[first:last]


def slice_ends(places: range) -> tuple[int, int]:
    """Where the box of a slice begins and ends."""
    return places.start, places[-1] + 1 if places else places.start


@register_kernel("slice", matches=(attribute("strided") == True) & SliceKernel.exists & _EXPAND)  # noqa: E712
class StridedSliceKernel(SliceKernel):
    """The box, then one launch of Expand that takes its steps."""

    def __init__(self, subject: Subject) -> None:
        super().__init__(subject)
        self._expand = _EXPAND.make(subject)

    def compute(self, call: Call) -> None:
        (out,), ranges = call.outputs, call.attributes["ranges"]
        cropped = tuple(end - begin for begin, end in map(slice_ends, ranges))
        box = call.arrays.destination(cropped, out.dtype, None)
        self.crop(call, box)
        if out.size == 0:
            return
        steps = tuple(one.step * stride for one, stride in zip(ranges, contiguous_strides(cropped), strict=True))
        dims, src_strides, dst_strides = simplify_strided(out.shape, steps, contiguous_strides(out.shape))
        if len(dims) > kMaxNumDims:
            raise ValueError(f"slices of x need {len(dims)} axes; at most {kMaxNumDims} are possible")
        names = {"src": "x", "dst": "out"}
        launch(self._expand, names, call.stream, dims, box, dims, out, src_strides, dst_strides)
