"""The kernel of conv_x_grad: a convolution of dy for the elements of x at each distance from the begin of a window."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ep.common.primitive.broadcast import Dims
from ep.common.primitive.windows import Windows, is_depthwise
from ep.include.arrays import RESULT, Array, Arrays, Placeholder
from ep.include.primitive.expression import ExpressionFactory
from ep.include.primitive.fill import FillFactory
from ep.include.primitive.permute import PermuteFactory
from ep.include.primitive.primitive import kMaxNumDims
from ep.include.primitive.structure import Step, Structure
from ep.include.primitive.unary_op import UnaryOp
from ep.ops.conv import ConvKernel
from ep.ops.declare.operator import Attributes
from ep.ops.depthwise import DepthwiseKernel
from ep.ops.kernels import Launches, OneLaunch, Subject, data_type, primitive_exists, register_kernel
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


_PERMUTE, _FILL = primitive_exists(PermuteFactory, kMaxNumDims), primitive_exists(FillFactory, data_type("out"))
_COPY = primitive_exists(ExpressionFactory, _Identity())


@register_kernel("conv_x_grad", matches=DepthwiseKernel.exists & _FILL & _PERMUTE & _COPY)
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
        self._depthwise = DepthwiseKernel(subject)

    def prepare(self, shapes: Sequence[Dims], attributes: Attributes) -> Launches:
        (dy, w), x, groups = shapes, attributes["shape"], attributes["groups"]
        if 0 in x:
            return lambda arrays, inputs, outputs: None
        if 0 in (*dy, *w):
            return lambda arrays, inputs, outputs: self._fill.Launch(arrays.stream, outputs[0], 0, math.prod(x))
        found, filters = windows(x[2:], w[2:], attributes), w[0] // groups
        if found.is_partition:
            return self._interleaved(dy, w, groups)
        exchanged, turned = [*self._exchanging(w, groups)], (x[1], filters, *w[2:])
        phases = [*itertools.product(*(_phases(found, axis) for axis in range(len(found.sizes))))]
        parts = [self._part(dy, turned, groups, phase) for phase in phases]
        is_one = {1}.issuperset(found.strides)
        has_gaps = len(phases) < math.prod(map(min, found.strides, found.sizes))
        every = slice(None), slice(None)

        def launches(arrays: Arrays, inputs: Sequence[Array], outputs: Sequence[Array]) -> None:
            (dy, w), (out,) = inputs, outputs
            if has_gaps:
                self._fill.Launch(arrays.stream, out, 0, math.prod(x))
            filters = self.moved(arrays, w, exchanged).reshape(turned)
            for phase, (shape, convolve) in zip(phases, parts, strict=True):
                used = filters
                if math.prod(turned[2:]) > 1:
                    used, places = arrays.empty(shape, out.dtype), (*every, *(one.places for one in phase))
                    self._copy.Launch(arrays.stream, [used], [arrays.view(filters, places, None, None)])
                target = arrays.view(out, (*every, *(one.elements for one in phase)), None, None)
                convolved = out if is_one else arrays.empty(target.shape, out.dtype)
                convolve(arrays, [dy, used], [convolved])
                if convolved is not out:
                    self._copy.Launch(arrays.stream, [target], [convolved])

        return self.without_overlap(launches, math.prod(x))

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
        product = OneLaunch(self._matmul, 1, dims[0], Placeholder(1), dims[1], Placeholder(0), 0, written, RESULT)
        turn = OneLaunch(self._permute, dtype, (groups, filters, rows), Placeholder(0), (0, 2, 1), RESULT)
        num, places = len(dy) - 2, w[2:]
        order = [axis for k in range(num) for axis in (1 + num + k, 1 + k)]
        apart = (dy[0] * groups * w[1], *places, *dy[2:])
        interleave = OneLaunch(self._permute, dtype, apart, Placeholder(0), (0, *order), RESULT)

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
            permute = OneLaunch(self._permute, self.subject.data_types["out"], dims, Placeholder(0), order, RESULT)
            yield Move((groups, w[1], filters, places), permute)
