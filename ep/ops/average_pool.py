"""average_pool and its gradient: the mean of each window of an array."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from typing import Any

from ep.common.checks import as_integer, as_truth, kMaxSize
from ep.common.primitive.broadcast import Dims
from ep.common.primitive.windows import Windows
from ep.include.arrays import RESULT, Placeholder
from ep.include.number_kind import FLOATS
from ep.include.primitive.binary_op import BinaryOp
from ep.include.primitive.broadcast_elementwise_binary import BroadcastElementwiseBinaryFactory
from ep.include.primitive.constant_pad import ConstantPadFactory
from ep.include.primitive.expression import ExpressionFactory
from ep.include.primitive.fill import FillFactory
from ep.include.primitive.primitive import kMaxNumDims
from ep.include.primitive.reduce import ReduceFactory
from ep.include.primitive.reduce_op import ReduceOp
from ep.ops.declare.function import Tensor, operator
from ep.ops.declare.gradient import Backward, Gradients
from ep.ops.declare.operator import Attributes
from ep.ops.declare.type_rules import SameAs
from ep.ops.kernels import (
    Calls,
    Launch,
    Plan,
    Temporary,
    Value,
    View,
    attribute,
    data_type,
    launching,
    primitive_exists,
    views_exist,
)
from ep.ops.pool import pool_attributes, pool_local, pool_shape, pool_signatures, pool_windows
from ep.ops.sbp_signatures import B, P, partials_of, signature
from ep.ops.shapes import as_sizes
from ep.ops.terms import computed
from ep.ops.window_kernel import MOVES, Move, WindowMoves
from ep.ops.window_sums import WIDE, Quotient, add_sums, as_it_is, at_places, of_windows
from ep.ops.windows import for_each
from ep.sbp import Problem, SbpSignature, Split, piece_shape


def _attributes(x: Any, window: Sequence[Any], count_include_pad: Any, divisor: Any) -> Attributes:
    """Return the attributes, with the box of the elements that count. window: kernel, strides, pads, and so on."""
    resolved, num_axes = pool_attributes(x, *window), len(x.shape) - 2
    pads = window[2] if as_truth(count_include_pad, "count_include_pad") else 0
    around = for_each(pads, "pads", 2 * num_axes, least=0)
    counted = tuple((-around[axis], size + around[axis + num_axes]) for axis, size in enumerate(x.shape[2:]))
    number = None if divisor is None else as_integer(divisor, "divisor")
    if number is not None and not 0 < abs(number) <= kMaxSize:
        raise ValueError(f"divisor is {number}; it must be another number than 0, within 2**63 of it")
    return {**resolved, "counted": counted, "divisor": number}


def _gradient(back: Backward) -> Gradients:
    given = {**back.attributes, "shape": tuple(back.inputs[0].shape)}
    return [computed("average_pool_grad", back.dy, given)]


@operator(shape=pool_shape, dtype=SameAs("x"), signatures=pool_signatures(P), local=pool_local, gradient=_gradient)
def average_pool(
    x: Tensor,
    kernel: Any,
    strides: Any = 1,
    pads: Any = 0,
    dilations: Any = 1,
    ceil_mode: bool = False,
    count_include_pad: bool = False,
    divisor: int | None = None,
) -> Attributes:
    """Return the mean of each window of `x`, as ONNX's AveragePool and PyTorch's `avg_pool1d` to `avg_pool3d`.

    x: array of shape (N, C, sizes...), with one to three spatial axes, of a floating dtype.
    kernel, strides, pads, dilations, ceil_mode: as of `max_pool`.
    count_include_pad: whether padding counts, as zeros. Places that `ceil_mode` adds never count.
    divisor: the number to divide sums by; None for the number of elements that count.
    out: where to put the result, an array of its shape and dtype.

    The result has shape (N, C, counts...); the mean of no elements is NaN. Types up to float32 are accumulated in
    float64 and rounded once. Raises ValueError for a shape of x and for attributes that do not fit.
    """
    return _attributes(x, (kernel, strides, pads, dilations, ceil_mode), count_include_pad, divisor)


def _grad_shape(shapes: Sequence[Dims], attributes: Attributes) -> list[Dims]:
    return [attributes["shape"]]


def _grad_signatures(problem: Problem) -> Iterator[SbpSignature]:
    (dy,), (x,) = problem.shapes, problem.out_shapes
    found = pool_windows(x, problem.attributes)
    for plane in (Split(0), Split(1)):
        yield signature(plane, plane)
    for spatial in map(Split, range(2, len(dy))):
        yield signature(B, spatial)
        yield signature(spatial, P)
        if found.stay(spatial.axis - 2, (spatial, spatial, B), problem.ranks):
            yield signature(spatial, spatial)
    adds = any(map(found.meet, range(len(dy) - 2))) or (problem.attributes["divisor"] or 1) < 0
    for partial in (P,) if adds else partials_of(problem.types[0]):
        yield signature(partial, partial)


def _grad_local(problem: Problem, signature: SbpSignature, rank: int) -> Attributes:
    """Return the attributes of a rank: its piece of the result, and the pads of it for the rank's windows."""
    (x,), (of_dy,), (out,) = problem.out_shapes, signature.inputs, signature.outputs
    local = pool_local(problem._replace(shapes=[x]), SbpSignature((out,), (of_dy,)), rank)
    return {**local, "shape": piece_shape(x, out, problem.ranks, rank)}


