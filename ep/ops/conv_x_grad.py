"""The kernel of conv_x_grad: a convolution of dy for the elements of x at each distance from the begin of a window."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from ep.common.primitive.broadcast import Dims
from ep.common.primitive.windows import Windows, is_depthwise
from ep.include.arrays import RESULT, Array, Arrays, Placeholder
from ep.include.primitive.copy_nd import CopyNdFactory
from ep.include.primitive.expression import ExpressionFactory
from ep.include.primitive.fill import FillFactory
from ep.include.primitive.permute import PermuteFactory
from ep.include.primitive.primitive import kMaxNumDims
from ep.include.primitive.structure import Step, Structure
from ep.include.primitive.unary_op import UnaryOp
from ep.ops.conv import ConvKernel
from ep.ops.declare.operator import Attributes
from ep.ops.depthwise import DepthwiseKernel
from ep.ops.kernels import Launch, Launches, Plan, Subject, data_type, primitive_exists, register_kernel
from ep.ops.kernels.conditions import Value
from ep.ops.names import in_errors
from ep.ops.window_kernel import Move
from ep.ops.windows import windows


class _Identity(Value):
    """The structure of a copy between views."""

    def of(self, subject: Subject) -> Structure:
        kind = subject.data_types["out"]
        return Structure((kind,), (), (Step(UnaryOp.kIdentity, (0,), kind),), (1,))

    def __str__(self) -> str:
        return 'identity(data_type("out"))'


class _Phase(NamedTuple):
    """Elements of x along an axis, as far apart as windows are, which have the same places in their windows.

    elements: in x. places: in filters, the last one first. pads, dilation: with which they are windows of dy.
    """

    elements: slice
    places: slice
    pads: tuple[int, int]
    dilation: int


def _phases(found: Windows, axis: int) -> Iterator[_Phase]:
    """Yield the phases of an axis that have places."""
    size, stride, places = found.sizes[axis], found.strides[axis], found.kernel[axis]
    far, before, count = found.dilations[axis], found.before[axis], found.counts[axis]
    step = stride // math.gcd(stride, far)
    for first in range(min(stride, size)):
        at = [place for place in range(places) if (first + before - place * far) % stride == 0]
        if at:
            number, dilation = -(-(size - first) // stride), step * far // stride
            begin = (first + before - at[-1] * far) // stride  # the first window of the first element
            end = begin + (len(at) - 1) * dilation + number
            among = slice(at[-1], at[0] - 1 if at[0] else None, -step)
            yield _Phase(slice(first, size, stride), among, (-begin, end - count), dilation)


def _places(phase: Sequence[_Phase], kernel: Dims) -> list[int]:
    """Return the numbers of the places of a phase among all places of a window, the last one first."""
    along = (range(*one.places.indices(size)) for one, size in zip(phase, kernel, strict=True))
    return [int(np.ravel_multi_index(place, kernel)) for place in itertools.product(*along)]


_PERMUTE, _FILL = primitive_exists(PermuteFactory, kMaxNumDims), primitive_exists(FillFactory, data_type("out"))
_COPY, _COPY_ND = primitive_exists(ExpressionFactory, _Identity()), primitive_exists(CopyNdFactory, kMaxNumDims)


@register_kernel("conv_x_grad", matches=DepthwiseKernel.exists & _FILL & _PERMUTE & _COPY & _COPY_ND)
class ConvXGradKernel(ConvKernel):
    """A convolution of dy with the filters, which are reversed and exchanged with the channels.

    With strides, the elements of x at each distance from the begin of a window have filters of their own: some places
    of the others. If the windows of x neither overlap nor leave elements out, it is the product of w and dy, whose rows
    are then interleaved: nothing else is written.
    """

    names = in_errors(a="w", b="dy", c="out", src="dy", dst="out")

    def __init__(self, subject: Subject) -> None:
        super().__init__(subject)
        self._fill, self._permute, self._copy = (one.make(subject) for one in (_FILL, _PERMUTE, _COPY))
        self._depthwise, self._copy_nd = DepthwiseKernel(subject), _COPY_ND.make(subject)

    def prepare(self, shapes: Sequence[Dims], attributes: Attributes) -> Launches:
        (dy, w), x, groups = shapes, attributes["shape"], attributes["groups"]
        if 0 in x:
            return lambda arrays, inputs, outputs: None
        if 0 in (*dy, *w):
            return lambda arrays, inputs, outputs: self._fill.Launch(arrays.stream, outputs[0], 0, math.prod(x))
        found, filters = windows(x[2:], w[2:], attributes), w[0] // groups
        if found.is_partition:
            return self._interleaved(dy, w, groups)
        exchanging, turned = [*self._exchanging(w, groups)], (x[1], filters, *w[2:])
        phases = [*itertools.product(*(_phases(found, axis) for axis in range(len(found.sizes))))]
        parts = [(_places(phase, w[2:]), *self._part(dy, turned, groups, phase)) for phase in phases]
        has_gaps = len(phases) < math.prod(map(min, found.strides, found.sizes))
        each = zip(found.sizes, found.strides, strict=True)
        is_even = not has_gaps and all(size % stride == 0 for size, stride in each)
        every, num_places = (slice(None), slice(None)), math.prod(w[2:])
        are_whole = all(len(places) == num_places for places, _, _ in parts)

        def launches(arrays: Arrays, inputs: Sequence[Array], outputs: Sequence[Array]) -> None:
            (dy, w), (out,) = inputs, outputs
            rows, exchanged_w = math.prod(turned[:2]), self.moved(arrays, w, exchanging)
            columns: list[Array] = []
            if not are_whole:
                columns = [arrays.empty((rows, 1), out.dtype) for _ in range(num_places)]
                self._columns(arrays, exchanged_w, rows, columns, to_parts=True)
            convolved = []
            for phase, (places, shape, convolve) in zip(phases, parts, strict=True):
                if len(places) == num_places > 1:
                    used = arrays.empty((rows, num_places), out.dtype)
                    backward = slice(None), slice(None, None, -1)
                    view = arrays.view(exchanged_w.reshape((rows, num_places)), backward, None, None)
                    self._copy.Launch(arrays.stream, [used], [view])
                elif len(places) > 1:
                    used = arrays.empty((rows, len(places)), out.dtype)
                    self._columns(arrays, used, rows, [columns[place] for place in places], to_parts=False)
                else:
                    used = exchanged_w if num_places == 1 else columns[places[0]]
                counts = (len(range(*one.elements.indices(size))) for one, size in zip(phase, x[2:], strict=True))
                result = out if len(phases) == 1 and is_even else arrays.empty((*x[:2], *counts), out.dtype)
                convolve(arrays, [dy, used.reshape(shape)], [result])
                convolved.append(result)
            if is_even:
                self._interleave(arrays, convolved, found, out)
                return
            if has_gaps:
                self._fill.Launch(arrays.stream, out, 0, math.prod(x))
            for phase, result in zip(phases, convolved, strict=True):
                target = arrays.view(out, (*every, *(one.elements for one in phase)), None, None)
                self._copy.Launch(arrays.stream, [target], [result])

        return self.without_overlap(launches, math.prod(x))

    def _columns(self, arrays: Arrays, whole: Array, rows: int, parts: Sequence[Array], *, to_parts: bool) -> None:
        """Queue the copies between an array and its parts, which are columns of its rows."""
        size = sum(part.size for part in parts) // rows
        self._copy_nd.LaunchColumns(arrays.stream, whole.dtype, whole, rows, size, 0, parts, to_parts)

    def _interleave(self, arrays: Arrays, parts: Sequence[Array], found: Windows, out: Array) -> None:
        """Queue the copies of equal parts, one for each phase, to their places: along the last axis first."""
        for axis in reversed(range(len(found.strides))):
            stride, shape = found.strides[axis], parts[0].shape
            if stride > 1:
                wide = (*shape[: axis + 2], stride * shape[axis + 2], *shape[axis + 3 :])
                groups = [parts[begin : begin + stride] for begin in range(0, len(parts), stride)]
                parts = [out if len(groups) == 1 else arrays.empty(wide, out.dtype) for _ in groups]
                for whole, group in zip(parts, groups, strict=True):
                    self._columns(arrays, whole, math.prod(shape[: axis + 3]), group, to_parts=False)

    def _part(self, dy: Dims, w: Dims, groups: int, phase: Sequence[_Phase]) -> tuple[Dims, Launches]:
        """Return the shape of the filters of a phase, and its convolution."""
        kernel = [len(range(*one.places.indices(size))) for one, size in zip(phase, w[2:], strict=True)]
        before, after = zip(*(one.pads for one in phase), strict=True)
        ones, dilations = (1,) * len(phase), tuple(one.dilation for one in phase)
        given = {"strides": ones, "pads": (*before, *after), "dilations": dilations, "groups": groups}
        shape = (*w[:2], *kernel)
        if is_depthwise(shape, groups):
            return shape, self._depthwise.prepare([dy, shape], given)
        return shape, self.product([dy, shape], given, in_place=True)

    def _interleaved(self, dy: Dims, w: Dims, groups: int) -> Launches:
        """Return the product of w, transposed, and dy, and the move of its rows, one for each place of x's windows."""
        filters, rows, dtype = w[0] // groups, math.prod(w[1:]), self.subject.data_types["out"]
        dims = (groups, rows, filters), (dy[0], groups, filters, math.prod(dy[2:]))
        written = (dy[0], groups, rows, math.prod(dy[2:]))
        product = Plan(Launch(self._matmul, 1, dims[0], Placeholder(1), dims[1], Placeholder(0), 0, written, RESULT))
        turn = Plan(Launch(self._permute, dtype, (groups, filters, rows), Placeholder(0), (0, 2, 1), RESULT))
        num, places = len(dy) - 2, w[2:]
        order = [axis for k in range(num) for axis in (1 + num + k, 1 + k)]
        apart = (dy[0] * groups * w[1], *places, *dy[2:])
        interleave = Plan(Launch(self._permute, dtype, apart, Placeholder(0), (0, *order), RESULT))

        def launches(arrays: Arrays, inputs: Sequence[Array], outputs: Sequence[Array]) -> None:
            dy, w = inputs
            multiplied = arrays.empty(written, dtype.dtype)
            product(arrays, [dy, self.moved(arrays, w, [Move(dims[0], turn)])], [multiplied])
            interleave(arrays, [multiplied], outputs)

        return launches

    def _exchanging(self, w: Dims, groups: int) -> Iterator[Move]:
        """Yield the move that exchanges the channels and the filters of each group, if there are several of both."""
        places, filters = math.prod(w[2:]), w[0] // groups
        if filters > 1 and w[1] > 1:
            dims, order = (groups, filters, w[1], places), (0, 2, 1, 3)
            permute = Plan(Launch(self._permute, self.subject.data_types["out"], dims, Placeholder(0), order, RESULT))
            yield Move((groups, w[1], filters, places), permute)
