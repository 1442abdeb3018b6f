"""The kernel of depthwise convolutions, whose channels have their own filters: it reads windows in place, or views."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from ep.common.primitive.broadcast import Dims
from ep.common.primitive.windows import Windows
from ep.include.arrays import RESULT, Placeholder
from ep.include.data_type import DataType
from ep.include.primitive.binary_op import BinaryOp
from ep.include.primitive.expression import ExpressionFactory
from ep.include.primitive.registry import RequirePrimitive
from ep.include.primitive.structure import Step, Structure
from ep.include.primitive.unary_op import UnaryOp
from ep.ops.conv import FLOAT, IS_DEPTHWISE, MATMUL, product
from ep.ops.kernels import (
    Calls,
    Function,
    Launch,
    Plan,
    Subject,
    Temporary,
    View,
    launching,
    primitive_exists,
    views_exist,
)
from ep.ops.kernels.conditions import Value
from ep.ops.window_kernel import MOVES, WindowMoves
from ep.ops.windows import windows

_MOST_TAPS: Final = 25
"""The most places of a window that one launch adds up. More are possible, but the kernel takes seconds to compile."""

_SHORT: Final = 48
"""The width in windows up to which rows are joined: a launch of a shorter row takes longer to start than to compute."""

NARROW: Final = (DataType.kFloat16, DataType.kBFloat16)


def _structure(data_type: DataType, taps: int, *, begins: bool, ends: bool) -> Structure:
    """Return the structure of the sum of `taps` products of elements and weights.

    begins, ends: whether these are the first places of a window, and the last. Other sums are added to those of the
        places before, and are kept in float32 until the last one if `data_type` has 16 bits.
    """
    wide = DataType.kFloat if data_type in NARROW else data_type
    sources = [data_type] * 2 * taps + [wide] * (not begins)
    steps: list[Step] = []

    def add(op: UnaryOp | BinaryOp, *operands: int, to: DataType = wide) -> int:
        steps.append(Step(op, operands, to))
        return len(sources) + len(steps) - 1

    def widened(value: int) -> int:
        return value if wide is data_type else add(UnaryOp.kCast, value)

    total = None if begins else 2 * taps
    for tap in range(taps):
        product = add(BinaryOp.kMul, widened(tap), widened(taps + tap))
        total = product if total is None else add(BinaryOp.kAdd, total, product)
    assert total is not None
    if ends and wide is not data_type:
        total = add(UnaryOp.kCast, total, to=data_type)
    return Structure(tuple(sources), (), tuple(steps), (total,))


class _Rows(NamedTuple):
    """The rows of the last axis that sums consist of.

    sizes: of the view of padded x along its spatial axes.
    places: for each place of a window, a slice of x with the elements of all windows there; x has an axis for filters,
        too.
    sums: the slice of the sums in the written array, of sizes `written`.
    width: of a row of a plane of `written`.
    """

    sizes: Dims
    places: Sequence[tuple[slice, ...]]
    sums: tuple[slice, ...]
    written: Dims
    width: int


def _rows(found: Windows) -> _Rows:
    """Return the rows of windows: those of x, or whole planes if rows are short.

    A plane also has windows between two rows, which are cropped afterwards.
    """
    along = [found.taps(axis) for axis in range(len(found.sizes))]
    planes = (slice(None),) * 3
    if len(along) == 1 or found.counts[-1] > _SHORT or found.strides[-2:] != (1, 1):
        places = [(*planes, *one) for one in itertools.product(*along)]
        sums = (*planes, *map(slice, found.counts))
        return _Rows(found.padded, places, sums, found.counts, found.counts[-1])
    outer, (height, width), (rows, columns) = found.counts[:-2], found.padded[-2:], found.counts[-2:]
    length = (rows - 1) * width + columns
    places = []
    for *before, row, column in itertools.product(*along):
        begin = row.start * width + column.start
        places.append((*planes, *before, slice(begin, begin + length)))
    sums = (*planes, *map(slice, (*outer, length)))
    return _Rows((*found.padded[:-2], height * width), places, sums, (*outer, rows * width), width)


class _OneTap(Value):
    """The structure of windows of one element: a device that supports it supports larger windows, too."""

    def of(self, subject: Subject) -> Structure:
        return _structure(subject.data_types["out"], 1, begins=True, ends=True)

    def __str__(self) -> str:
        return 'product(data_type("out"))'


SUMS_EXIST = FLOAT & views_exist() & primitive_exists(ExpressionFactory, _OneTap())


@launching("conv", MOVES, MATMUL, when=IS_DEPTHWISE & SUMS_EXIST, priority=1, a="w", b="x", c="out", src="x", dst="out")
def depthwise_kernel(calls: Calls, moves: WindowMoves, matmul: Any) -> Plan:
    """Return the sums of windows of x that BroadcastMatmul reads in place, if the device can do so.

    Otherwise ConstantPad pads x, and Expression adds up views of it, one per place of a window, times w.
    """
    (x, w), groups, subject = calls.shapes, calls.attributes["groups"], calls.subject
    found, filters = windows(x[2:], w[2:], calls.attributes), w[0] // groups
    taps = math.prod(found.kernel)
    if 0 in (x[0], filters, *found.counts):
        return Plan()
    if taps == 0:  # a piece of w has no places
        return product(moves, matmul, calls.shapes, calls.attributes)
    copy = moves.copy(x[0] * w[0] * math.prod(found.counts))
    over = matmul.over_planes(found.in_planes(x[0] * groups), groups, filters) if 0 not in found.sizes else None
    if over is not None:
        return Plan(Launch(Function(over), Placeholder(1), Placeholder(0), RESULT), copy=copy)
    rows, everything, steps = _rows(found), slice(None), list[Any]()
    spatial = (everything,) * len(rows.sizes)
    result, narrow = (x[0], groups, filters, *rows.written), subject.data_types["out"] in NARROW
    padded = View(moves.moved(steps, Placeholder(0), moves.padding(x[:2], found)), (x[0], groups, 1, *rows.sizes))
    weights = View(Placeholder(1), (groups, filters, taps, *(1,) * len(rows.sizes)))
    cropping = _cropping(moves, w[0] * x[0], found, rows)
    summed = RESULT if cropping is None else Temporary(result, moves.dtype)
    total = between = View(View(summed, result), places=rows.sums)
    if narrow and taps > _MOST_TAPS:
        between = View(Temporary(result, DataType.kFloat.dtype), places=rows.sums)
    for begin in range(0, taps, _MOST_TAPS):
        run = range(begin, min(begin + _MOST_TAPS, taps))
        ends = run.stop == taps
        structure = _structure(subject.data_types["out"], len(run), begins=begin == 0, ends=ends)
        # a new Expression, which launches faster since all of its launches have the same shapes
        add = RequirePrimitive(ExpressionFactory, subject.device_type, structure)
        read = [View(padded, places=rows.places[tap]) for tap in run]
        read += [View(weights, places=(everything, everything, tap, *spatial)) for tap in run]
        steps.append(Launch(add, [total if ends else between], read + [between] * (begin > 0)))
    return Plan(*steps, *([] if cropping is None else [cropping.of([summed], RESULT)]), copy=copy)


def _cropping(moves: WindowMoves, planes: int, found: Windows, rows: _Rows) -> Plan | None:
    """Return the launch that crops the sums from longer rows, None if rows are not longer.

    planes: the number of planes of the result.
    """
    if rows.width == found.counts[-1]:
        return None
    outer, (height, width) = planes * math.prod(found.counts[:-2]), found.counts[-2:]
    strides = (height * rows.width, rows.width, 1), (height * width, width, 1)
    return moves.strided((outer, height, width), *strides)
