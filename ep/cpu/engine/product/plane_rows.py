"""Rows of planes in the order in which the sums of their windows read them: padded, widened, and divided by phases.

A phase has every `stride`-th element of a row. Windows that are next to each other read elements of a phase that are
next to each other, for any stride.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Final

import numpy as np

from ep.common.loops import unrolled
from ep.common.native.fields import AnyPointer
from ep.cpu.compile.jit import inlined, jit
from ep.cpu.compile.memory import set_bytes
from ep.cpu.compile.vector import all_lanes, convert, elements, every, lanes_below, load, mask, store, vector
from ep.cpu.engine.product.state import Planes
from ep.cpu.engine.product.types import arithmetic_of
from ep.include.data_type import DataType
from ep.include.primitive.plane_windows import PlaneWindows

AXES: Final = 3
"""The axes of planes; fewer are filled up."""

_MOST_VECTORS: Final = 4
"""The longest stride for which vectors are divided; as many are read for one of each phase."""


def plane_words(fields: Any, windows: PlaneWindows, groups: int, num_bytes: int) -> np.ndarray[Any, Any]:
    """Return the words of a record that begins as `Planes`, for windows along three axes; the words behind are 0."""
    words = np.zeros(fields.num_words, np.int64)
    for field in ("sizes", "counts", "before"):
        words[getattr(fields, field) :][:AXES] = getattr(windows, field)
    words[fields.groups], words[fields.bytes] = groups, num_bytes
    return words


def phases_of(places: int, stride: int, dilation: int) -> list[int]:
    """Return the phases that windows of `places` places along a row read."""
    return sorted({place * dilation % stride for place in range(min(places, stride))})


def reach_of(places: int, stride: int, dilation: int) -> int:
    """Return the number of elements of a phase from the one of a window's first place to that of its last one."""
    return (places - 1) * dilation // stride


@cache
def phase_packer(data_type: DataType, lanes: int, places: int, stride: int, dilation: int) -> Any:
    """Return a function (src, first, width, vectors, phase_step, dst) that packs a part of a row.

    src: the row, of `width` elements; others are 0. first: the place of the first element of phase 0, which may be
    before the row. vectors: their number in each phase, of `lanes` elements. phase_step: elements from phase to phase
    in dst. places, stride, dilation: of windows along the row; phases that they do not read are not written.
    """
    arithmetic, phases = arithmetic_of(data_type), phases_of(places, stride, dilation)
    Stored, Row, Masks, Elements = vector(data_type, lanes), vector(arithmetic, lanes), mask(lanes), elements(data_type)
    Single, One = vector(data_type, 1), vector(arithmetic, 1)
    takers, span = tuple((phase, every(stride, phase, lanes)) for phase in phases), stride * lanes

    @inlined
    def read(row: int, begin: int, used: AnyPointer, parts: AnyPointer) -> None:
        for number in unrolled(range(stride)):
            parts[number] = convert(Row, load(Stored, row, begin + number * lanes, used[number]))

    @inlined
    def pack_vectors(src: int, first: int, width: int, vectors: int, phase_step: int, dst: int) -> None:
        row, used, parts = Elements.at(src), Masks.array_on_stack(stride), Row.array_on_stack(stride)
        for index in range(0, vectors * lanes, lanes):
            begin = first + index * stride
            if (begin >= 0) & (begin + span <= width):
                for number in unrolled(range(stride)):
                    used[number] = all_lanes(lanes)
                read(row, begin, used, parts)
            else:
                inside, behind = np.int32(max(min(-begin, span), 0)), np.int32(max(min(width - begin, span), 0))
                for number in unrolled(range(stride)):
                    before = lanes_below(inside, lanes, number * lanes)
                    used[number] = lanes_below(behind, lanes, number * lanes) & ~before
                read(row, begin, used, parts)
            for phase, take in unrolled(takers):
                store(dst, phase_step * phase + index, take(*(parts[number] for number in unrolled(range(stride)))))

    @inlined
    def pack_one_by_one(src: int, first: int, width: int, vectors: int, phase_step: int, dst: int) -> None:
        for index in range(vectors * lanes):
            for phase in unrolled(phases):
                place, value = first + phase + index * stride, One.zero()
                if 0 <= place < width:
                    value = convert(One, load(Single, src, place))
                store(dst, phase_step * phase + index, value)

    return pack_vectors if stride <= _MOST_VECTORS else pack_one_by_one


def plane_packer(
    data_type: DataType,
    lanes: int,
    kernel: tuple[int, int, int],
    strides: tuple[int, int, int],
    dilations: tuple[int, int, int],
) -> tuple[Any, Any]:
    """Return two functions that pack parts of planes; kernel, strides, dilations: of their windows.

    The first, (words, planes, plane, layer, first_row, num_rows, first, vectors, dst), packs the rows of a layer that
    `num_rows` rows of windows read, from column `first` on. words: the address of `Planes`, which describes the planes
    at the address `planes`. vectors: as for `phase_packer`. The second, (num_rows), returns the number of packed rows.
    """
    (_, height, width), (_, row_stride, stride), (_, row_dilation, dilation) = kernel, strides, dilations
    pack_row, size = phase_packer(data_type, lanes, width, stride, dilation), data_type.itemsize
    vector_bytes = (phases_of(width, stride, dilation)[-1] + 1) * lanes * arithmetic_of(data_type).itemsize
    skips = row_dilation == 1 and row_stride > height  # whether no window reads some rows

    @jit
    def packed_rows(num_rows: int) -> int:
        return (num_rows - 1) * row_stride + (height - 1) * row_dilation + 1

    @jit
    def pack(
        words: Planes, planes: int, plane: int, layer: int, first_row: int, num_rows: int, first: int, vectors: int,
        dst: int,
    ) -> None:  # fmt: skip
        layers, rows = words.sizes[0], words.sizes[1]
        columns, layer = words.sizes[2], layer - words.before[0]
        first_row = first_row * row_stride - words.before[1]
        src, row_bytes = planes + (plane * layers + layer) * rows * columns * size, vectors * vector_bytes
        for row in range(first_row, first_row + packed_rows(num_rows)):
            if skips and (row - first_row) % row_stride >= height:
                pass
            elif 0 <= layer < layers and 0 <= row < rows:
                pack_row(src + row * columns * size, first, columns, vectors, vectors * lanes, dst)
            else:
                set_bytes(dst, row_bytes, 0)
            dst += row_bytes

    return pack, packed_rows
