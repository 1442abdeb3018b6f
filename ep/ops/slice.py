"""slice: a box of an array, with steps."""

from __future__ import annotations

import builtins
from collections.abc import Iterator, Sequence
from typing import Any

from ep.common.checks import as_integer
from ep.common.primitive.broadcast import Dims, simplify_strided
from ep.common.primitive.pad_shape import PadShape
from ep.common.primitive.strides import contiguous_strides
from ep.include.arrays import RESULT, Placeholder
from ep.include.primitive.expand import ExpandFactory
from ep.include.primitive.primitive import kMaxNumDims
from ep.include.shown import shown
from ep.ops.declare.function import FUNCTIONS, Tensor, operator
from ep.ops.declare.gradient import Backward, Gradients
from ep.ops.declare.operator import Attributes
from ep.ops.declare.type_rules import SameAs
from ep.ops.kernels import Calls, Launch, Plan, Temporary, Value, attribute, data_type, launching, primitive_exists
from ep.ops.regions import COPY_ND
from ep.ops.sbp_signatures import B, partials_of, signature
from ep.sbp import Problem, SbpSignature, Split, piece_sizes, span


def _shape(shapes: Sequence[Dims], attributes: Attributes) -> list[Dims]:
    return [tuple(map(len, attributes["ranges"]))]


def _signatures(problem: Problem) -> Iterator[SbpSignature]:
    (result,), ranks = problem.out_shapes, problem.ranks
    for axis, size in enumerate(result):
        split = signature(Split(axis), Split(axis))
        sizes = [len(_local(problem, split, rank)["ranges"][axis]) for rank in range(ranks)]
        if sizes == piece_sizes(size, ranks):  # the selected part of each piece of x is a piece of the result
            yield split
        yield signature(B, Split(axis))
    for partial in partials_of(problem.types[0]):
        yield signature(partial, partial)


def _local(problem: Problem, signature: SbpSignature, rank: int) -> Attributes:
    """Return the slices of the rank's piece of x, or those of its piece of the result."""
    ranges, (source,), (target,) = [*problem.attributes["ranges"]], signature.inputs, signature.outputs
    if isinstance(source, Split):
        begin, end = span(problem.shapes[0][source.axis], problem.ranks, rank)
        mine = places_in(ranges[source.axis], begin, end)
        ranges[source.axis] = range(mine.start - begin, mine.stop - begin, mine.step) if mine else range(0)
    elif isinstance(target, Split):
        begin, end = span(problem.out_shapes[0][target.axis], problem.ranks, rank)
        ranges[target.axis] = ranges[target.axis][begin:end]
    return _attributes(ranges)


def _gradient(back: Backward) -> Gradients:
    slices = [builtins.slice(one.start, one.stop, one.step) for one in back.attributes["ranges"]]
    return [FUNCTIONS["slice_grad"](back.dy, back.inputs[0].shape, *slices)]


@operator(shape=_shape, dtype=SameAs("x"), signatures=_signatures, local=_local, gradient=_gradient)
def slice(x: Tensor, *slices: Any) -> Attributes:
    """Return a box of `x`, as `x[slices]` of NumPy, for slices with positive steps; it is a copy, not a view.

    x: array of any type.
    slices: for each axis a `slice`, a tuple `(start, stop)` or `(start, stop, step)`, or None for all of it. Axes
        without one are kept: the last ones, or those that one `...` stands for. Each part may be None; negative ones
        count from the end; parts out of range are clipped, all as in NumPy.
    out: where to put the result, an array of its shape and dtype.

    Raises TypeError for anything that is not a slice, also for an integer, since axes are kept; ValueError for more
    slices than axes, for steps below 1, and if more than 8 axes are left once those that are kept whole are merged with
    their neighbours.
    """
    return _attributes(slice_ranges(slices, x.shape))


def _attributes(ranges: Sequence[range]) -> Attributes:
    return {"ranges": tuple(ranges), "strided": any(one.step != 1 and len(one) > 1 for one in ranges)}


