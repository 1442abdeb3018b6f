"""unfold and fold: the windows of an array written out, and the sums of windows at their places in an array."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

from ep.common.primitive.broadcast import Dims
from ep.common.primitive.strides import contiguous_strides
from ep.common.primitive.windows import Windows
from ep.include.arrays import RESULT, Placeholder
from ep.include.primitive.fill import FillFactory
from ep.include.primitive.primitive import kMaxNumDims
from ep.include.primitive.reduce import ReduceFactory
from ep.include.primitive.reduce_op import ReduceOp
from ep.ops.declare.function import FUNCTIONS, Tensor, operator
from ep.ops.declare.gradient import Backward, Gradients
from ep.ops.declare.operator import Attributes
from ep.ops.declare.type_rules import SameAs
from ep.ops.kernels import Calls, Launch, Plan, data_type, launching, primitive_exists
from ep.ops.sbp_signatures import B, partials_of, signature, sum_of
from ep.ops.window_kernel import MOVES, Move, WindowMoves
from ep.ops.windows import MOST_SPATIAL, PlacedWindows, for_each, in_steps, num_spatial, windows
from ep.sbp import Problem, Sbp, SbpSignature, Split, piece_shape


def _places(place: Sbp, num_axes: int) -> tuple[Sbp, Sbp]:
    """Return the SBPs of windows, and of the places in each, along the spatial axes of x. place: of their array."""
    if not isinstance(place, Split) or place.axis < 2:
        return B, B
    axis = place.axis - 2
    return (B, Split(axis + 2)) if axis < num_axes else (Split(axis - num_axes + 2), B)


def _unfold_shape(shapes: Sequence[Dims], attributes: Attributes) -> list[Dims]:
    (x,), kernel = shapes, attributes["kernel"]
    return [(*x[:2], *kernel, *windows(x[2:], kernel, attributes).counts)]


def _unfold_signatures(problem: Problem) -> Iterator[SbpSignature]:
    (x,), given = problem.shapes, problem.attributes
    num_axes, found = len(x) - 2, windows(x[2:], given["kernel"], given)
    for plane in (Split(0), Split(1)):
        yield signature(plane, plane)
    for axis in range(num_axes):
        spatial = Split(axis + 2)
        for written in (spatial, Split(axis + num_axes + 2)):
            yield signature(B, written)
            if found.stay(axis, (spatial, *_places(written, num_axes)), problem.ranks):
                yield signature(spatial, written)
        yield signature(spatial, sum_of(problem.types[0]))
    for partial in partials_of(problem.types[0]):
        yield signature(partial, partial)


def _unfold_local(problem: Problem, signature: SbpSignature, rank: int) -> Attributes:
    """Return the attributes of a rank: its places of a window, and the pads of its piece of x."""
    (x,), given, ranks = problem.shapes, problem.attributes, problem.ranks
    (of_x,), (out,) = signature.inputs, signature.outputs
    num_axes = len(x) - 2
    pads = windows(x[2:], given["kernel"], given).local_pads((of_x, *_places(out, num_axes)), ranks, rank)
    return {**given, "kernel": piece_shape(problem.out_shapes[0], out, ranks, rank)[2 : num_axes + 2], "pads": pads}


def _unfold_gradient(back: Backward) -> Gradients:
    given = {name: back.attributes[name] for name in ("strides", "pads", "dilations")}
    return [FUNCTIONS["fold"](back.dy, tuple(back.inputs[0].shape[2:]), **given)]


@operator(
    shape=_unfold_shape,
    dtype=SameAs("x"),
    signatures=_unfold_signatures,
    local=_unfold_local,
    gradient=_unfold_gradient,
)
def unfold(x: Tensor, kernel: Any, strides: Any = 1, pads: Any = 0, dilations: Any = 1) -> Attributes:
    """Return the windows of `x`, written out.

    x: array of shape (N, C, sizes...), with one to three spatial axes, of any type.
    kernel: the number of places of a window along each spatial axis; one integer for all of them.
    strides: the distance between windows along each spatial axis; one integer for all.
    pads: the number of zeros before the first element of each spatial axis, then after the last one of each; one
        integer for all. Negative ones remove elements.
    dilations: the distance between the places of a window along each spatial axis; one integer for all.
    out: where to put the result, an array of its shape and dtype.

    The result has shape (N, C, kernel..., counts...), which may be seen as PyTorch's (N, C * places, windows). `fold`
    adds windows up again. Raises ValueError for a shape of x and for attributes that do not fit.
    """
    num_axes = num_spatial(tuple(x.shape))
    places = for_each(kernel, "kernel", num_axes, least=1)
    return {"kernel": places, **in_steps(strides, pads, dilations, num_axes, least_pad=None)}


@launching("unfold", MOVES, src="x", dst="out")
def unfold_kernel(calls: Calls, moves: WindowMoves) -> Plan:
    """Return one launch of ConstantPad, if there is padding, and one of Expand."""
    ((batch, channels, *sizes),) = calls.shapes
    planes, found = (batch, channels), windows(tuple(sizes), calls.attributes["kernel"], calls.attributes)
    if 0 in (*planes, *found.counts):
        return Plan()
    return moves.chain(calls.shapes[0], [*moves.padding(planes, found), *moves.writing(planes, found)])


def _fold_shape(shapes: Sequence[Dims], attributes: Attributes) -> list[Dims]:
    return [(*shapes[0][:2], *attributes["sizes"])]


def _fold_windows(of_x: Dims, attributes: Attributes) -> PlacedWindows:
    sizes = attributes["sizes"]
    return windows(sizes, of_x[2 : len(sizes) + 2], attributes)


def _fold_signatures(problem: Problem) -> Iterator[SbpSignature]:
    (x,), (out,), total = problem.shapes, problem.out_shapes, sum_of(problem.types[0])
    num_axes, found = len(out) - 2, _fold_windows(x, problem.attributes)
    for plane in (Split(0), Split(1)):
        yield signature(plane, plane)
    for axis in range(num_axes):
        spatial = Split(axis + 2)
        yield signature(B, spatial)
        for written in (spatial, Split(axis + num_axes + 2)):
            yield signature(written, total)
            if found.stay(axis, (spatial, *_places(written, num_axes)), problem.ranks):
                yield signature(written, spatial)
    met = any(map(found.meet, range(num_axes)))
    for partial in (total,) if met else partials_of(problem.types[0]):
        yield signature(partial, partial)


def _fold_local(problem: Problem, signature: SbpSignature, rank: int) -> Attributes:
    """Return the attributes of a rank: its piece of the result, and the pads of it for the rank's windows."""
    (x,), (result,), given, ranks = problem.shapes, problem.out_shapes, problem.attributes, problem.ranks
    (of_x,), (out,) = signature.inputs, signature.outputs
    places = out, *_places(of_x, len(result) - 2)
    pads = _fold_windows(x, given).local_pads(places, ranks, rank)
    return {**given, "sizes": piece_shape(result, out, ranks, rank)[2:], "pads": pads}


