"""Products of the windows of planes with values, one for each window, summed by place: the plan and the task.

A part of a plane is packed (`plane_rows.py`) to memory that stays in L1, and multiplied there by the values of its
windows (`plane_dots.py`). Sums of a few products are added up in float64.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Final, NamedTuple

from ep.common.native.fields import word
from ep.common.native.record import Words
from ep.common.primitive.signature import Signature
from ep.common.primitive.windows import along_axes
from ep.cpu.compile.compiler import compile_task
from ep.cpu.compile.memory import release, set_bytes, storer
from ep.cpu.engine.loop_nest import LoopNest
from ep.cpu.engine.product.memory import allocate_for
from ep.cpu.engine.product.plane_dots import DotsForm, dots_form, dots_totals, window_dots
from ep.cpu.engine.product.plane_rows import AXES, phases_of, plane_packer, plane_words, reach_of
from ep.cpu.engine.product.results import results_merger
from ep.cpu.engine.product.state import SIZES, Planes, ProductLaunch, ProductLoops
from ep.cpu.engine.product.types import arithmetic_of
from ep.cpu.lines.fetch import fetch_first
from ep.include.data_type import DataType
from ep.include.primitive.plane_windows import PlaneWindows

_LINE: Final = 64  # bytes
_PACKED_BYTES: Final = 16 * 1024  # of a part, if rows and columns can be divided so: a half of L1
_MOST_BYTES: Final = 1 << 25  # of a part in any case
_ENOUGH_BLOCKS: Final = 8  # of groups, or of parts of their planes
_MOST_VECTORS: Final = 16  # of a row of a part: their products are added up one after the other
_MOST_ADDED: Final = 8  # sums of rows that are added up in the arithmetic type
_LEAST_WORK: Final = 1 << 18  # multiplications of a block, if planes are shared
_FETCHED: Final = 4096  # the most bytes of the next plane that are prefetched: its first part, or all of it


class _ProductParts(Planes):
    part_rows = word()
    part_columns = word()


class _Parts(NamedTuple):
    """The parts of a plane: the rows and columns of windows of each, and the bytes of its packed rows."""

    rows: int
    columns: int
    bytes: int


class PlaneProductsPlan(LoopNest):
    """The plan of a launch that multiplies windows of planes by values. Making one compiles the task."""

    def __init__(
        self,
        windows: PlaneWindows,
        groups: int,
        filters: int,
        data_type: DataType,
        signature: Signature,
        counts: tuple[int, ...],
    ) -> None:
        """signature, counts: those of launches, as for `ProductPlan`. filters: the values of each window."""
        super().__init__(ProductLoops, signature)
        self.set_checks(counts, in_place=False)
        images, places, num_windows = windows.planes // groups, math.prod(windows.kernel), math.prod(windows.counts)
        filled, form = _formed(windows, data_type)
        parts = _parts(filled, form)
        words = plane_words(_ProductParts, filled, groups, parts.bytes)
        words[_ProductParts.part_rows], words[_ProductParts.part_columns] = parts.rows, parts.columns
        self._planes = Words(words)  # compiled code has the address
        work, units = images * num_windows * filters * places, images * filled.counts[0]
        depth_parts = max(min(_ENOUGH_BLOCKS // groups, units, work // _LEAST_WORK), 1)
        self.set_words(SIZES, (filters, places, num_windows, groups, images, 1, 1, depth_parts))
        self.set_words(ProductLoops.task, (products_task(form),))
        self.set_words(ProductLoops.planes, (self._planes.address,))


def fits(windows: PlaneWindows, data_type: DataType) -> bool:
    """Return whether the memory for a part of the planes is not too large: windows may have far-away places."""
    return _parts(*_formed(windows, data_type)).bytes <= _MOST_BYTES


def _formed(windows: PlaneWindows, data_type: DataType) -> tuple[PlaneWindows, DotsForm]:
    """Return the windows along three axes, and the form of the code that multiplies them."""
    filled = along_axes(windows, AXES)
    of_windows = filled.kernel, filled.strides, filled.dilations
    return filled, dots_form(data_type, *of_windows, filled.counts[1])  # type: ignore[arg-type]


def _parts(windows: PlaneWindows, form: DotsForm) -> _Parts:
    """Return the parts of a plane: each has a part of the rows of a layer, and all columns if they fit."""
    (layers, height, width), (_, row_stride, stride) = windows.kernel, windows.strides
    (_, row_dilation, dilation), (_, rows, columns) = windows.dilations, windows.counts
    wide, lanes = arithmetic_of(form.data_type).itemsize, form.lanes
    num_phases, reach = phases_of(width, stride, dilation)[-1] + 1, reach_of(width, stride, dilation)

    def row_bytes(columns: int) -> int:
        return layers * num_phases * -(-(columns + reach) // lanes) * lanes * wide

    def packed_bytes(rows: int, columns: int) -> int:
        return ((rows - 1) * row_stride + (height - 1) * row_dilation + 1) * row_bytes(columns)

    least = packed_bytes(1, columns)
    row_parts = 1
    while rows > row_parts and packed_bytes(-(-rows // row_parts), columns) > max(_PACKED_BYTES, 2 * least):
        row_parts += 1 + row_parts // 16
    row_parts = min(row_parts, rows)
    part, column_parts = min(-(-rows // (row_parts * form.rows)) * form.rows, rows), 1
    while columns > column_parts * lanes and packed_bytes(part, -(-columns // column_parts)) > max(
        _PACKED_BYTES, 2 * packed_bytes(part, lanes)
    ):
        column_parts += 1 + column_parts // 16
    column_parts = max(column_parts, -(-columns // (_MOST_VECTORS * lanes)))
    of_part = min(-(-columns // (column_parts * lanes)) * lanes, columns)
    return _Parts(part, of_part, packed_bytes(part, of_part))


@cache
def products_task(form: DotsForm) -> int:
    """Return the address of the task (launch, begin, end) that multiplies the planes of groups, or of parts of them."""
    data_type, lanes, places = form.data_type, form.lanes, math.prod(form.kernel)
    (num_layers, _, width), (layer_stride, _, stride), (layer_dilation, _, dilation) = (
        form.kernel,
        form.strides,
        form.dilations,
    )
    wide, size = arithmetic_of(data_type), data_type.itemsize
    reach, num_phases = reach_of(width, stride, dilation), phases_of(width, stride, dilation)[-1] + 1
    pack, packed_rows = plane_packer(data_type, lanes, form.kernel, form.strides, form.dilations)
    add_dots, (add_to_totals, total) = window_dots(form), dots_totals(form)
    store, store_wide, merge = storer(data_type), storer(wide), results_merger(data_type)
    wide_size, double = wide.itemsize, DataType.kDouble.itemsize

    def multiply_planes(launch: ProductLaunch, begin: int, end: int) -> None:
        if launch.merges != 0:
            merge(launch, begin, end)
            return
        product = launch.product
        words, filters = _ProductParts.at(product.planes), product.m
        images, depth_parts = product.num_terms, product.depth_parts
        groups, num_bytes = words.groups, words.bytes
        layers, rows = words.counts[0], words.counts[1]
        columns, before = words.counts[2], words.before[2]
        part_rows, part_columns = words.part_rows, words.part_columns
        a, b, c = (
            launch.a,
            launch.b,
            launch.c,
        )
        values_bytes, plane_bytes = filters * layers * rows * columns * size, size
        for axis in range(AXES):
            plane_bytes *= words.sizes[axis]
        num_sums = filters * places * lanes
        memory = allocate_for(launch, num_bytes + num_sums * (wide_size + double) + _LINE)
        if memory == 0:
            return
        packed = (memory + _LINE - 1) // _LINE * _LINE
        sums, totals = packed + num_bytes, packed + num_bytes + num_sums * wide_size
        for number in range(begin, end):
            group, depth_part, added = number // depth_parts, number % depth_parts, 0
            set_bytes(sums, num_sums * (wide_size + double), 0)
            units = images * layers
            first_unit, last_unit = units * depth_part // depth_parts, units * (depth_part + 1) // depth_parts
            for unit in range(first_unit, last_unit):
                plane, layer = unit // layers * groups + group, unit % layers
                if layer == 0:  # the next plane is elsewhere, or of the next group
                    later = plane + groups if unit + layers < last_unit else first_unit // layers * groups + group + 1
                    fetch_first(b + later * plane_bytes, min(plane_bytes, _FETCHED))
                    fetch_first(a + later * values_bytes, min(values_bytes, _FETCHED))
                for first_row in range(0, rows, part_rows):
                    num_rows = min(part_rows, rows - first_row)
                    for first_column in range(0, columns, part_columns):
                        num_columns = min(part_columns, columns - first_column)
                        vectors = (num_columns + reach + lanes - 1) // lanes  # of a phase
                        phase_step = vectors * lanes
                        row_step = phase_step * num_phases
                        layer_step = row_step * packed_rows(num_rows)
                        for of_window in range(num_layers):
                            pack(
                                *(words, b, plane, layer * layer_stride + of_window * layer_dilation, first_row),
                                *(num_rows, first_column * stride - before, vectors),
                                packed + of_window * layer_step * wide_size,
                            )
                        for of_filter in range(filters):
                            row = ((plane * filters + of_filter) * layers + layer) * rows + first_row
                            add_dots(
                                *(packed, layer_step, row_step, phase_step, a + (row * columns + first_column) * size),
                                *(columns, num_rows, num_columns, sums + of_filter * places * lanes * wide_size),
                            )
                        added += (num_rows + form.rows - 1) // form.rows
                        if added >= _MOST_ADDED:
                            add_to_totals(sums, totals, filters * places)
                            added = 0
            add_to_totals(sums, totals, filters * places)
            first = group * filters * places
            for place in range(filters * places):
                if depth_parts > 1:
                    partials = launch.partials
                    store_wide(partials, depth_part * groups * filters * places + first + place, total(totals, place))
                else:
                    store(c, first + place, total(totals, place))
        release(memory)

    return compile_task(f"product.plane_products.{form.name}", multiply_planes)
