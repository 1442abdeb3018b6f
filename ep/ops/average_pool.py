"""average_pool and its gradient: the mean of each window of an array."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from ep.common.checks import as_integer, as_truth, kMaxSize
from ep.common.primitive.broadcast import Dims
from ep.common.primitive.windows import Windows
from ep.include.arrays import RESULT, Array, Arrays, Placeholder
from ep.include.data_type import DataType
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
from ep.ops.kernels import Launch, Launches, Plan, Subject, attribute, data_type, primitive_exists, register_kernel
from ep.ops.names import in_errors
from ep.ops.pool import pool_attributes, pool_local, pool_shape, pool_signatures, pool_windows
from ep.ops.sbp_signatures import B, P, partials_of, signature
from ep.ops.shapes import as_sizes
from ep.ops.terms import computed
from ep.ops.window_kernel import Move, WindowKernel
from ep.ops.window_sums import WIDE, Quotient, Stage, Sums, as_it_is, at_places, of_windows
from ep.ops.windows import for_each
from ep.sbp import Problem, Signature, Split, piece_shape


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


def _grad_signatures(problem: Problem) -> Iterator[Signature]:
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


def _grad_local(problem: Problem, signature: Signature, rank: int) -> Attributes:
    """Return the attributes of a rank: its piece of the result, and the pads of it for the rank's windows."""
    (x,), (of_dy,), (out,) = problem.out_shapes, signature.inputs, signature.outputs
    local = pool_local(problem._replace(shapes=[x]), Signature((out,), (of_dy,)), rank)
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
    & WindowKernel.moves_exist
    & primitive_exists(ConstantPadFactory, WIDE)
    & primitive_exists(ExpressionFactory, Quotient())
    & primitive_exists(FillFactory, WIDE)
    & _FILL
)


class _SumsKernel(WindowKernel):
    """The base of kernels of Expression, which adds up views, one for each place of a window."""

    names = in_errors(src="x", dst="out")

    def __init__(self, subject: Subject) -> None:
        super().__init__(subject)
        self._fill, self._type = _FILL.make(subject), subject.data_types["out"]

    def sums(self, stages: Sequence[Stage], source: DataType, result: DataType, by: int | None = 1) -> Sums:
        return Sums(self.subject.device_type, stages, source, result, by)

    def divisor(self, found: Windows, attributes: Attributes) -> int | None:
        """Return the number by which all sums are divided; None if windows have different numbers of elements."""
        if attributes["divisor"] is not None:
            number: int = attributes["divisor"]
            return number
        return math.prod(found.kernel) if found.are_within(attributes["counted"]) else None

    def counting(self, found: Windows, attributes: Attributes) -> Callable[[Arrays], Array]:
        """Return the function that queues the sums of windows of ones, and returns them: a plane."""
        ones = found.cut_to(attributes["counted"])
        moves, sums = [*self.padding((1,), ones)], self.sums(of_windows(1, ones), self._type, WIDE)

        def counts(arrays: Arrays) -> Array:
            one_each, result = arrays.empty((1, *ones.sizes), self._type.dtype), (1, *ones.counts)
            self._fill.Launch(arrays.stream, one_each, 1, math.prod(ones.sizes))
            written = arrays.empty(result, WIDE.dtype)
            sums.launch(arrays, self.moved(arrays, one_each, moves), written)
            return written

        return counts


@register_kernel("average_pool", matches=_SUMS)
class AveragePoolKernel(_SumsKernel):
    """A kernel of ConstantPad, if there is padding, and Expression. It divides by sums of ones if they differ."""

    def prepare(self, shapes: Sequence[Dims], attributes: Attributes) -> Launches:
        (x,), (result,) = shapes, pool_shape(shapes, attributes)
        if 0 in result:
            return lambda arrays, inputs, outputs: None
        found, planes = pool_windows(x, attributes), math.prod(x[:2])
        by, moves = self.divisor(found, attributes), [*self.padding((planes,), found)]
        sums = self.sums(of_windows(planes, found), self._type, self._type, by)
        counts = self.counting(found, attributes) if by is None else None

        def launches(arrays: Arrays, inputs: Sequence[Array], outputs: Sequence[Array]) -> None:
            padded = self.moved(arrays, inputs[0], moves).reshape((planes, *found.padded))
            numbers = None if counts is None else counts(arrays)
            sums.launch(arrays, padded, outputs[0].reshape((planes, *found.counts)), numbers)

        return self.without_overlap(launches, math.prod(result))


