"""The kernel of conv_w_grad for depthwise convolutions: for each place of a window, sums of products of rows."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any, Final

from ep.common.primitive.broadcast import Dims
from ep.common.primitive.windows import Windows
from ep.include.arrays import RESULT, Array, Arrays, Placeholder
from ep.include.data_type import DataType
from ep.include.primitive.binary_op import BinaryOp
from ep.include.primitive.expression import Expression, ExpressionFactory
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
from ep.ops.kernels import Launch, Launches, Plan, Subject, primitive_exists, register_kernel
from ep.ops.kernels.conditions import Value
from ep.ops.window_kernel import Move
from ep.ops.windows import windows

_MOST_PLACES: Final = 9
"""The most places of a window for which one launch has sums."""


def _structure(kind: DataType, places: int) -> Structure:
    """Return the structure of sums of products of the first source with each of the others; 16-bit numbers give sums in
    float32."""
    steps, wide = list[Step](), _wide(kind)

    def add(op: Any, *operands: int) -> int:
        steps.append(Step(op, operands, wide))
        return places + len(steps)

    def widened(value: int) -> int:
        return value if wide is kind else add(UnaryOp.kCast, value)

    first = widened(0)
    results = [add(ReduceOp.kSum, add(BinaryOp.kMul, first, widened(1 + place))) for place in range(places)]
    return Structure((kind,) * (1 + places), (), tuple(steps), tuple(results))


def _wide(kind: DataType) -> DataType:
    return DataType.kFloat if kind in NARROW else kind


def _total(kind: DataType, *, is_sum: bool) -> Structure:
    """Return the structure of the gradient, from the sums of each batch or from those of the only one."""
    steps = [Step(ReduceOp.kSum if is_sum else UnaryOp.kIdentity, (0,), _wide(kind))]
    if kind in NARROW:
        steps.append(Step(UnaryOp.kCast, (1,), kind))
    return Structure((_wide(kind),), (), tuple(steps), (len(steps),))


class _TwoSums(Value):
    """The structure of windows of two places: a device that supports it supports larger windows, too."""

    def of(self, subject: Subject) -> Structure:
        return _structure(subject.data_types["out"], 2)

    def __str__(self) -> str:
        return 'products(data_type("out"))'


_PERMUTE = primitive_exists(PermuteFactory, kMaxNumDims)


class _Rows:
    """The rows of products along the first spatial axis, and all of the others.

    Windows meet the same elements at several places. For each place along the other axes, there is a copy of the
    elements that all windows have there, next to each other. So all elements at one place of the windows are one row of
    a copy, which begins a few windows later for the next place along the first axis. With strides, each copy is of one
    *phase* of x: of the elements with one remainder along each axis.
    """

    def __init__(self, found: Windows) -> None:
        """Find the rows.

        length: of a row. copies: of each, its phase, and the zeros before and after its axes; negative numbers remove
        elements. places: for each place of a window, the number of its copy, and where its row begins. size: the
        elements of a copy in one plane. sizes: of each phase.
        """
        self.length, inner = math.prod(found.counts), math.prod(found.counts[1:])
        self.copies: list[tuple[Dims, Dims, Dims]] = []
        self.places: list[tuple[int, int]] = []
        self.sizes: dict[Dims, Dims] = {}
        numbers: dict[Any, int] = {}
        steps = zip(found.kernel, found.dilations, found.before, found.strides, strict=True)
        along = [[divmod(place * far - pad, stride) for place in range(size)] for size, far, pad, stride in steps]
        least, most = (end(shift for shift, _ in along[0]) for end in (min, max))
        counts = most - least + found.counts[0], *found.counts[1:]
        self.size = math.prod(counts)
        for place in itertools.product(*along):
            shifts, phase = zip(*place, strict=True)
            sizes = zip(found.sizes, phase, found.strides, strict=True)
            of_phase = self.sizes[phase] = tuple(max(-((one - size) // stride), 0) for size, one, stride in sizes)
            before = tuple(-one for one in (least, *shifts[1:]))
            after = tuple(count - size - one for count, size, one in zip(counts, of_phase, before, strict=True))
            number = numbers.setdefault((phase, before), len(self.copies))
            if number == len(self.copies):
                self.copies.append((phase, before, after))
            self.places.append((number, (shifts[0] - least) * inner))


@register_kernel(
    "conv_w_grad",
    matches=IS_DEPTHWISE & ConvWGradKernel.exists & _PERMUTE & primitive_exists(ExpressionFactory, _TwoSums()),
    priority=1,
)
class DepthwiseWGradKernel(ConvWGradKernel):
    """A kernel of Expression, which adds up products of rows of dy and of copies of padded x."""

    def __init__(self, subject: Subject) -> None:
        super().__init__(subject)
        self._permute = _PERMUTE.make(subject)

    def prepare(self, shapes: Sequence[Dims], attributes: Attributes) -> Launches:
        (dy, x), w, groups = shapes, attributes["shape"], attributes["groups"]
        if 0 in w:
            return lambda arrays, inputs, outputs: None
        if x[0] == 0 or math.prod(dy[2:]) < 2:
            return super().prepare(shapes, attributes)  # there is nothing to add up
        kind, filters, batches = self.subject.data_types["out"], w[0] // groups, x[0]
        found = windows(x[2:], w[2:], attributes)
        rows, everything = _Rows(found), (slice(None),) * 2
        num_places, wide = len(rows.places), _wide(kind).dtype
        runs = [range(begin, min(begin + _MOST_PLACES, num_places)) for begin in range(0, num_places, _MOST_PLACES)]
        sums = [self._expression(_structure(kind, len(run))) for run in runs]
        total = self._expression(_total(kind, is_sum=batches > 1))
        put = self._permuted((num_places, groups, filters), (1, 2, 0)).launch
        copy = self._expression(Structure((kind,), (), (Step(UnaryOp.kIdentity, (0,), kind),), (1,)))
        pads = [self._padding((*x[:2], *rows.sizes[phase]), before, after) for phase, before, after in rows.copies]
        has_phases = any(stride > 1 for stride in found.strides)

        def launches(arrays: Arrays, inputs: Sequence[Array], outputs: Sequence[Array]) -> None:
            by, elements = inputs[0].reshape((batches, groups, filters, rows.length)), inputs[1]
            phases, copies = dict.fromkeys(rows.sizes, elements), []
            for phase, sizes in rows.sizes.items() if has_phases else ():
                places = (slice(one, None, stride) for one, stride in zip(phase, found.strides, strict=True))
                phases[phase] = arrays.empty((*x[:2], *sizes), elements.dtype)
                copy.Launch(arrays.stream, [phases[phase]], [arrays.view(elements, (*everything, *places), None, None)])
            for (phase, _, _), pad in zip(rows.copies, pads, strict=True):
                copies.append(self.moved(arrays, phases[phase], pad).reshape((batches, groups, 1, rows.size)))
            each = arrays.empty((num_places, batches, groups, filters), wide)
            for run, add in zip(runs, sums, strict=True):
                read, written = [by], []
                for place in run:
                    number, begin = rows.places[place]
                    row = (*everything, slice(None), slice(begin, begin + rows.length))
                    read.append(arrays.view(copies[number], row, None, None))
                    written.append(arrays.view(each, (place, *(slice(None),) * 3), (0, 1, 2, None), None))
                add.Launch(arrays.stream, written, read)
            by_place = arrays.empty((num_places, 1, groups * filters), outputs[0].dtype)
            total.Launch(arrays.stream, [by_place], [each.reshape((num_places, batches, groups * filters))])
            put(arrays, [by_place], outputs)

        return launches

    def _padding(self, planes: Dims, before: Dims, after: Dims) -> list[Move]:
        """Return the move that pads and crops planes, if anything changes."""
        if not any((*before, *after)):
            return []
        sizes = tuple(map(sum, zip(planes[2:], before, after, strict=True)))
        around = (0, 0, *before), (0, 0, *after)
        return [Move((*planes[:2], *sizes), Plan(Launch(self._pad, planes, Placeholder(0), *around, 0, RESULT)))]

    def _permuted(self, shape: Dims, order: Dims) -> Move:
        kind = self.subject.data_types["out"]
        return Move(
            tuple(shape[axis] for axis in order),
            Plan(Launch(self._permute, kind, shape, Placeholder(0), order, RESULT)),
        )

    def _expression(self, structure: Structure) -> Expression:
        """Return a new Expression for one plan. Its launches are fast because they all have the same shapes."""
        return RequirePrimitive(ExpressionFactory, self.subject.device_type, structure)
