"""The kernel of conv_w_grad for depthwise convolutions: for each place of a window, sums of products of rows."""

from __future__ import annotations

import itertools
import math
from typing import Any, Final

from ep.common.primitive.broadcast import Dims
from ep.common.primitive.windows import Windows
from ep.include.arrays import RESULT, Placeholder
from ep.include.data_type import DataType
from ep.include.primitive.binary_op import BinaryOp
from ep.include.primitive.expression import ExpressionFactory
from ep.include.primitive.permute import PermuteFactory
from ep.include.primitive.primitive import kMaxNumDims
from ep.include.primitive.reduce_op import ReduceOp
from ep.include.primitive.registry import RequirePrimitive
from ep.include.primitive.structure import Step, Structure
from ep.include.primitive.unary_op import UnaryOp
from ep.ops.conv import FLOAT, IS_DEPTHWISE
from ep.ops.conv_grad import MATMUL_OF_WINDOWS, W_GRAD_NAMES, conv_w_grad_kernel
from ep.ops.depthwise import NARROW
from ep.ops.kernels import (
    Calls,
    Function,
    Launch,
    Plan,
    Subject,
    Temporary,
    Value,
    View,
    launching,
    primitive_exists,
    views_exist,
)
from ep.ops.kernels.conditions import Value as SubjectValue
from ep.ops.window_kernel import MOVES, WindowMoves
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


class _TwoSums(SubjectValue):
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


@launching(
    "conv_w_grad",
    *(MOVES, MATMUL_OF_WINDOWS, _PERMUTE),
    when=FLOAT & IS_DEPTHWISE & views_exist() & primitive_exists(ExpressionFactory, _TwoSums()),
    priority=1,
    name="DepthwiseWGradKernel",
    **W_GRAD_NAMES,
)
def depthwise_w_grad_kernel(calls: Calls, moves: WindowMoves, matmul: Any, permute: Any) -> Plan:
    """Return the products of dy and windows of x that BroadcastMatmul reads in place, if the device can do so.

    Otherwise Expression adds up products of rows of dy and of copies of padded x.
    """
    (dy, x), w, groups = calls.shapes, calls.attributes["shape"], calls.attributes["groups"]
    if 0 in w or x[0] == 0 or math.prod(dy[2:]) < 2:
        return conv_w_grad_kernel(calls, moves, matmul)  # there is nothing to add up
    kind, filters, batches = calls.subject.data_types["out"], w[0] // groups, x[0]
    found = windows(x[2:], w[2:], calls.attributes)
    over = matmul.over_planes(found.in_planes(batches * groups), groups, filters) if 0 not in found.sizes else None
    if over is not None:
        return Plan(Launch(Function(over), Placeholder(0), Placeholder(1), RESULT))
    rows, everything, steps = _Rows(found), (slice(None),) * 2, list[Any]()
    num_places, elements = len(rows.places), Placeholder(1)

    def expression(structure: Structure) -> Any:
        """Return a new Expression for this plan. Its launches are fast because they all have the same shapes."""
        return RequirePrimitive(ExpressionFactory, calls.subject.device_type, structure)

    phases: dict[Dims, Value] = dict.fromkeys(rows.sizes, elements)
    if any(stride > 1 for stride in found.strides):
        copy = expression(Structure((kind,), (), (Step(UnaryOp.kIdentity, (0,), kind),), (1,)))
        for phase, sizes in rows.sizes.items():
            places = (slice(one, None, stride) for one, stride in zip(phase, found.strides, strict=True))
            phases[phase] = Temporary((*x[:2], *sizes), kind.dtype)
            steps.append(Launch(copy, [phases[phase]], [View(elements, places=(*everything, *places))]))
    copies = []
    for phase, before, after in rows.copies:
        shape, around = (*x[:2], *rows.sizes[phase]), ((0, 0, *before), (0, 0, *after))
        padded = moves.moved(steps, phases[phase], [moves.padded(shape, *around)] if any((*before, *after)) else [])
        copies.append(View(padded, (batches, groups, 1, rows.size)))
    by = View(Placeholder(0), (batches, groups, filters, rows.length))
    each = Temporary((num_places, batches, groups, filters), _wide(kind).dtype)
    for begin in range(0, num_places, _MOST_PLACES):
        read, written = [by], []
        for place in range(begin, min(begin + _MOST_PLACES, num_places)):
            number, first = rows.places[place]
            read.append(View(copies[number], places=(*everything, slice(None), slice(first, first + rows.length))))
            written.append(View(each, places=(place, *(slice(None),) * 3), axes=(0, 1, 2, None)))
        steps.append(Launch(expression(_structure(kind, len(written))), written, read))
    by_place = Temporary((num_places, 1, groups * filters), kind.dtype)
    total = expression(_total(kind, is_sum=batches > 1))
    steps.append(Launch(total, [by_place], [View(each, (num_places, batches, groups * filters))]))
    return Plan(*steps, Launch(permute, kind, (num_places, groups, filters), by_place, (1, 2, 0), RESULT))
