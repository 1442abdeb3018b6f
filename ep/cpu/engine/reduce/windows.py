"""Reductions of the windows of planes, which are read where they are: the plan, and the task by rows of windows."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache, partial, reduce
from typing import Any, Final, NamedTuple

import numpy as np

from ep.common.native.emitted import emitted
from ep.common.native.record import Words
from ep.common.primitive.signature import Signature
from ep.common.primitive.windows import along_axes
from ep.cpu.compile.compiler import compile_task
from ep.cpu.compile.conversion import narrowed, widened
from ep.cpu.compile.jit import jit
from ep.cpu.compile.vectors import WORD, counted, every, lanes_below, load, store, stored_bits, with_masks_unless
from ep.cpu.engine.loop_nest import LoopNest, adjacent
from ep.cpu.engine.reduce.plan import WINDOW_AXES, ReduceLoops, WindowsLoops
from ep.cpu.engine.reduce.state import ReduceContext
from ep.cpu.engine.reduce.vectors import VECTOR_BYTES, combined, identity, lanes
from ep.include.data_type import DataType
from ep.include.primitive.plane_windows import PlaneWindows
from ep.include.primitive.reduce_op import ReduceOp

_FEW: Final = 4  # the most places of a window along each axis that are written out
_TASK: Final = adjacent(ReduceLoops, "task", "windows")


class WindowsPlan(LoopNest):
    """The plan of a launch of Reduce that reads windows. Making one compiles the task."""

    def __init__(self, signature: Signature, windows: PlaneWindows, op: ReduceOp, data_type: DataType) -> None:
        super().__init__(ReduceLoops, signature)
        self.set_checks(windows.num_elements(), in_place=False)
        merged = _merged(windows)
        self._windows = Words(words_of(merged))  # compiled code has the address
        self.set_words(_TASK, (row_task(op, data_type, merged), self._windows.address))
        self.set_words(ReduceLoops.units, (windows.planes * math.prod(merged.counts[:-1]),))
        self.set_words(ReduceLoops.segments, (1,))


def words_of(windows: PlaneWindows) -> np.ndarray[Any, Any]:
    """Return the words of windows, for `row_task`."""
    filled, words = along_axes(windows, WINDOW_AXES), np.zeros(WindowsLoops.num_words, np.int64)
    for field in WindowsLoops.field_names:
        words[getattr(WindowsLoops, field) :][:WINDOW_AXES] = getattr(filled, field)
    return words


def _merged(windows: PlaneWindows) -> PlaneWindows:
    """Return the same windows with as few axes as possible: rows whose windows follow one another are one row."""
    while len(windows.sizes) > 1:
        *_, size = windows.sizes
        *_, count = windows.counts
        stride, last = windows.strides[-1], windows.kernel[-1] - 1
        within = windows.before[-1] == 0 and (count - 1) * stride + last * windows.dilations[-1] < size
        each = windows.sizes[-2] == windows.counts[-2] and windows.before[-2] == 0
        if not (within and each and size == count * stride and windows.kernel[-2] == windows.strides[-2] == 1):
            break
        kept: dict[str, Any] = {
            field: (*values[:-2], values[-1])
            for field, values in windows._asdict().items()
            if isinstance(values, tuple)
        }
        kept["sizes"] = *windows.sizes[:-2], windows.sizes[-2] * size
        kept["counts"] = *windows.counts[:-2], windows.counts[-2] * count
        windows = windows._replace(**kept)
    return windows


class _WindowRow(NamedTuple):
    """What the code of rows of windows is made for.

    stride: along a row. taps, rows: of windows that are written out, of adjacent places in one layer; 0 if none are.
    """

    op: ReduceOp
    data_type: DataType
    stride: int
    taps: int = 0
    rows: int = 0


def row_task(op: ReduceOp, data_type: DataType, windows: PlaneWindows) -> int:
    """Return the address of the task (context, begin, end) that reduces rows of windows."""
    form, taps = _WindowRow(op, data_type, windows.strides[-1]), windows.kernel[-1]
    *layers, rows = (1, *windows.kernel[:-1])
    if windows.dilations[-1] == 1 and {1}.issuperset(layers) and max(taps, rows) <= _FEW:
        form = form._replace(taps=taps, rows=rows)
    return _row_task(form)


@cache
def _row_task(form: _WindowRow) -> int:
    size, reduce_row = form.data_type.itemsize, _row_reducer(form)

    def reduce_windows(context: ReduceContext, begin: int, end: int) -> None:
        src, dst, windows = context.src, context.dst, context.plan.windows
        height, width = windows.sizes[1], windows.sizes[2]
        layers, rows, count = windows.counts[0], windows.counts[1], windows.counts[2]
        planes = windows.sizes[0] * height
        layer_step, row_step = windows.dilations[0] * height * width, windows.dilations[1] * width
        for number in range(begin, end):
            row, number_of_layer = number % rows, number // rows
            layer, plane = number_of_layer % layers, number_of_layer // layers
            first_layer, num_layers = _inside(windows, 0, layer)
            first_row, num_rows = _inside(windows, 1, row)
            place = (plane * planes + first_layer * height + first_row) * width
            reduce_row(
                src + place * size,
                num_layers,
                layer_step,
                num_rows,
                row_step,
                windows.kernel[2],
                windows.dilations[2],
                windows.before[2],
                width,
                count,
                dst + number * count * size,
            )

    name = f"windows.{form.op.name}.{form.data_type.name}.{form.stride}.{form.taps}.{form.rows}"
    return compile_task(name, reduce_windows)


@jit
def _inside(windows: WindowsLoops, axis: int, window: int) -> tuple[int, int]:
    """Return the first element of a window along an axis that is in the planes, and the number of these."""
    dilation, size = windows.dilations[axis], windows.sizes[axis]
    first = window * windows.strides[axis] - windows.before[axis]
    places, outside = windows.kernel[axis], 0
    if first < 0:
        outside = min((dilation - 1 - first) // dilation, places)
    first += outside * dilation
    if first >= size:
        return 0, 0
    return first, min(places - outside, (size - 1 - first) // dilation + 1)


def _row_reducer(form: _WindowRow) -> Any:
    """Return a function that reduces a row of windows, a vector of them at a time.

    The arguments are (src, layers, layer_step, rows, row_step, taps, dilation, before, width, count, dst). src: the
    first row, of `width` elements, of the first of some layers; layer_step and row_step are in elements. taps: the
    places of a window along a row, `dilation` apart; the first window begins `before` elements before the row. Elements
    outside of the row do not count. dst: the results of `count` windows.
    If the form has rows, windows with all of them are written out.
    """
    stride, data_type = form.stride, form.data_type
    of = lanes(form.op, data_type)
    vector = VECTOR_BYTES // of.size
    kind, nothing = stored_bits(data_type, vector), identity(of, of.vector(vector))

    @emitted()
    def reduce_row(
        builder: Any,
        src: Any,
        layers: Any,
        layer_step: Any,
        rows: Any,
        row_step: Any,
        taps: Any,
        dilation: Any,
        before: Any,
        width: Any,
        count: Any,
        dst: Any,
    ) -> None:
        src, dst = (builder.inttoptr(one, stored_bits(data_type).as_pointer()) for one in (src, dst))

        def elements(row: Any, first: Any, masked: bool) -> list[Any]:
            """Return `stride` vectors of elements from `first` on."""
            found = []
            for number in range(stride):
                place = builder.gep(row, [builder.add(first, WORD(number * vector))])
                mask = None
                if masked:
                    behind = lanes_below(builder, builder.sub(width, first), vector, number * vector)
                    before_row = lanes_below(builder, builder.neg(first), vector, number * vector)
                    mask = builder.and_(behind, builder.not_(before_row))
                read = widened(builder, load(builder, place, kind, mask=mask), data_type)
                found.append(read if mask is None else builder.select(mask, read, nothing))
            return found

        def written_out(first: Any, masked: bool) -> Any:
            """Return the results of windows of few places and rows: first those of the rows, then of the places."""
            firsts, found = range(0, form.taps, stride), list[Any]()
            for number in range(form.rows):
                row = builder.gep(src, [builder.mul(row_step, WORD(number))])
                read = [one for place in firsts for one in elements(row, builder.add(first, WORD(place)), masked)]
                found = [combined(builder, of, *each) for each in zip(found, read, strict=True)] if found else read
            groups = [found[number : number + stride] for number in range(0, len(found), stride)]
            places = [every(builder, groups[place // stride], place % stride) for place in range(form.taps)]
            return reduce(partial(combined, builder, of), places)

        def by_loops(first: Any, masked: bool) -> Any:
            def layer(number: Any, values: list[Any]) -> list[Any]:
                of_layer = builder.gep(src, [builder.mul(number, layer_step)])

                def row(number: Any, values: list[Any]) -> list[Any]:
                    of_row = builder.gep(of_layer, [builder.mul(number, row_step)])

                    def tap(number: Any, values: list[Any]) -> list[Any]:
                        place = builder.add(first, builder.mul(number, dilation))
                        return [combined(builder, of, values[0], every(builder, elements(of_row, place, masked), 0))]

                    return counted(builder, WORD(0), taps, 1, values, tap)[1]

                return counted(builder, WORD(0), rows, 1, values, row)[1]

            return counted(builder, WORD(0), layers, 1, [nothing], layer)[1][0]

        far = builder.add(builder.mul(builder.sub(taps, WORD(1)), dilation), WORD(stride * vector))

        def blocks(reduced: Callable[[Any, bool], Any]) -> None:
            def block(index: Any, _: Any) -> None:
                first = builder.sub(builder.mul(index, WORD(stride)), before)
                within = builder.icmp_signed("<=", builder.add(first, far), width)
                within = builder.and_(within, builder.icmp_signed(">=", first, WORD(0)))
                (found,) = with_masks_unless(builder, within, lambda masked: [reduced(first, masked)])
                stored = narrowed(builder, found, data_type)
                store(builder, stored, dst, index, mask=lanes_below(builder, builder.sub(count, index), vector))

            counted(builder, WORD(0), count, vector, [], block)

        if not form.rows:
            blocks(by_loops)
            return
        is_whole = builder.icmp_signed("==", builder.mul(layers, rows), WORD(form.rows))
        with builder.if_else(is_whole) as (whole, part):
            with whole:
                blocks(written_out)
            with part:
                blocks(by_loops)

    return reduce_row