def _fold_gradient(back: Backward) -> Gradients:
    (x,), (sizes, *given) = back.inputs, (back.attributes[name] for name in ("sizes", "strides", "pads", "dilations"))
    return [FUNCTIONS["unfold"](back.dy, tuple(x.shape[2 : len(sizes) + 2]), *given)]


@operator(shape=_fold_shape, dtype=SameAs("x"), signatures=_fold_signatures, local=_fold_local, gradient=_fold_gradient)
def fold(x: Tensor, sizes: Any, strides: Any = 1, pads: Any = 0, dilations: Any = 1) -> Attributes:
    """Return the sums of windows at their places: each element is the sum over all windows that contain it.

    x: windows as `unfold` writes them, of shape (N, C, kernel..., counts...) and of any type.
    sizes: those of the spatial axes of the result.
    strides, pads, dilations: as of `unfold`.
    out: where to put the result, an array of its shape and dtype.

    The result has shape (N, C, sizes...); elements that are in no window are 0. It is the gradient of `unfold`, and the
    same as PyTorch's `fold` and ONNX's Col2Im. float16 and bfloat16 are accumulated in float32 and rounded once. Raises
    ValueError for shapes and attributes that do not fit.
    """
    of_x = tuple(x.shape)
    num_axes = (len(of_x) - 2) // 2
    if len(of_x) % 2 or not 1 <= num_axes <= MOST_SPATIAL:
        raise ValueError(
            f"x has shape {of_x}; it must have a batch axis, one of channels, and two for each of 1 to {MOST_SPATIAL} "
            f"spatial axes"
        )
    if 0 in of_x[2 : num_axes + 2]:
        raise ValueError(f"x has shape {of_x}; a window must have one place at least along each spatial axis")
    places = for_each(sizes, "sizes", num_axes, least=0)
    given = {"sizes": places, **in_steps(strides, pads, dilations, num_axes, least_pad=None)}
    counts = _fold_windows(of_x, given).counts
    if of_x[num_axes + 2 :] != counts:
        raise ValueError(f"x of shape {of_x} has {of_x[num_axes + 2 :]} windows; an array of {places} has {counts}")
    return given