class _Shaped:
    """What the attributes of a pool are resolved for: an array of a shape."""

    def __init__(self, shape: Dims) -> None:
        self.shape = shape


def _grad_gradient(back: Backward) -> Gradients:
    given = {name: value for name, value in back.attributes.items() if name != "shape"}
    return [computed("average_pool", back.dy, given)]


@operator(
    shape=_grad_shape,
    dtype=SameAs("dy"),
    signatures=_grad_signatures,
    local=_grad_local,
    gradient=_grad_gradient,
)
def average_pool_grad(
    dy: Tensor,
    shape: Any,
    kernel: Any,
    strides: Any = 1,
    pads: Any = 0,
    dilations: Any = 1,
    ceil_mode: bool = False,
    count_include_pad: bool = False,
    divisor: int | None = None,
) -> Attributes:
    """Return the gradient of `average_pool`: for each element of x, the sum of the shares of its windows' `dy`.

    dy: the gradient with respect to the result of average_pool, of its shape and of a floating dtype.
    shape: that of x. The other arguments are those of `average_pool`.
    out: where to put the result, an array of its shape and dtype.

    Types up to float32 are accumulated in float64 and rounded once. Raises ValueError for shapes and attributes that do
    not fit.
    """
    x = _Shaped(as_sizes((shape,), "shape"))
    given = _attributes(x, (kernel, strides, pads, dilations, ceil_mode), count_include_pad, divisor)
    (expected,) = pool_shape([x.shape], given)
    if tuple(dy.shape) != expected:
        raise ValueError(f"dy has shape {tuple(dy.shape)}; the result of average_pool has {expected}")
    return {"shape": x.shape, **given}


_FILL = primitive_exists(FillFactory, data_type("out"))
_SUMS = (
    data_type("out").one_of(*FLOATS)
    & views_exist()
    & primitive_exists(ConstantPadFactory, WIDE)
    & primitive_exists(ExpressionFactory, Quotient())
    & primitive_exists(FillFactory, WIDE)
)


def _divisor(found: Windows, attributes: Attributes) -> int | None:
    """Return the number by which all sums are divided; None if windows have different numbers of elements."""
    if attributes["divisor"] is not None:
        number: int = attributes["divisor"]
        return number
    return math.prod(found.kernel) if found.are_within(attributes["counted"]) else None


def _add_counts(steps: list[Any], calls: Calls, moves: WindowMoves, fill: Any, found: Windows) -> Value:
    """Add the sums of windows of ones to the steps of a plan, and return them: a plane."""
    ones, kind = found.cut_to(calls.attributes["counted"]), calls.subject.data_types["out"]
    one_each, counts = Temporary((1, *ones.sizes), kind.dtype), Temporary((1, *ones.counts), WIDE.dtype)
    steps.append(Launch(fill, one_each, 1, math.prod(ones.sizes)))
    padded = moves.moved(steps, one_each, moves.padding((1,), ones))
    add_sums(steps, calls.subject, of_windows(1, ones), padded, (1, *ones.padded), counts, (kind, WIDE))
    return counts


