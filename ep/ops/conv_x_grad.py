"""The kernel of conv_x_grad: a convolution of dy for the elements of x at each distance from the begin of a window."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from ep.common.primitive.broadcast import Dims
from ep.common.primitive.windows import Windows, is_depthwise
from ep.include.arrays import RESULT, Placeholder
from ep.include.primitive.expression import ExpressionFactory
from ep.include.primitive.fill import FillFactory
from ep.include.primitive.permute import PermuteFactory
from ep.include.primitive.primitive import kMaxNumDims
from ep.include.primitive.structure import Step, Structure
from ep.include.primitive.unary_op import UnaryOp
from ep.ops.conv import MATMUL, conv_kernel
from ep.ops.depthwise import SUMS_EXIST, depthwise_kernel
from ep.ops.kernels import Calls, Launch, Plan, Subject, Temporary, Value, View, data_type, launching, primitive_exists
from ep.ops.kernels.conditions import Value as SubjectValue
from ep.ops.regions import COPY_ND, columns
from ep.ops.window_kernel import MOVES, Move, WindowMoves
from ep.ops.windows import windows


class _Identity(SubjectValue):
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
_COPY = primitive_exists(ExpressionFactory, _Identity())


@launching(
    "conv_x_grad",
    *(MOVES, MATMUL, _FILL, _PERMUTE, _COPY, COPY_ND),
    when=SUMS_EXIST,
    name="ConvXGradKernel",
    a="w",
    b="dy",
    c="out",
    src="dy",
    dst="out",
)
def conv_x_grad_kernel(
    calls: Calls, moves: WindowMoves, matmul: Any, fill: Any, permute: Any, copy: Any, copy_nd: Any
) -> Plan:
    """Return a convolution of dy with the filters, which are reversed and exchanged with the channels.

    With strides, the elements of x at each distance from the begin of a window have filters of their own: some places
    of the others. If the windows of x neither overlap nor leave elements out, it is the product of w and dy, whose rows
    are then interleaved: nothing else is written.
    """
    (dy, w), x, groups = calls.shapes, calls.attributes["shape"], calls.attributes["groups"]
    if 0 in x:
        return Plan()
    if 0 in (*dy, *w):
        return Plan(Launch(fill, RESULT, 0, math.prod(x)))
    found, filters = windows(x[2:], w[2:], calls.attributes), w[0] // groups
    if found.is_partition:
        return _interleaved(moves, matmul, permute, dy, w, groups)
    dtype, num_places, steps = moves.dtype, math.prod(w[2:]), list[Any]()
    turned, rows = (x[1], filters, *w[2:]), x[1] * filters
    exchanged = moves.moved(steps, Placeholder(1), _exchanging(permute, dtype, w, groups))
    phases = [*itertools.product(*(_phases(found, axis) for axis in range(len(found.sizes))))]
    taken = [_places(phase, w[2:]) for phase in phases]
    has_gaps = len(phases) < math.prod(map(min, found.strides, found.sizes))
    each = zip(found.sizes, found.strides, strict=True)
    is_even = not has_gaps and all(size % stride == 0 for size, stride in each)
    by_place = [Temporary((rows, 1), dtype) for _ in range(num_places)]
    if any(len(places) < num_places for places in taken):
        steps.append(columns(copy_nd, dtype, (rows, num_places), 0, exchanged, by_place, to_parts=True))
    convolved = list[Value]()
    for phase, places in zip(phases, taken, strict=True):
        used: Value = Temporary((rows, len(places)), dtype)
        if len(places) == num_places > 1:
            backward = View(View(exchanged, (rows, num_places)), places=(slice(None), slice(None, None, -1)))
            steps.append(Launch(copy, [used], [backward]))
        elif len(places) > 1:
            parts = [by_place[place] for place in places]
            steps.append(columns(copy_nd, dtype, (rows, len(places)), 0, used, parts, to_parts=False))
        else:
            used = exchanged if num_places == 1 else by_place[places[0]]
        counts = (len(range(*one.elements.indices(size))) for one, size in zip(phase, x[2:], strict=True))
        result = RESULT if len(phases) == 1 and is_even else Temporary((*x[:2], *counts), dtype)
        shape, convolve = _part(calls, moves, matmul, turned, phase)
        steps.append(convolve.of([Placeholder(0), View(used, shape)], result))
        convolved.append(result)
    if is_even:
        steps += _interleaving(copy_nd, dtype, convolved, found)
    else:
        steps += [Launch(fill, RESULT, 0, math.prod(x))] * has_gaps
        for phase, part in zip(phases, convolved, strict=True):
            target = View(RESULT, places=(slice(None), slice(None), *(one.elements for one in phase)))
            steps.append(Launch(copy, [target], [part]))
    return Plan(*steps, copy=moves.copy(math.prod(x)))


def _interleaving(copy_nd: Any, dtype: Any, parts: Sequence[Any], found: Windows) -> Iterator[Launch]:
    """Yield the copies of equal parts, one for each phase, to their places: along the last axis first."""
    for axis in reversed(range(len(found.strides))):
        stride = found.strides[axis]
        if stride > 1:
            shape = parts[0].shape
            wide = (*shape[: axis + 2], stride * shape[axis + 2], *shape[axis + 3 :])
            groups = [parts[begin : begin + stride] for begin in range(0, len(parts), stride)]
            parts = [RESULT if len(groups) == 1 else Temporary(wide, dtype) for _ in groups]
            rows = math.prod(shape[: axis + 3])
            for whole, group in zip(parts, groups, strict=True):
                yield columns(copy_nd, dtype, (rows, math.prod(wide) // rows), 0, whole, group, to_parts=False)


def _part(calls: Calls, moves: WindowMoves, matmul: Any, w: Dims, phase: Sequence[_Phase]) -> tuple[Dims, Plan]:
    """Return the shape of the filters of a phase, and its convolution."""
    kernel = [len(range(*one.places.indices(size))) for one, size in zip(phase, w[2:], strict=True)]
    before, after = zip(*(one.pads for one in phase), strict=True)
    ones, dilations, groups = (1,) * len(phase), tuple(one.dilation for one in phase), calls.attributes["groups"]
    given = {"strides": ones, "pads": (*before, *after), "dilations": dilations, "groups": groups}
    shape = (*w[:2], *kernel)
    convolution = depthwise_kernel if is_depthwise(shape, groups) else conv_kernel
    return shape, convolution(Calls(calls.subject, [calls.shapes[0], shape], given), moves, matmul)


def _interleaved(moves: WindowMoves, matmul: Any, permute: Any, dy: Dims, w: Dims, groups: int) -> Plan:
    """Return the product of w, transposed, and dy, and the move of its rows, one for each place of x's windows."""
    filters, rows, dtype = w[0] // groups, math.prod(w[1:]), moves.dtype
    dims = (groups, rows, filters), (dy[0], groups, filters, math.prod(dy[2:]))
    turned, written = Temporary(dims[0], dtype), Temporary((dy[0], groups, rows, math.prod(dy[2:])), dtype)
    num, places = len(dy) - 2, w[2:]
    order = [axis for k in range(num) for axis in (1 + num + k, 1 + k)]
    separate = (dy[0] * groups * w[1], *places, *dy[2:])
    return Plan(
        Launch(permute, dtype, (groups, filters, rows), Placeholder(1), (0, 2, 1), turned),
        Launch(matmul, 1, dims[0], turned, dims[1], Placeholder(0), 0, written.shape, written),
        Launch(permute, dtype, separate, written, (0, *order), RESULT),
    )


def _exchanging(permute: Any, dtype: Any, w: Dims, groups: int) -> Iterator[Move]:
    """Yield the move that exchanges the channels and the filters of each group, if there are several of both."""
    places, filters = math.prod(w[2:]), w[0] // groups
    if filters > 1 and w[1] > 1:
        dims, order = (groups, filters, w[1], places), (0, 2, 1, 3)
        yield Move((groups, w[1], filters, places), Plan(Launch(permute, dtype, dims, Placeholder(0), order, RESULT)))