def slice_ranges(slices: Sequence[Any], shape: Dims) -> list[range]:
    """Return the ranges of places along each axis."""
    ranges = []
    for (position, given), size in zip(_for_each_axis(slices, len(shape)), shape, strict=True):
        if given is None:
            given = builtins.slice(None)
        elif isinstance(given, tuple | list) and len(given) in (2, 3):
            given = builtins.slice(*given)
        if not isinstance(given, builtins.slice):
            raise TypeError(
                f"slices[{position}] must be a slice, a tuple of 2 or 3 integers, None or `...`, not {shown(given)}"
            )
        start, stop = (
            None if one is None else as_integer(one, f"slices[{position}]") for one in (given.start, given.stop)
        )
        step = 1 if given.step is None else as_integer(given.step, f"slices[{position}]")
        if step < 1:
            raise ValueError(f"slices[{position}] has the step {step}; it must be 1 at least")
        begin, end, _ = builtins.slice(start, stop).indices(size)
        ranges.append(range(begin, max(begin, end), step))
    return ranges


def _for_each_axis(slices: Sequence[Any], num_dims: int) -> list[tuple[int, Any]]:
    """Return, for each axis, the position of its slice among the slices and the slice; None for a kept axis."""
    given = [*enumerate(slices)]
    dots = [position for position, one in given if one is ...]
    if len(dots) > 1:
        raise ValueError(f"slices has {len(dots)} times `...`, which may be there once")
    num_kept = num_dims - (len(given) - len(dots))
    if num_kept < 0:
        raise ValueError(f"there are {len(given) - len(dots)} slices for the {num_dims} axes of x")
    before = dots[0] if dots else len(given)
    return [*given[:before], *[(before, None)] * num_kept, *given[before + 1 :]]


_EXPAND = primitive_exists(ExpandFactory, data_type("x"), kMaxNumDims)


@launching("slice", COPY_ND, when=attribute("strided") == False, src="x", dst="out")  # noqa: E712
def slice_kernel(calls: Calls, copy_nd: Any) -> Plan:
    """Return one launch of CopyNd, of the box that the slices leave."""
    return Plan(_cropping(calls, copy_nd, RESULT))


def _cropping(calls: Calls, copy_nd: Any, target: Value) -> Launch:
    """Return the copy of the box from the first to the last selected element; ValueError for over 8 axes."""
    (of_x,), ranges = calls.shapes, calls.attributes["ranges"]
    before = tuple(-item.start for item in ranges)
    after = tuple(end - size for (_, end), size in zip(map(slice_ends, ranges), of_x, strict=True))
    shape = PadShape(of_x, before, after)
    box = (shape.simplified() if len(of_x) > kMaxNumDims else shape).copied()
    if len(box.extent) > kMaxNumDims:
        raise ValueError(f"slices of x leave {len(box.extent)} axes; at most {kMaxNumDims} are possible")
    dst_dims, dst_pos, src_dims, src_pos, extent = box
    dtype = calls.subject.data_types["out"].dtype
    return Launch(copy_nd, dtype, target, dst_dims, dst_pos, Placeholder(0), src_dims, src_pos, extent)


def places_in(places: range, begin: int, end: int) -> range:
    """Return the places from `begin` to `end`."""
    first = -(-max(begin - places.start, 0) // places.step)
    last = -(-max(end - places.start, 0) // places.step)
    return places[first:last]


def slice_ends(places: range) -> tuple[int, int]:
    """Return the begin and the end of the box of a slice."""
    return places.start, places[-1] + 1 if places else places.start


@launching("slice", COPY_ND, _EXPAND, when=attribute("strided") == True, src="x", dst="out")  # noqa: E712
def strided_slice_kernel(calls: Calls, copy_nd: Any, expand: Any) -> Plan:
    """Return the launches of the box, and of Expand for the steps."""
    ranges, dtype = calls.attributes["ranges"], calls.subject.data_types["out"].dtype
    cropped = tuple(end - begin for begin, end in map(slice_ends, ranges))
    box, results = Temporary(cropped, dtype), tuple(map(len, ranges))
    crop = _cropping(calls, copy_nd, box)
    if 0 in results:
        return Plan()
    steps = tuple(item.step * stride for item, stride in zip(ranges, contiguous_strides(cropped), strict=True))
    dims, src_strides, dst_strides = simplify_strided(results, steps, contiguous_strides(results))
    if len(dims) > kMaxNumDims:
        raise ValueError(f"slices of x need {len(dims)} axes; at most {kMaxNumDims} are possible")
    return Plan(crop, Launch(expand, dims, box, dims, RESULT, src_strides, dst_strides))