@launching("average_pool", MOVES, _FILL, when=_SUMS, src="x", dst="out")
def average_pool_kernel(calls: Calls, moves: WindowMoves, fill: Any) -> Plan:
    """Return launches of ConstantPad, if there is padding, and Expression, which adds up views, one for each place of a
    window. It divides by sums of ones if they differ."""
    (x,), (result,) = calls.shapes, pool_shape(calls.shapes, calls.attributes)
    if 0 in result:
        return Plan()
    found, planes, steps = pool_windows(x, calls.attributes), math.prod(x[:2]), list[Any]()
    by, kind = _divisor(found, calls.attributes), calls.subject.data_types["out"]
    of_x, out = (planes, *found.padded), View(RESULT, (planes, *found.counts))
    padded = View(moves.moved(steps, Placeholder(0), moves.padding((planes,), found)), of_x)
    numbers = _add_counts(steps, calls, moves, fill, found) if by is None else None
    add_sums(steps, calls.subject, of_windows(planes, found), padded, of_x, out, (kind, kind), by, numbers)
    return Plan(*steps, copy=moves.copy(math.prod(result)))


@launching("average_pool_grad", MOVES, _FILL, when=_SUMS, src="dy", dst="out")
def average_pool_grad_kernel(calls: Calls, moves: WindowMoves, fill: Any) -> Plan:
    """Return launches of Expression: elements as far apart as windows are one sum of views of dy, written to their
    places."""
    (dy,), x, kind = calls.shapes, calls.attributes["shape"], calls.subject.data_types["out"]
    found, planes, steps = pool_windows(x, calls.attributes), math.prod(x[:2]), list[Any]()
    if 0 in x:
        return Plan()
    if 0 in dy:
        return Plan(Launch(fill, RESULT, 0, math.prod(x)))
    of_dy, of_x = (planes, *found.counts), (planes, *found.sizes)
    stages = at_places(planes, found)
    if found.is_partition:  # each element has a share of its window alone
        each = [*zip(found.counts, found.kernel, strict=True)]
        of_dy, of_x = (planes, *(one for count, _ in each for one in (count, 1))), (planes, *itertools.chain(*each))
        stages = [as_it_is(of_x)]
    by, source = _divisor(found, calls.attributes), kind
    shares: Value = View(Placeholder(0), of_dy)
    if by is None:
        counts, divided = _add_counts(steps, calls, moves, fill, found), Temporary(of_dy, WIDE.dtype)
        add_sums(steps, calls.subject, [as_it_is(of_dy)], shares, of_dy, divided, (kind, WIDE), None, counts)
        by, shares, source = 1, divided, WIDE
    add_sums(steps, calls.subject, stages, shares, of_dy, View(RESULT, of_x), (source, kind), by)
    return Plan(*steps, copy=moves.copy(math.prod(x)))


_MEAN = primitive_exists(ReduceFactory, ReduceOp.kMean, data_type("x"), kMaxNumDims)
_DIV = primitive_exists(BroadcastElementwiseBinaryFactory, BinaryOp.kDiv, data_type("x"), data_type("x"), 2)


@launching(
    "average_pool",
    *(MOVES, _FILL, _MEAN, _DIV),
    when=(data_type("x") == WIDE) & (attribute("divisor") == None),  # noqa: E711
    priority=1,
    src="x",
    dst="out",
)
def mean_pool_kernel(calls: Calls, moves: WindowMoves, fill: Any, mean: Any, div: Any) -> Plan:
    """Return launches that write windows, and Reduce: a mean if all windows have the same number of elements.

    Otherwise it computes means with zeros in the padding, divided by those of windows of ones. Means of this type do
    not overflow if they are no sums.
    """
    (x,), (result,) = calls.shapes, pool_shape(calls.shapes, calls.attributes)
    if 0 in result:
        return Plan()
    planes, found, counted = x[:2], pool_windows(x, calls.attributes), calls.attributes["counted"]
    dims = math.prod(planes), math.prod(found.kernel), math.prod(found.counts)

    def means(planes: Dims, found: Windows, dims: Dims) -> list[Move]:
        """Return the moves that write windows, and compute their means."""
        last = Move((*planes, *found.counts), Plan(Launch(mean, dims, Placeholder(0), (1,), RESULT)))
        return [*moves.padding(planes, found), *moves.writing(planes, found), last]

    if found.are_within(counted):
        return moves.chain(x, means(planes, found, dims))
    ones, steps = found.cut_to(counted), list[Any]()
    one_each = Temporary(ones.sizes, moves.dtype)
    steps.append(Launch(fill, one_each, 1, math.prod(ones.sizes)))
    parts = moves.moved(steps, one_each, means((), ones, (1, *dims[1:])))
    of_x = moves.moved(steps, Placeholder(0), means(planes, found, dims))
    return Plan(*steps, Launch(div, (dims[0], dims[2]), of_x, dims[2:], parts, RESULT))