_FILL = primitive_exists(FillFactory, data_type("out"))
_SUM = primitive_exists(ReduceFactory, ReduceOp.kSum, data_type("out"), kMaxNumDims)


@launching("fold", MOVES, _FILL, _SUM, src="x", dst="out")
def fold_kernel(calls: Calls, moves: WindowMoves, fill: Any, total: Any) -> Plan:
    """Return launches of Expand, which puts windows into zeros, a sum over them, and ConstantPad, which crops them.

    The elements at one place of all windows do not overlap, so there is an array of zeros for each place. Along an axis
    whose windows do not overlap, all places share one array.
    """
    (x,), (result,) = calls.shapes, _fold_shape(calls.shapes, calls.attributes)
    if 0 in x:
        return Plan(Launch(fill, RESULT, 0, math.prod(result)))
    if 0 in result:
        return Plan()
    found, planes = _fold_windows(x, calls.attributes), x[:2]
    reach = found.reach
    layers = tuple(places if found.meet(axis) else 1 for axis, places in enumerate(found.kernel))
    chain = [_putting(moves, fill, x, (*planes, *layers, *reach), found)]
    if math.prod(layers) > 1:
        dims = math.prod(planes), math.prod(layers), math.prod(reach)
        chain.append(Move((*planes, *reach), Plan(Launch(total, dims, Placeholder(0), (1,), RESULT))))
    each = zip(found.sizes, reach, found.before, strict=True)
    before, after = zip(*((-before, size - have + before) for size, have, before in each), strict=True)
    return moves.chain(x, [*chain, *moves.padding(planes, found._replace(sizes=reach, before=before, after=after))])


def _putting(moves: WindowMoves, fill: Any, x: Dims, shape: Dims, found: Windows) -> Move:
    """Return the move of windows into an array of `shape`: planes, then layers, then places along axes."""
    num_axes, strides, count = len(found.sizes), contiguous_strides(shape), math.prod(shape)
    layers, along = shape[2 : num_axes + 2], strides[num_axes + 2 :]
    each = zip(layers, strides[2:], found.dilations, along, strict=False)
    of_places = [far * step + (stride if size > 1 else 0) for size, stride, far, step in each]
    of_windows = [stride * step for stride, step in zip(found.strides, along, strict=True)]
    put = moves.strided(x, contiguous_strides(x), (*strides[:2], *of_places, *of_windows))
    zeros = [] if count == math.prod(x) else [Launch(fill, RESULT, 0, count)]
    return Move(shape, Plan(*zeros, put))
