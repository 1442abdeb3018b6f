"""Sums of the windows of planes, each times its own filters: the plan, and the task by parts of planes.

This is no product of matrices: each element of a plane is in the sums of its own filters alone. A part of a plane is
packed (`plane_rows.py`) to memory that stays in L1, and all of its sums are computed from there (`plane_sums.py`).
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
from ep.cpu.compile.memory import loader, release, storer
from ep.cpu.engine.loop_nest import LoopNest
from ep.cpu.engine.product.memory import allocate_for
from ep.cpu.engine.product.plane_elements import elements_task, elements_words, has_few_elements
from ep.cpu.engine.product.plane_results import mapped_results, written_results
from ep.cpu.engine.product.plane_rows import AXES, phases_of, plane_packer, plane_words, reach_of
from ep.cpu.engine.product.plane_sums import SumsForm, window_sums
from ep.cpu.engine.product.shape import num_registers, tile_shape
from ep.cpu.engine.product.state import SIZES, Planes, ProductLaunch, ProductLoops
from ep.cpu.engine.product.types import arithmetic_of
from ep.cpu.lines.streaming import finish_streams
from ep.cpu.machine.caches import last_level_caches
from ep.include.data_type import DataType
from ep.include.number_kind import HALVES
from ep.include.primitive.plane_windows import PlaneWindows

_LINE: Final = 64  # bytes
_PACKED_BYTES: Final = 24 * 1024  # of a part, if rows and columns can be divided so: a half to three quarters of L1
_MOST_BYTES: Final = 1 << 25  # of a part in any case
_ENOUGH_PARTS: Final = 8
_MOST_ROWS: Final = 4  # of a tile
_MOST_VECTORS: Final = 8


class _PlaneParts(Planes):
    row_parts = word()  # the number of parts of a layer of sums along its rows
    block_parts = word()  # the same along the blocks of its columns
    blocks = word()
    wide_blocks = word()
    mapped = word()  # how many parts are mapped together: 1, or all of a plane
    sums_bytes = word()  # of memory for the sums of all parts that are mapped together


class _Parts(NamedTuple):
    """The parts of a plane, and the form of the code that sums them."""

    form: SumsForm
    row_parts: int
    block_parts: int
    blocks: int
    wide_blocks: int
    bytes: int


class PlanesPlan(LoopNest):
    """The plan of a launch of sums of windows of planes. Making one compiles the task."""

    def __init__(
        self,
        windows: PlaneWindows,
        groups: int,
        filters: int,
        data_type: DataType,
        signature: Signature | None = None,
        counts: tuple[int, ...] = (),
        *,
        by_planes: bool = False,
    ) -> None:
        """signature, counts: those of launches of the sums alone, as for `ProductPlan`. Without them, c is mapped.

        by_planes: whether the map is computed for whole planes, and not for parts of them.
        """
        super().__init__(ProductLoops, signature)
        planes, kernel = windows.planes, math.prod(windows.kernel)
        if signature is not None:
            self.set_checks(counts, in_place=False)
        filled, maps = along_axes(windows, AXES), signature is None
        num_windows, column_parts = math.prod(windows.counts), 1
        if has_few_elements(filled):
            self._planes, *self._tables = elements_words(filled, groups, filters, data_type)
            task = elements_task(filled, data_type, maps=maps)
        else:
            parts = _parts(filled, data_type, maps=maps)
            words = plane_words(_PlaneParts, filled, groups, parts.bytes)
            for field in ("row_parts", "block_parts", "blocks", "wide_blocks"):
                words[getattr(_PlaneParts, field)] = getattr(parts, field)
            self._planes = Words(words)  # compiled code has the address
            of_plane = filled.counts[0] * parts.row_parts * parts.block_parts
            words[_PlaneParts.mapped] = of_plane if by_planes else 1
            if words[_PlaneParts.mapped] > 1:
                words[_PlaneParts.sums_bytes] = filters * num_windows * parts.form.result.itemsize + _LINE
            task, column_parts = planes_task(parts.form, maps), of_plane // int(words[_PlaneParts.mapped])
        self.may_stream = max(windows.num_elements()) * data_type.itemsize > last_level_caches(1) // 4
        self.set_words(SIZES, (filters, num_windows, kernel, planes, 1, 1, column_parts, 1))
        self.set_words(ProductLoops.task, (task,))
        self.set_words(ProductLoops.planes, (self._planes.address,))


def _parts(windows: PlaneWindows, data_type: DataType, *, maps: bool) -> _Parts:
    """Return the parts of a plane: each has a part of the rows of a layer, and all columns if they fit."""
    (layers, height, width), (_, row_stride, stride) = windows.kernel, windows.strides
    _, row_dilation, dilation = windows.dilations
    num_layers, rows, columns = windows.counts
    wide, registers = arithmetic_of(data_type), num_registers()
    lanes = tile_shape().vector_bytes // wide.itemsize
    vectors, reach = -(-columns // lanes), reach_of(width, stride, dilation)
    num_phases = phases_of(width, stride, dilation)[-1] + 1

    def packed_bytes(rows: int, vectors: int) -> int:
        packed = (rows - 1) * row_stride + (height - 1) * row_dilation + 1
        of_phase = -(-(min(vectors * lanes, columns) + reach) // lanes) * lanes
        return layers * packed * num_phases * of_phase * wide.itemsize

    def cost(tile: int, count: int) -> int:  # multiplications and vectors that are read, at each place along a row
        return -(-count // tile) * (tile * height + (tile - 1) * row_stride + height)

    def too_large(part: int, least: int) -> bool:  # if least is more than half of it, smaller parts repeat too much
        return part > _PACKED_BYTES and part > 2 * least

    row_parts = min(-(-_ENOUGH_PARTS // (windows.planes * num_layers)), max(rows // _MOST_ROWS, 1))
    while rows // row_parts > _MOST_ROWS and too_large(
        packed_bytes(-(-rows // row_parts), vectors), packed_bytes(1, vectors)
    ):
        row_parts += 1 + row_parts // 16
    row_parts = min(row_parts, max(rows // _MOST_ROWS, 1))
    part = -(-rows // row_parts)
    tile = min(range(min(_MOST_ROWS, rows // row_parts), 0, -1), key=lambda tile: cost(tile, part))
    most = min((registers - 2) // (tile + 1), _MOST_VECTORS)
    blocks = -(-vectors // most)
    of_block = -(-vectors // blocks)
    block_parts = min(-(-_ENOUGH_PARTS // (windows.planes * num_layers * row_parts)), max(blocks // 2, 1))
    while block_parts < blocks and too_large(
        packed_bytes(part, -(-blocks // block_parts) * of_block), packed_bytes(part, of_block)
    ):
        block_parts += 1 + block_parts // 16
    block_parts = min(block_parts, blocks)
    of_part = -(-blocks // block_parts) * of_block
    windows_of = windows.kernel, windows.strides, windows.dilations
    form = SumsForm(data_type, wide if maps else data_type, *windows_of, tile, of_block, lanes, registers)  # type: ignore[arg-type]
    # packed rows, elements that tiles read behind them, weights and sums
    kept = of_block * lanes + math.prod(windows.kernel) + part * min(of_part * lanes, columns)
    num_bytes = packed_bytes(part, of_part) + kept * wide.itemsize + 3 * _LINE
    return _Parts(form, row_parts, block_parts, blocks, vectors - blocks * (of_block - 1), num_bytes)


def fits(windows: PlaneWindows, data_type: DataType) -> bool:
    """Return whether the memory for a part of the planes is not too large: windows may have far-away places."""
    return _parts(along_axes(windows, AXES), data_type, maps=True).bytes <= _MOST_BYTES


@cache
def planes_task(form: SumsForm, maps: bool) -> int:
    """Return the address of the task (launch, begin, end) that sums windows of parts of planes.

    maps: whether sums are in the arithmetic type, and are mapped if the launch has a map.
    """
    (num_layers, height, width), (layer_stride, _, stride) = form.kernel, form.strides
    layer_dilation, _, dilation = form.dilations
    data_type, lanes, places, narrower = form.data_type, form.lanes, num_layers * height * width, form.vectors - 1
    wide, size, size_of_result = arithmetic_of(data_type), data_type.itemsize, form.result.itemsize
    wide_size, widens, num_phases = wide.itemsize, data_type in HALVES, phases_of(width, stride, dilation)[-1] + 1
    reach, behind = reach_of(width, stride, dilation), form.vectors * lanes
    pack, packed_rows = plane_packer(data_type, lanes, form.kernel, form.strides, form.dilations)
    sums = window_sums(form)
    load, store = loader(data_type), storer(wide)
    are_apart, finish = mapped_results(size_of_result) if maps else written_results(size, size_of_result)

    def sum_planes(launch: ProductLaunch, begin: int, end: int) -> None:
        product = launch.product
        words, filters = _PlaneParts.at(product.planes), product.m
        groups, blocks = words.groups, words.blocks
        row_parts, block_parts = words.row_parts, words.block_parts
        wide_blocks, before = words.wide_blocks, words.before[2]
        layers, rows = words.counts[0], words.counts[1]
        columns = words.counts[2]
        b = launch.b
        apart, mapped, num_bytes = are_apart(launch), words.mapped, words.bytes
        memory = allocate_for(launch, num_bytes + words.sums_bytes)
        if memory == 0:
            return
        packed = (memory + _LINE - 1) // _LINE * _LINE
        of_planes = (memory + num_bytes + _LINE - 1) // _LINE * _LINE
        for number in range(begin * mapped, end * mapped):
            block_part, rest = number % block_parts, number // block_parts
            row_part, rest = rest % row_parts, rest // row_parts
            layer, plane = rest % layers, rest // layers
            first_row, last_row = row_part * rows // row_parts, (row_part + 1) * rows // row_parts
            first_block, last_block = block_part * blocks // block_parts, (block_part + 1) * blocks // block_parts
            first_column = (first_block * narrower + min(first_block, wide_blocks)) * lanes
            last_column = min((last_block * narrower + min(last_block, wide_blocks)) * lanes, columns)
            num_rows, num_columns = last_row - first_row, last_column - first_column
            vectors = (num_columns + reach + lanes - 1) // lanes  # of a phase; tiles read elements behind, too
            phase_step, first = vectors * lanes, first_column * stride - before
            row_step, layer_step = phase_step * num_phases, phase_step * num_phases * packed_rows(num_rows)
            for of_window in range(num_layers):
                in_layer = layer * layer_stride + of_window * layer_dilation
                target = packed + of_window * layer_step * wide_size
                pack(words, b, plane, in_layer, first_row, num_rows, first, vectors, target)
            kept = packed + (layer_step * num_layers + behind) * wide_size
            for of_filter in range(filters):
                weights = (plane % groups * filters + of_filter) * places * size + launch.a
                if widens:
                    for k in range(places):
                        store(kept, k, load(weights, k))
                    weights = kept
                first = (layer * rows + first_row) * columns + first_column
                of_plane = layers * rows * columns * size_of_result
                dst = launch.c + (plane * filters + of_filter) * of_plane
                whole = of_planes + of_filter * of_plane if apart else dst
                dst += first * size_of_result
                to, to_step = dst, columns
                if mapped > 1:
                    to = whole + first * size_of_result
                elif apart:
                    to, to_step = kept + (places * wide_size + _LINE - 1) // _LINE * _LINE, num_columns
                sums(
                    *(packed, layer_step, row_step, phase_step, weights, to, to_step, num_rows, num_columns),
                    *(first_block, last_block, wide_blocks),
                )
                if mapped > 1:
                    if number % mapped == mapped - 1:
                        finish(launch, plane, of_filter, 0, 1, layers * rows * columns, whole, whole)
                elif num_columns == columns:
                    finish(launch, plane, of_filter, first, 1, num_rows * columns, to, dst)
                else:
                    for row in range(num_rows):
                        of_row, behind_row = row * columns * size_of_result, row * to_step * size_of_result
                        finish(
                            *(launch, plane, of_filter, first + row * columns, 1, num_columns),
                            *(to + behind_row, dst + of_row),
                        )
        release(memory)
        finish_streams()

    return compile_task(f"product.planes.{form.name}{'.mapped' * maps}", sum_planes)
