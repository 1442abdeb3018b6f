"""max_pool: the largest element of each window of an array, and what all pools have in common."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ep.common.checks import as_truth
from ep.common.primitive.broadcast import Dims
from ep.include.arrays import RESULT, Placeholder
from ep.include.data_type import DataType
from ep.include.number_kind import BOOL, FLOATS
from ep.include.primitive.primitive import kMaxNumDims
from ep.include.primitive.reduce import ReduceFactory
from ep.include.primitive.reduce_op import ReduceOp
from ep.include.primitive.structure import MaxPool
from ep.ops.declare.function import FUNCTIONS, Tensor, operator
from ep.ops.declare.gradient import Backward, Gradients
from ep.ops.declare.operator import Attributes
from ep.ops.declare.type_rules import SameAs
from ep.ops.kernels import Calls, Function, Launch, Plan, data_type, launching, primitive_exists
from ep.ops.sbp_signatures import PMAX, B, signature
from ep.ops.terms import in_type, unselected, viewed, wide
from ep.ops.window_kernel import MOVES, Move, WindowMoves
from ep.ops.windows import PlacedWindows, for_each, in_steps, num_spatial, windows
from ep.sbp import Problem, Sbp, SbpSignature, Split


def pool_windows(of_x: Dims, attributes: Attributes) -> PlacedWindows:
    """Return the windows of x."""
    return windows(of_x[2:], attributes["kernel"], attributes)


def pool_shape(shapes: Sequence[Dims], attributes: Attributes) -> list[Dims]:
    """Return the shape of the result, which has an element for each window."""
    return [(*shapes[0][:2], *pool_windows(shapes[0], attributes).counts)]


def pool_signatures(partial: Sbp) -> Any:
    """Return the function that yields the signatures. partial: the SBP of results of pieces along a spatial axis."""

    def signatures(problem: Problem) -> Iterator[SbpSignature]:
        (x,) = problem.shapes
        found = pool_windows(x, problem.attributes)
        for plane in (Split(0), Split(1)):
            yield signature(plane, plane)
        for spatial in map(Split, range(2, len(x))):
            yield signature(B, spatial)
            if found.stay(spatial.axis - 2, (spatial, spatial, B), problem.ranks):
                yield signature(spatial, spatial)
            yield signature(spatial, partial)
        yield signature(partial, partial)

    return signatures


def pool_local(problem: Problem, signature: SbpSignature, rank: int) -> Attributes:
    """Return the attributes of a rank: the pads of its piece of x, and which elements count there."""
    (x,), given = problem.shapes, problem.attributes
    places = (*signature.inputs, *signature.outputs, B)
    found, ranks = pool_windows(x, given), problem.ranks
    local = {**given, "pads": found.local_pads(places, ranks, rank)}
    if "counted" in given:
        pieces = (found.ranges(axis, places, ranks, rank)[0] for axis in range(len(x) - 2))
        each = zip(given["counted"], pieces, strict=True)
        local["counted"] = tuple((begin - piece.start, end - piece.start) for (begin, end), piece in each)
    return local


def pool_attributes(x: Tensor, kernel: Any, strides: Any, pads: Any, dilations: Any, ceil_mode: Any) -> dict[str, Any]:
    """Return the attributes of all pools; with their pads, all windows are in padded x."""
    of_x = tuple(x.shape)
    num_axes, beyond = num_spatial(of_x), as_truth(ceil_mode, "ceil_mode")
    places = for_each(kernel, "kernel", num_axes, least=1)
    given = {"kernel": places, **in_steps(strides, pads, dilations, num_axes)}
    if not beyond:
        return given
    found = pool_windows(of_x, given).beyond()
    return {**given, "pads": (*found.before, *found.after)}


def _gradient(back: Backward) -> Gradients:
    """Divide the gradient among the elements of a window equal to its result; the NaN in padding equals none.

    A NaN result makes the gradient NaN in all of its window.
    """
    (x,), windows = back.inputs, ("kernel", "strides", "pads", "dilations")
    kernel, strides, pads, dilations = (back.attributes[name] for name in windows)
    num_axes, padded = len(kernel), x
    if any(pads):
        around = [(pads[axis], pads[axis + num_axes]) for axis in range(num_axes)]
        padded = FUNCTIONS["pad"](x, [(0, 0), (0, 0), *around], constant_values=math.nan)
    written = FUNCTIONS["unfold"](padded, kernel, strides, 0, dilations)
    found = FUNCTIONS["equal"](written, _of_windows(back.output, num_axes))
    count = FUNCTIONS["sum"](found, tuple(range(2, num_axes + 2)), dtype="float64", keepdims=True)
    share = FUNCTIONS["div"](_of_windows(wide(back.dy), num_axes), count)
    others = _of_windows(FUNCTIONS["add"](unselected(back.dy), unselected(back.output)), num_axes)
    placed = FUNCTIONS["where"](found, in_type(share, x.dtype), others)
    return [FUNCTIONS["fold"](placed, tuple(x.shape[2:]), strides, pads, dilations)]


def _of_windows(of: Any, num_axes: int) -> Any:
    """Return a result seen with an axis of size 1 for each axis of a window."""
    return viewed(of, (*of.shape[:2], *(1,) * num_axes, *of.shape[2:]))


@operator(
    shape=pool_shape,
    dtype=SameAs("x"),
    signatures=pool_signatures(PMAX),
    local=pool_local,
    gradient=_gradient,
    joins=MaxPool,
)
def max_pool(
    x: Tensor, kernel: Any, strides: Any = 1, pads: Any = 0, dilations: Any = 1, ceil_mode: bool = False
) -> Attributes:
    """Return the largest element of each window of `x`, as ONNX's MaxPool and PyTorch's `max_pool1d` to `max_pool3d`.

    x: array of shape (N, C, sizes...), with one to three spatial axes, of any type but complex ones.
    kernel: the number of places of a window along each spatial axis; one integer for all of them.
    strides: the distance between windows along each spatial axis; one integer for all.
    pads: the number of places without an element before the first element of each spatial axis, then after the last one
        of each, as in ONNX; one integer for all.
    dilations: the distance between the places of a window along each spatial axis; one integer for all.
    ceil_mode: whether windows may reach beyond the padded x if they begin before the end of x.
    out: where to put the result, an array of its shape and dtype.

    The result has shape (N, C, counts...). NaN propagates; a window without elements has the lowest number of the type,
    minus infinity for floating types. Raises ValueError for a shape of x and for attributes that do not fit.
    """
    return pool_attributes(x, kernel, strides, pads, dilations, ceil_mode)


_MAX = primitive_exists(ReduceFactory, ReduceOp.kMax, data_type("x"), kMaxNumDims)


@launching("max_pool", MOVES, _MAX, src="x", dst="out")
def max_pool_kernel(calls: Calls, moves: WindowMoves, largest: Any) -> Plan:
    """Return one launch of Reduce, which reads windows in place, if the device can do so.

    Otherwise it handles one axis after the other: Expand writes the windows, and Reduce folds them. Adjacent windows
    that together have all elements are not written.
    """
    (x,), (result,) = calls.shapes, pool_shape(calls.shapes, calls.attributes)
    if 0 in result:
        return Plan()
    found, planes = pool_windows(x, calls.attributes), x[:2]
    over = largest.over_windows(found.in_planes(math.prod(planes))) if 0 not in found.sizes else None
    if over is not None:
        return Plan(Launch(Function(over), Placeholder(0), RESULT))
    chain, sizes, outer = (
        [*moves.padding(planes, found, least(calls.subject.data_types["x"]))],
        found.padded,
        math.prod(planes),
    )
    for axis, places in enumerate(found.kernel):
        one = found.along(axis, sizes)
        if one.is_split:
            dims = outer * math.prod(one.counts[: axis + 1]), places, math.prod(sizes[axis + 1 :])
        else:
            chain += moves.writing(planes, one)
            dims = outer, places, math.prod(one.counts)
        sizes = one.counts
        if places > 1:
            chain.append(Move((*planes, *sizes), Plan(Launch(largest, dims, Placeholder(0), (1,), RESULT))))
    return moves.chain(x, chain)


def least(data_type: DataType) -> Any:
    """Return the lowest value of a type."""
    if data_type in FLOATS:
        return -math.inf
    return False if data_type in BOOL else np.iinfo(data_type.dtype).min
