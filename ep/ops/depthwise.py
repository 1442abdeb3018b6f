"""The kernel of depthwise convolutions, whose channels have their own filters: it reads windows in place, or views."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from functools import cache, partial
from operator import is_
from typing import Any, Final, NamedTuple

from ep.common.primitive.broadcast import Dims
from ep.common.primitive.windows import Windows
from ep.include.arrays import Array, Arrays
from ep.include.data_type import DataType
from ep.include.primitive.binary_op import BinaryOp
from ep.include.primitive.broadcast_matmul import WindowProduct
from ep.include.primitive.expression import Expression, ExpressionFactory
from ep.include.primitive.registry import RequirePrimitive
from ep.include.primitive.structure import Step, Structure
from ep.include.primitive.unary_op import UnaryOp
from ep.ops.conv import IS_DEPTHWISE, ConvKernel
from ep.ops.declare.operator import Attributes
from ep.ops.kernels import Launches, Subject, primitive_exists, register_kernel
from ep.ops.kernels.conditions import Value
from ep.ops.window_kernel import share_memory
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


_EXISTS = ConvKernel.exists & primitive_exists(ExpressionFactory, _OneTap())


@register_kernel("conv", matches=IS_DEPTHWISE & _EXISTS, priority=1)
class DepthwiseKernel(ConvKernel):
    """A kernel that adds up windows of x that BroadcastMatmul reads in place, if the device can do so.

    Otherwise ConstantPad pads x, and Expression adds up views of it, one per place of a window, times w.
    """

    exists = _EXISTS

    def prepare(self, shapes: Sequence[Dims], attributes: Attributes) -> Launches:
        (x, w), groups = shapes, attributes["groups"]
        found, by_product = (
            windows(x[2:], w[2:], attributes),
            cache(partial(self.product, shapes, attributes, in_place=False)),
        )
        filters, taps = w[0] // groups, math.prod(found.kernel)
        if 0 in (x[0], filters, taps, *found.counts):
            return by_product()
        over = None
        if 0 not in found.sizes:
            over = self._matmul.over_planes(found.in_planes(x[0] * groups), groups, filters)
        if over is not None:
            return self._over_planes(over, by_product)
        rows, padding = _rows(found), [*self.padding(x[:2], found)]
        everything, cropping = slice(None), self._cropping(w[0] * x[0], found, rows)
        of_x, of_w = (x[0], groups, 1, *rows.sizes), (groups, filters, taps, *(1,) * len(rows.sizes))
        result, along = (x[0], groups, filters, *rows.written), (everything,) * len(rows.sizes)
        of_taps: list[tuple[slice | int, ...]] = [(everything, everything, tap, *along) for tap in range(taps)]
        runs = [range(begin, min(begin + _MOST_TAPS, taps)) for begin in range(0, taps, _MOST_TAPS)]
        sums = [self._sum(len(run), run.start == 0, run.stop == taps) for run in runs]
        wide = DataType.kFloat.dtype if self.subject.data_types["out"] in NARROW and len(runs) > 1 else None

        def sums_of(arrays: Arrays, x: Array, w: Array, summed: Array, partial: Array) -> list[tuple[Any, ...]]:
            """Return the arguments of each sum: its Expression, the views that it writes, and those that it adds up."""
            padded, weights = x.reshape(of_x), w.reshape(of_w)
            total = arrays.view(summed.reshape(result), rows.sums, None, None)
            between = total if partial is None else arrays.view(partial, rows.sums, None, None)
            found = []
            for run, add in zip(runs, sums, strict=True):
                taken = [arrays.view(padded, rows.places[tap], None, None) for tap in run]
                taken += [arrays.view(weights, of_taps[tap], None, None) for tap in run]
                if run.start:
                    taken.append(between)
                found.append((add, [total if run.stop == taps else between], taken))
            return found

        last: tuple[Any, ...] | None = None  # the arrays of the previous call, and the result of `sums_of` for them

        def launches(arrays: Arrays, inputs: Sequence[Array], outputs: Sequence[Array]) -> None:
            nonlocal last
            (x, w), (out,) = inputs, outputs
            if not arrays.has_views or share_memory(arrays, inputs, out):
                by_product()(arrays, inputs, outputs)  # it reads all inputs before it writes, or raises
                return
            summed = out if cropping is None else arrays.empty(result, out.dtype)
            given = (
                self.moved(arrays, x, padding),
                w,
                summed,
                None if wide is None else arrays.empty(result, wide),
            )
            known = last
            if known is None or not all(map(is_, known[0], given)):
                known = given, sums_of(arrays, *given)
                last = known if arrays.repeats else None
            for add, written, taken in known[1]:
                add.Launch(arrays.stream, written, taken)
            if cropping is not None:
                cropping(arrays, [summed], outputs)

        return launches

    def _over_planes(self, sums: WindowProduct, by_product: Callable[[], Launches]) -> Launches:
        """Return sums that read windows in place, without views of x."""

        def launches(arrays: Arrays, inputs: Sequence[Array], outputs: Sequence[Array]) -> None:
            (x, w), (out,) = inputs, outputs
            if share_memory(arrays, inputs, out):
                by_product()(arrays, inputs, outputs)  # it reads all inputs before it writes, or raises
            else:
                sums(arrays.stream, w, x, out)

        return launches

    def _cropping(self, planes: int, found: Windows, rows: _Rows) -> Launches | None:
        """Return the launches that crop the sums from longer rows, None if rows are not longer.

        planes: the number of planes of the result.
        """
        if rows.width == found.counts[-1]:
            return None
        outer, (height, width) = planes * math.prod(found.counts[:-2]), found.counts[-2:]
        strides = (height * rows.width, rows.width, 1), (height * width, width, 1)
        return self.strided((outer, height, width), *strides)

    def _sum(self, taps: int, begins: bool, ends: bool) -> Expression:
        """Return a new Expression for one plan. Its launches are fast because they all have the same shapes."""
        structure = _structure(self.subject.data_types["out"], taps, begins=begins, ends=ends)
        return RequirePrimitive(ExpressionFactory, self.subject.device_type, structure)
