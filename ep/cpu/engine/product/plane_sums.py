"""Sums of the windows of packed rows, in tiles: the sums of several rows and vectors of columns stay in registers.

A vector of a packed row is read once for all rows of sums whose windows have it.
"""

from __future__ import annotations

from functools import cache
from itertools import product
from typing import Any, Final, NamedTuple

from llvmlite import ir

from ep.common.native.emitted import emitted
from ep.cpu.compile.conversion import narrowed
from ep.cpu.compile.vectors import (
    REALS,
    WORD,
    constant,
    counted,
    fma,
    lanes_below,
    least,
    load,
    pointer_to,
    splat,
    store,
)
from ep.cpu.engine.product.types import arithmetic_of
from ep.include.data_type import DataType

_MOST_PLACES: Final = 64
"""The most places of a window that are written one by one; more would take long to compile."""


class SumsForm(NamedTuple):
    """What the code of sums is made for.

    data_type: of elements in memory. result: the type that sums are stored in. kernel, strides, dilations: of windows
    along three axes. rows, vectors: of a tile. lanes: of a vector. registers: how many of them the code may use.
    """

    data_type: DataType
    result: DataType
    kernel: tuple[int, int, int]
    strides: tuple[int, int, int]
    dilations: tuple[int, int, int]
    rows: int
    vectors: int
    lanes: int
    registers: int

    @property
    def name(self) -> str:
        """A name that no other form has."""
        windows = "x".join("-".join(map(str, one)) for one in (self.kernel, self.strides, self.dilations))
        return f"{self.data_type.name}.{self.result.name}.{windows}.{self.rows}.{self.vectors}"


