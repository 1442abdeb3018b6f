"""The kernel of conv_w_grad for depthwise convolutions: a sum of products of dy and a view of x for each place."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any, Final

from ep.common.primitive.broadcast import Dims
from ep.include.arrays import RESULT, Array, Arrays, Placeholder
from ep.include.data_type import DataType
from ep.include.primitive.binary_op import BinaryOp
from ep.include.primitive.expression import ExpressionFactory
from ep.include.primitive.permute import PermuteFactory
from ep.include.primitive.primitive import kMaxNumDims
from ep.include.primitive.reduce_op import ReduceOp
from ep.include.primitive.registry import RequirePrimitive
from ep.include.primitive.structure import Step, Structure
from ep.include.primitive.unary_op import UnaryOp
from ep.ops.conv import IS_DEPTHWISE
from ep.ops.conv_grad import ConvWGradKernel
from ep.ops.declare.operator import Attributes
from ep.ops.depthwise import NARROW
from ep.ops.kernels import Launches, OneLaunch, Subject, primitive_exists, register_kernel
from ep.ops.kernels.conditions import Value
from ep.ops.window_kernel import Move
from ep.ops.windows import windows

_MOST_PLACES: Final = 9
"""The most places of a window for which one launch has sums."""


def _structure(kind: DataType, places: int) -> Structure:
    """Return the structure of sums of products of the first source with each of the others."""
    steps, results, wide = list[Step](), [], DataType.kFloat if kind in NARROW else kind

    def add(op: Any, *operands: int, to: DataType = wide) -> int:
        steps.append(Step(op, operands, to))
        return places + len(steps)

    def widened(value: int) -> int:
        return value if wide is kind else add(UnaryOp.kCast, value)

    first = widened(0)
    for place in range(places):
        total = add(ReduceOp.kSum, add(BinaryOp.kMul, first, widened(1 + place)))
        results.append(total if wide is kind else add(UnaryOp.kCast, total, to=kind))
    return Structure((kind,) * (1 + places), (), tuple(steps), tuple(results))


class _TwoSums(Value):
    """The structure of windows of two places: a device that supports it supports larger windows, too."""

    def of(self, subject: Subject) -> Structure:
        return _structure(subject.data_types["out"], 2)

    def __str__(self) -> str:
        return 'products(data_type("out"))'


_PERMUTE = primitive_exists(PermuteFactory, kMaxNumDims)


@register_kernel(
    "conv_w_grad",
    matches=IS_DEPTHWISE & ConvWGradKernel.exists & _PERMUTE & primitive_exists(ExpressionFactory, _TwoSums()),
    priority=1,
)
class DepthwiseWGradKernel(ConvWGradKernel):
    """A kernel of Expression, which reads views of padded x in place.

    If there are more channels than windows in a row, or rows have gaps, Permute makes channels the last axis.
    """

    def __init__(self, subject: Subject) -> None:
        super().__init__(subject)
        self._permute = _PERMUTE.make(subject)

    def prepare(self, shapes: Sequence[Dims], attributes: Attributes) -> Launches:
        (dy, x), w, groups = shapes, attributes["shape"], attributes["groups"]
        if 0 in w:
            return lambda arrays, inputs, outputs: None
        if x[0] * math.prod(dy[2:]) < 2:
            return super().prepare(shapes, attributes)  # there is nothing to add up
        found, filters, num_axes = windows(x[2:], w[2:], attributes), w[0] // groups, len(x) - 2
        spatial = tuple(range(2, num_axes + 2))
        last = found.strides[-1] > 1 or groups > found.counts[-1]
        of_dy, of_x = [*self._apart(dy, groups, filters, last)], [*self.padding(x[:2], found)]
        padded = (*x[:2], *found.padded)
        if last:
            order = (0, *spatial, 1)
            of_x.append(self._permuted(padded, order))
        all_of, places = (slice(None),) * 2, []
        for taps in itertools.product(*(found.taps(axis) for axis in range(num_axes))):
            places.append((slice(None), *taps, slice(None)) if last else (*all_of, *taps))
        ones = (None,) * num_axes
        # the axes of a view of x, and of the sums of one place in (groups, filters): filters are an axis of their own
        of_view = (*range(num_axes + 1), None, num_axes + 1) if last else (0, 1, None, *spatial)
        of_sums = (None, *ones, 0, 1) if last else (None, 0, 1, *ones)
        summed = (len(places), filters, groups) if last else (len(places), groups, filters)
        put = self._permuted(summed, (2, 1, 0) if last else (1, 2, 0)).launch
        runs = [range(begin, min(begin + _MOST_PLACES, len(places))) for begin in range(0, len(places), _MOST_PLACES)]
        sums = [self._sums(len(run)) for run in runs]
        dims = (dy[0], *dy[2:], filters, groups) if last else (dy[0], groups, filters, *dy[2:])
        shape = (x[0], *found.padded, x[1]) if last else padded

        def launches(arrays: Arrays, inputs: Sequence[Array], outputs: Sequence[Array]) -> None:
            by = self.moved(arrays, inputs[0], of_dy).reshape(dims)
            elements = self.moved(arrays, inputs[1], of_x).reshape(shape)
            found = arrays.empty(summed, elements.dtype)
            for run, add in zip(runs, sums, strict=True):
                taken = [arrays.view(elements, places[place], of_view, None) for place in run]
                written = [arrays.view(found, (place, *all_of), of_sums, None) for place in run]
                add.Launch(arrays.stream, written, [by, *taken])
            put(arrays, [found], outputs)

        return launches

    def _apart(self, dy: Dims, groups: int, filters: int, last: bool) -> Sequence[Move]:
        """Return the move that makes filters, and then groups, the last axes of dy, if they are to be."""
        if not last:
            return []
        split = (dy[0], groups, filters, math.prod(dy[2:]))
        return [self._permuted(split, (0, 3, 2, 1))]

    def _permuted(self, shape: Dims, order: Dims) -> Move:
        kind = self.subject.data_types["out"]
        return Move(
            tuple(shape[axis] for axis in order), OneLaunch(self._permute, kind, shape, Placeholder(0), order, RESULT)
        )

    def _sums(self, places: int) -> Any:
        """Return a new Expression for one plan. Its launches are fast because they all have the same shapes."""
        structure = _structure(self.subject.data_types["out"], places)
        return RequirePrimitive(ExpressionFactory, self.subject.device_type, structure)
