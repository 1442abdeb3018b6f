"""max_pool and average_pool: one value for each window of an array, along one to three spatial axes."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ep.common.checks import as_truth
from ep.common.primitive.broadcast import Dims
from ep.common.primitive.windows import Windows
from ep.include.arrays import RESULT, Array, Arrays, Placeholder
from ep.include.data_type import DataType
from ep.include.number_kind import BOOL, FLOATS
from ep.include.primitive.binary_op import BinaryOp
from ep.include.primitive.broadcast_elementwise_binary import BroadcastElementwiseBinaryFactory
from ep.include.primitive.cast import CastFactory
from ep.include.primitive.fill import FillFactory
from ep.include.primitive.primitive import kMaxNumDims
from ep.include.primitive.reduce import ReduceFactory
from ep.include.primitive.reduce_op import ReduceOp
from ep.ops.declare.function import Tensor, operator
from ep.ops.declare.operator import Attributes
from ep.ops.declare.type_rules import SameAs
from ep.ops.kernels import (
    Launches,
    OneLaunch,
    PrimitiveExists,
    Subject,
    data_type,
    primitive_exists,
    register_kernel,
)
from ep.ops.names import in_errors
from ep.ops.sbp_signatures import PMAX, B, P, signature
from ep.ops.window_kernel import Move, WindowKernel
from ep.ops.windows import PlacedWindows, for_each, in_steps, num_spatial, windows
from ep.sbp import Problem, Sbp, Signature, Split


def _of(of_x: Dims, attributes: Attributes) -> PlacedWindows:
    return windows(of_x[2:], attributes["kernel"], attributes)


def _shape(shapes: Sequence[Dims], attributes: Attributes) -> list[Dims]:
    return [(*shapes[0][:2], *_of(shapes[0], attributes).counts)]


def _signatures(partial: Sbp) -> Any:
    """Return the function that yields the signatures. partial: the SBP of results of pieces along a spatial axis."""

    def signatures(problem: Problem) -> Iterator[Signature]:
        (x,) = problem.shapes
        found = _of(x, problem.attributes)
        for plane in (Split(0), Split(1)):
            yield signature(plane, plane)
        for spatial in map(Split, range(2, len(x))):
            yield signature(B, spatial)
            if found.stay(spatial.axis - 2, (spatial, spatial, B), problem.ranks):
                yield signature(spatial, spatial)
            yield signature(spatial, partial)
        yield signature(partial, partial)

    return signatures


def _local(problem: Problem, signature: Signature, rank: int) -> Attributes:
    """Return the attributes of a rank: the pads of its piece of x, and which elements count there."""
    (x,), given = problem.shapes, problem.attributes
    places = (*signature.inputs, *signature.outputs, B)
    found, ranks = _of(x, given), problem.ranks
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
    found = _of(of_x, given).beyond()
    return {**given, "pads": (*found.before, *found.after)}


@operator(shape=_shape, dtype=SameAs("x"), signatures=_signatures(PMAX), local=_local)
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


@operator(shape=_shape, dtype=SameAs("x"), signatures=_signatures(P), local=_local)
def average_pool(
    x: Tensor,
    kernel: Any,
    strides: Any = 1,
    pads: Any = 0,
    dilations: Any = 1,
    ceil_mode: bool = False,
    count_include_pad: bool = False,
) -> Attributes:
    """Return the mean of each window of `x`, as ONNX's AveragePool and PyTorch's `avg_pool1d` to `avg_pool3d`.

    x: array of shape (N, C, sizes...), with one to three spatial axes, of a floating dtype.
    kernel, strides, pads, dilations, ceil_mode: as of `max_pool`.
    count_include_pad: whether padding counts, as zeros. Places that `ceil_mode` adds never count.
    out: where to put the result, an array of its shape and dtype.

    The result has shape (N, C, counts...); the mean of no elements is NaN. float16 and bfloat16 are accumulated in
    float32 and rounded once. Raises ValueError for a shape of x and for attributes that do not fit.
    """
    resolved = pool_attributes(x, kernel, strides, pads, dilations, ceil_mode)
    sizes, num_axes = x.shape[2:], len(x.shape) - 2
    around = for_each(pads if as_truth(count_include_pad, "count_include_pad") else 0, "pads", 2 * num_axes, least=0)
    counted = tuple((-around[axis], size + around[axis + num_axes]) for axis, size in enumerate(sizes))
    return {**resolved, "counted": counted}


class _PoolKernel(WindowKernel):
    """The base of kernels that reduce windows."""

    names = in_errors(src="x", dst="out")

    def prepare(self, shapes: Sequence[Dims], attributes: Attributes) -> Launches:
        (x,), (result,) = shapes, _shape(shapes, attributes)
        return self.pooling(x, attributes) if 0 not in result else lambda arrays, inputs, outputs: None

    def pooling(self, x: Dims, attributes: Attributes) -> Launches:
        """Return the launches for a result that has elements."""
        raise NotImplementedError


_MAX = primitive_exists(ReduceFactory, ReduceOp.kMax, data_type("x"), kMaxNumDims)


@register_kernel("max_pool", matches=WindowKernel.moves_exist & _MAX)
class MaxPoolKernel(_PoolKernel):
    """A kernel of Reduce, which reads windows in place if the device can do so.

    Otherwise it handles one axis after the other: Expand writes the windows, and Reduce folds them. Adjacent windows
    that together have all elements are not written.
    """

    def __init__(self, subject: Subject) -> None:
        super().__init__(subject)
        self._max = _MAX.make(subject)

    def pooling(self, x: Dims, attributes: Attributes) -> Launches:
        found, planes = _of(x, attributes), math.prod(x[:2])
        over = self._max.over_windows(found.in_planes(planes)) if 0 not in found.sizes else None
        if over is None:
            return self.chain(x, self._moves(x[:2], found))
        return lambda arrays, inputs, outputs: over(arrays.stream, *inputs, *outputs)

    def _moves(self, planes: Dims, found: Windows) -> Iterator[Move]:
        yield from self.padding(planes, found, least(self.subject.data_types["x"]))
        sizes, outer = found.padded, math.prod(planes)
        for axis, places in enumerate(found.kernel):
            one = found.along(axis, sizes)
            if one.is_split:
                dims = outer * math.prod(one.counts[: axis + 1]), places, math.prod(sizes[axis + 1 :])
            else:
                yield from self.writing(planes, one)
                dims = outer, places, math.prod(one.counts)
            sizes = one.counts
            if places > 1:
                yield Move((*planes, *sizes), OneLaunch(self._max, dims, Placeholder(0), (1,), RESULT))


def least(data_type: DataType) -> Any:
    """Return the lowest value of a type."""
    if data_type in FLOATS:
        return -math.inf
    return False if data_type in BOOL else np.iinfo(data_type.dtype).min


_MEAN = primitive_exists(ReduceFactory, ReduceOp.kMean, data_type("x"), kMaxNumDims)
_FILL = primitive_exists(FillFactory, data_type("x"))


def _divided_in(wide: Any) -> Sequence[PrimitiveExists]:
    """Return the primitives to convert to a type, to compute means and divide in it, and to convert from it.

    wide: a DataType, or that of x.
    """
    return (
        primitive_exists(CastFactory, data_type("x"), wide),
        primitive_exists(ReduceFactory, ReduceOp.kMean, wide, kMaxNumDims),
        primitive_exists(BroadcastElementwiseBinaryFactory, BinaryOp.kDiv, wide, wide, 2),
        primitive_exists(CastFactory, wide, data_type("out")),
    )


class AveragePoolKernel(_PoolKernel):
    """A kernel of windows that Expand writes, and Reduce: a mean if all windows have the same number of elements.

    Otherwise it computes means with zeros in the padding, divided by those of windows of ones: sums could overflow, and
    the mean of a window without padding is the same in both ways.
    """

    wide: DataType | None
    """The type of means that are divided; None for that of x."""

    def __init__(self, subject: Subject) -> None:
        super().__init__(subject)
        self._mean, self._fill = _MEAN.make(subject), _FILL.make(subject)
        divided = (one.make(subject) for one in _divided_in(self.wide or data_type("x")))
        self._widen, self._wide_mean, self._div, self._narrow = divided

    def pooling(self, x: Dims, attributes: Attributes) -> Launches:
        planes, found, counted = x[:2], _of(x, attributes), attributes["counted"]
        moves = [*self.padding(planes, found), *self.writing(planes, found)]
        dims = math.prod(planes), math.prod(found.kernel), math.prod(found.counts)
        if found.are_within(counted):
            mean = OneLaunch(self._mean, dims, Placeholder(0), (1,), RESULT)
            return self.chain(x, [*moves, Move((*planes, *found.counts), mean)])
        ones = found.cut_to(counted)
        of_ones = [*self.padding((), ones), *self.writing((), ones)]

        def launches(arrays: Arrays, inputs: Sequence[Array], outputs: Sequence[Array]) -> None:
            stream, (out,) = arrays.stream, outputs
            one_each = arrays.empty(ones.sizes, out.dtype)
            self._fill.Launch(stream, one_each, 1, math.prod(ones.sizes))
            parts = self._means(arrays, one_each, of_ones, (1, *dims[1:]))
            means = self._means(arrays, inputs[0], moves, dims)
            result = out if self.wide is None else means
            self._div.Launch(stream, (dims[0], dims[2]), means, dims[2:], parts, result)
            if result is not out:
                self._narrow.Launch(stream, result, out, math.prod(out.shape))

        return launches

    def _means(self, arrays: Arrays, array: Array, moves: Sequence[Move], dims: Dims) -> Array:
        """Queue the moves that write windows, and the means of the windows; return the means."""
        written, wide = self.moved(arrays, array, moves), self.wide
        dtype = written.dtype if wide is None else wide.dtype
        if wide is not None:
            widened = arrays.empty(dims, dtype)
            self._widen.Launch(arrays.stream, written, widened, math.prod(dims))
            written = widened
        means = arrays.empty((dims[0], dims[2]), dtype)
        self._wide_mean.Launch(arrays.stream, dims, written, (1,), means)
        return means


def _register(types: Sequence[DataType], wide: DataType | None) -> None:
    """Register the kernel for some types."""
    matches = data_type("x").one_of(*types) & WindowKernel.moves_exist & _MEAN & _FILL
    for one in _divided_in(wide or data_type("x")):
        matches &= one
    kernel = type("AveragePoolKernel", (AveragePoolKernel,), {"wide": wide, "__doc__": AveragePoolKernel.__doc__})
    kernel.__module__ = __name__
    register_kernel("average_pool", matches=matches)(kernel)


_NARROW = (DataType.kFloat16, DataType.kBFloat16)
_register(_NARROW, wide=DataType.kFloat)
_register([one for one in FLOATS if one not in _NARROW], wide=None)