@cache
def window_sums(form: SumsForm) -> Any:
    """Return a function that computes some columns of some rows of sums.

    The arguments are (packed, layer_step, row_step, phase_step, weights, dst, dst_step, rows, columns, first_block,
    last_block, wide_blocks). packed: the first row that is read, and the steps in elements from layer to layer, from
    row to row, and from phase to phase. weights: one of each place, in the type of the sums. dst: the first of `rows`
    rows, of `columns` elements, dst_step elements apart; rows is the form's at least. Columns come in blocks of
    vectors; the first `wide_blocks` of a plane have one vector more than the others. Those before first_block are
    neither packed nor in dst.
    """
    _, height, width = form.kernel
    _, row_stride, stride = form.strides
    layers, dilation, step = form.kernel[0], form.dilations[1], form.dilations[2]
    real, lanes = REALS[arithmetic_of(form.data_type)], form.lanes
    vector, places = ir.VectorType(real, lanes), layers * height * width
    stays = places + (form.rows + 1) * form.vectors < form.registers  # whether all weights are in registers

    @emitted()
    def sums(
        builder: Any,
        packed: Any,
        layer_step: Any,
        row_step: Any,
        phase_step: Any,
        weights: Any,
        dst: Any,
        dst_step: Any,
        rows: Any,
        columns: Any,
        first_block: Any,
        last_block: Any,
        wide_blocks: Any,
    ) -> None:
        packed, weights = (pointer_to(builder, one, real) for one in (packed, weights))

        def weight(place: Any) -> Any:
            return splat(builder, load(builder, weights, real, place), lanes)

        known = [weight(WORD(place)) for place in range(places)] if stays else []

        def written_out(begin: Any, vectors: int) -> list[Any]:
            """Return the sums of a tile whose first element is at `begin`, with code for each place."""
            found = [constant(vector, -0.0)] * (form.rows * vectors)
            for layer, line in product(
                range(layers), range((form.rows - 1) * row_stride + (height - 1) * dilation + 1)
            ):
                users = [
                    (row, (line - row * row_stride) // dilation)
                    for row in range(form.rows)
                    if 0 <= line - row * row_stride <= (height - 1) * dilation
                    and (line - row * row_stride) % dilation == 0
                ]
                if not users:
                    continue
                of_line = builder.add(builder.mul(layer_step, WORD(layer)), builder.mul(row_step, WORD(line)))
                of_line = builder.add(begin, of_line)
                for column in range(width):
                    far, phase = divmod(column * step, stride)
                    of_phase = builder.add(of_line, builder.mul(phase_step, WORD(phase)))
                    place = builder.gep(packed, [of_phase])
                    read = [load(builder, place, vector, WORD(far + number * lanes)) for number in range(vectors)]
                    for row, of_window in users:
                        at = (layer * height + of_window) * width + column
                        factor = known[at] if stays else weight(WORD(at))
                        for number in range(vectors):
                            one = row * vectors + number
                            found[one] = fma(builder, read[number], factor, found[one])
            return found

        def by_loops(begin: Any, vectors: int) -> list[Any]:
            """Return the same sums by loops over the places."""

            def of_layer(layer: Any, found: list[Any]) -> list[Any]:
                first = builder.add(begin, builder.mul(layer, layer_step))

                def of_row(window_row: Any, found: list[Any]) -> list[Any]:
                    line = builder.add(first, builder.mul(builder.mul(window_row, WORD(dilation)), row_step))
                    number = builder.add(builder.mul(layer, WORD(height)), window_row)
                    number = builder.mul(number, WORD(width))

                    def of_column(column: Any, found: list[Any]) -> list[Any]:
                        apart = builder.mul(column, WORD(step))
                        far, phase = builder.udiv(apart, WORD(stride)), builder.urem(apart, WORD(stride))
                        place = builder.add(builder.add(line, far), builder.mul(phase, phase_step))
                        factor, following = weight(builder.add(number, column)), []
                        for row in range(form.rows):
                            of_sums = builder.add(place, builder.mul(row_step, WORD(row * row_stride)))
                            for one in range(vectors):
                                read = load(builder, packed, vector, builder.add(of_sums, WORD(one * lanes)))
                                following.append(fma(builder, read, factor, found[row * vectors + one]))
                        return following

                    return counted(builder, WORD(0), WORD(width), 1, found, of_column)[1]

                return counted(builder, WORD(0), WORD(height), 1, found, of_row)[1]

            zeros = [constant(vector, -0.0)] * (form.rows * vectors)
            return counted(builder, WORD(0), WORD(layers), 1, zeros, of_layer)[1]

        def tile(row: Any, column: Any, vectors: int) -> None:
            begin = builder.add(builder.mul(builder.mul(row, WORD(row_stride)), row_step), column)
            found = (written_out if places <= _MOST_PLACES else by_loops)(begin, vectors)
            first = builder.add(builder.mul(row, dst_step), column)
            left = builder.sub(columns, column)

            def write(number: int, mask: Any) -> None:
                for one in range(form.rows):
                    place = builder.add(first, builder.add(builder.mul(dst_step, WORD(one)), WORD(number * lanes)))
                    stored = narrowed(builder, found[one * vectors + number], form.result)
                    store(builder, stored, pointer_to(builder, dst, stored.type.element), place, mask=mask)

            for number in range(vectors - 1):
                write(number, None)
            with builder.if_else(builder.icmp_signed(">=", left, WORD(vectors * lanes))) as (whole, part):
                with whole:
                    write(vectors - 1, None)
                with part:
                    write(vectors - 1, lanes_below(builder, left, lanes, (vectors - 1) * lanes))

        def vectors_before(block: Any) -> Any:
            return builder.add(builder.mul(block, WORD(form.vectors - 1)), least(builder, block, wide_blocks))

        origin = vectors_before(first_block)

        def tile_rows(index: Any, _: Any) -> None:
            row = least(builder, index, builder.sub(rows, WORD(form.rows)))

            def block(number: Any, _: Any) -> None:
                column = builder.mul(builder.sub(vectors_before(number), origin), WORD(lanes))
                if form.vectors == 1:
                    tile(row, column, 1)
                    return
                with builder.if_else(builder.icmp_signed("<", number, wide_blocks)) as (wide, narrow):
                    with wide:
                        tile(row, column, form.vectors)
                    with narrow:
                        tile(row, column, form.vectors - 1)

            counted(builder, first_block, last_block, 1, [], block)

        counted(builder, WORD(0), rows, form.rows, [], tile_rows)

    return sums