@register_kernel("average_pool_grad", matches=_SUMS)
class AveragePoolGradKernel(_SumsKernel):
    """A kernel of Expression: elements as far apart as windows are one sum of views of dy, written to their places."""

    names = in_errors(src="dy", dst="out")

    def prepare(self, shapes: Sequence[Dims], attributes: Attributes) -> Launches:
        (dy,), x = shapes, attributes["shape"]
        found, planes = pool_windows(x, attributes), math.prod(x[:2])
        if 0 in x:
            return lambda arrays, inputs, outputs: None
        if 0 in dy:
            return lambda arrays, inputs, outputs: self._fill.Launch(arrays.stream, outputs[0], 0, math.prod(x))
        by, of_dy, of_x, counts = self.divisor(found, attributes), (planes, *found.counts), (planes, *found.sizes), None
        stages = at_places(planes, found)
        if found.is_partition:  # each element has a share of its window alone
            each = [*zip(found.counts, found.kernel, strict=True)]
            of_dy, of_x = (planes, *(one for count, _ in each for one in (count, 1))), (planes, *itertools.chain(*each))
            stages = [as_it_is(of_x)]
        if by is None:
            counts = self.counting(found, attributes)
            sharing = self.sums([as_it_is(of_dy)], self._type, WIDE, None)
            sums = self.sums(stages, WIDE, self._type)
        else:
            sums = self.sums(stages, self._type, self._type, by)

        def launches(arrays: Arrays, inputs: Sequence[Array], outputs: Sequence[Array]) -> None:
            shares = inputs[0].reshape(of_dy)
            if counts is not None:
                divided = arrays.empty(of_dy, WIDE.dtype)
                sharing.launch(arrays, shares, divided, counts(arrays))
                shares = divided
            sums.launch(arrays, shares, outputs[0].reshape(of_x))

        return self.without_overlap(launches, math.prod(x))


_MEAN = primitive_exists(ReduceFactory, ReduceOp.kMean, data_type("x"), kMaxNumDims)
_DIV = primitive_exists(BroadcastElementwiseBinaryFactory, BinaryOp.kDiv, data_type("x"), data_type("x"), 2)


@register_kernel(
    "average_pool",
    matches=(data_type("x") == WIDE) & (attribute("divisor") == None) & _SUMS & _MEAN & _DIV,  # noqa: E711
    priority=1,
)
class MeanPoolKernel(WindowKernel):
    """A kernel of windows that Expand writes, and Reduce: a mean if all windows have the same number of elements.

    Otherwise it computes means with zeros in the padding, divided by those of windows of ones. Means of this type do
    not overflow if they are no sums.
    """

    names = in_errors(src="x", dst="out")

    def __init__(self, subject: Subject) -> None:
        super().__init__(subject)
        self._mean, self._fill, self._div = (one.make(subject) for one in (_MEAN, _FILL, _DIV))

    def prepare(self, shapes: Sequence[Dims], attributes: Attributes) -> Launches:
        (x,), (result,) = shapes, pool_shape(shapes, attributes)
        if 0 in result:
            return lambda arrays, inputs, outputs: None
        planes, found, counted = x[:2], pool_windows(x, attributes), attributes["counted"]
        dims = math.prod(planes), math.prod(found.kernel), math.prod(found.counts)
        moves = [*self._means(planes, found, dims)]
        if found.are_within(counted):
            return self.chain(x, moves)
        ones = found.cut_to(counted)
        of_ones = [*self._means((), ones, (1, *dims[1:]))]

        def launches(arrays: Arrays, inputs: Sequence[Array], outputs: Sequence[Array]) -> None:
            stream, (out,) = arrays.stream, outputs
            one_each = arrays.empty(ones.sizes, out.dtype)
            self._fill.Launch(stream, one_each, 1, math.prod(ones.sizes))
            parts, means = self.moved(arrays, one_each, of_ones), self.moved(arrays, inputs[0], moves)
            self._div.Launch(stream, (dims[0], dims[2]), means, dims[2:], parts, out)

        return launches

    def _means(self, planes: Dims, found: Windows, dims: Dims) -> Iterator[Move]:
        """Yield the moves that write windows, and compute their means."""
        yield from self.padding(planes, found)
        yield from self.writing(planes, found)
        yield Move((*planes, *found.counts), Plan(Launch(self._mean, dims, Placeholder(0), (1,), RESULT)))
