"""Rows of planes in the order in which the sums of their windows read them: padded, widened, and divided by phases.

A phase has every `stride`-th element of a row. Windows that are next to each other read elements of a phase that are
next to each other, for any stride.
"""

from __future__ import annotations

from functools import cache, partial
from typing import Any, Final

import numpy as np

from ep.common.native.emitted import emitted
from ep.cpu.compile.conversion import widened
from ep.cpu.compile.jit import jit
from ep.cpu.compile.memory import set_bytes
from ep.cpu.compile.vectors import (
    INT,
    REALS,
    WORD,
    counted,
    every,
    lanes_below,
    least,
    load,
    pointer_to,
    store,
    stored_bits,
    where,
    with_masks_unless,
)
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
def row_packer(data_type: DataType, lanes: int, places: int, stride: int, dilation: int) -> Any:
    """Return a function (src, first, width, vectors, phase_step, dst) that packs a part of a row.

    src: the row, of `width` elements; others are 0. first: the place of the first element of phase 0, which may be
    before the row. vectors: their number in each phase, of `lanes` elements. phase_step: elements from phase to phase
    in dst. places, stride, dilation: of windows along the row; phases that they do not read are not written.
    """
    of_row, real, phases = stored_bits(data_type), REALS[arithmetic_of(data_type)], phases_of(places, stride, dilation)
    kind = stored_bits(data_type, lanes)

    @emitted()
    def pack_row(builder: Any, src: Any, first: Any, width: Any, vectors: Any, phase_step: Any, dst: Any) -> None:
        row, to = pointer_to(builder, src, of_row), pointer_to(builder, dst, real)

        def bound(value: Any) -> Any:
            """Return a place relative to the first lane, as a narrow integer; lanes are from 0 to stride * lanes."""
            below = least(builder, value, WORD(stride * lanes))
            return builder.trunc(builder.select(builder.icmp_signed(">", below, WORD(0)), below, WORD(0)), INT)

        def elements(begin: Any, masked: bool) -> list[Any]:
            found = []
            if masked:
                first_inside, first_behind = bound(builder.neg(begin)), bound(builder.sub(width, begin))
            for number in range(stride):
                place, mask = builder.gep(row, [builder.add(begin, WORD(number * lanes))]), None
                if masked:
                    behind = lanes_below(builder, first_behind, lanes, number * lanes)
                    before = lanes_below(builder, first_inside, lanes, number * lanes)
                    mask = builder.and_(behind, builder.not_(before))
                found.append(widened(builder, load(builder, place, kind, mask=mask), data_type))
            return found

        def vector(index: Any, _: Any) -> None:
            begin = builder.add(first, builder.mul(index, WORD(stride)))
            within = builder.icmp_signed("<=", builder.add(begin, WORD(stride * lanes)), width)
            within = builder.and_(within, builder.icmp_signed(">=", begin, WORD(0)))
            found = with_masks_unless(builder, within, partial(elements, begin))
            for phase in phases:
                store(
                    builder, every(builder, found, phase), to, builder.add(builder.mul(phase_step, WORD(phase)), index)
                )

        def one_by_one(index: Any, _: Any) -> None:
            for phase in phases:
                place = builder.add(builder.add(first, WORD(phase)), builder.mul(index, WORD(stride)))
                inside = builder.icmp_unsigned("<", place, width)  # a place before the row is a large number

                def read(place: Any = place) -> list[Any]:
                    return [widened(builder, load(builder, row, of_row, place), data_type)]

                (value,) = where(builder, inside, read, [real(0.0)])
                store(builder, value, to, builder.add(builder.mul(phase_step, WORD(phase)), index))

        end = builder.mul(vectors, WORD(lanes))
        if stride <= _MOST_VECTORS:
            counted(builder, WORD(0), end, lanes, [], vector)
        else:
            counted(builder, WORD(0), end, 1, [], one_by_one)

    return pack_row


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
    at the address `planes`. vectors: as for `row_packer`. The second, (num_rows), returns the number of packed rows.
    """
    (_, height, width), (_, row_stride, stride), (_, row_dilation, dilation) = kernel, strides, dilations
    pack_row, size = row_packer(data_type, lanes, width, stride, dilation), data_type.itemsize
    vector_bytes = (phases_of(width, stride, dilation)[-1] + 1) * lanes * arithmetic_of(data_type).itemsize
    skips = row_dilation == 1 and row_stride > height  # whether no window reads some rows

    @jit
    def packed_rows(num_rows):
        return (num_rows - 1) * row_stride + (height - 1) * row_dilation + 1

    @jit
    def pack(words: Planes, planes, plane, layer, first_row, num_rows, first, vectors, dst):
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
