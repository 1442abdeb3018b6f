"""Sums of the windows of packed rows, in tiles: the sums of several rows and vectors of columns stay in registers.

A vector of a packed row is read once for all rows of sums whose windows have it.
"""

from __future__ import annotations

from functools import cache
from itertools import product
from math import prod
from typing import Any, Final, NamedTuple

from ep.common.loops import unrolled
from ep.common.native.fields import AnyPointer
from ep.cpu.compile.jit import inlined
from ep.cpu.compile.vector import convert, elements, fma, lanes_below, load, store, vector
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
    num_rows, vectors, lanes, places = form.rows, form.vectors, form.lanes, prod(form.kernel)
    Row, Numbers = vector(arithmetic_of(form.data_type), lanes), elements(arithmetic_of(form.data_type))
    row_stride = form.strides[1]
    stays = places + (num_rows + 1) * vectors < form.registers  # whether all weights are in registers
    wide, narrow = (_tile(form, max(number, 1), stays) for number in (vectors, vectors - 1))

    @inlined
    def sums(
        packed: int,
        layer_step: int,
        row_step: int,
        phase_step: int,
        weights: int,
        dst: int,
        dst_step: int,
        rows: int,
        columns: int,
        first_block: int,
        last_block: int,
        wide_blocks: int,
    ) -> None:
        factors = Row.array_on_stack(places)
        if stays:
            for place in unrolled(range(places)):
                factors[place] = Row.splat(Numbers.at(weights)[place])
        origin = first_block * (vectors - 1) + min(first_block, wide_blocks)
        for index in range(0, rows, num_rows):
            row = min(index, rows - num_rows)
            for block in range(first_block, last_block):
                column = (block * (vectors - 1) + min(block, wide_blocks) - origin) * lanes
                begin, to, left = row * row_stride * row_step + column, row * dst_step + column, columns - column
                if vectors == 1 or block < wide_blocks:
                    wide(packed, layer_step, row_step, phase_step, weights, factors, begin, dst, dst_step, to, left)
                else:
                    narrow(packed, layer_step, row_step, phase_step, weights, factors, begin, dst, dst_step, to, left)

    return sums


def _tile(form: SumsForm, vectors: int, stays: bool) -> Any:
    """Return a function that computes the sums of a tile.

    The arguments are (packed, layer_step, row_step, phase_step, weights, factors, begin, dst, dst_step, to, left).
    begin, to: the numbers of its first element in `packed` and `dst`. left: the columns from there on. factors: the
    weights, if they stay in registers.
    """
    num_rows, lanes = form.rows, form.lanes
    Row, Stored = vector(arithmetic_of(form.data_type), lanes), vector(form.result, lanes)
    add = (_written_out if prod(form.kernel) <= _MOST_PLACES else _by_loops)(form, vectors, stays)

    @inlined
    def tile(
        packed: int, layer_step: int, row_step: int, phase_step: int, weights: int, factors: int, begin: int, dst: int,
        dst_step: int, to: int, left: int,
    ) -> None:  # fmt: skip
        found, last = Row.array_on_stack(num_rows * vectors), (vectors - 1) * lanes
        for number in unrolled(range(num_rows * vectors)):
            found[number] = Row.splat(-0.0)
        add(packed, layer_step, row_step, phase_step, weights, factors, begin, found)
        for number in unrolled(range(vectors - 1)):
            for row in unrolled(range(num_rows)):
                store(dst, to + dst_step * row + number * lanes, convert(Stored, found[row * vectors + number]))
        if left >= vectors * lanes:
            for row in unrolled(range(num_rows)):
                store(dst, to + dst_step * row + last, convert(Stored, found[row * vectors + vectors - 1]))
        else:
            used = lanes_below(left, lanes, (vectors - 1) * lanes)
            for row in unrolled(range(num_rows)):
                store(dst, to + dst_step * row + last, convert(Stored, found[row * vectors + vectors - 1]), used)

    return tile


def _written_out(form: SumsForm, vectors: int, stays: bool) -> Any:
    """Return a function that adds the products of a tile to `found`, with code for each place of a window.

    The arguments are (packed, layer_step, row_step, phase_step, weights, factors, begin, found).
    """
    lanes, (layers, height, width) = form.lanes, form.kernel
    (_, row_stride, stride), (_, dilation, step) = form.strides, form.dilations
    Row, Numbers = vector(arithmetic_of(form.data_type), lanes), elements(arithmetic_of(form.data_type))
    reads = []
    for layer, line in product(range(layers), range((form.rows - 1) * row_stride + (height - 1) * dilation + 1)):
        users = [
            (row, (line - row * row_stride) // dilation)
            for row in range(form.rows)
            if 0 <= line - row * row_stride <= (height - 1) * dilation and (line - row * row_stride) % dilation == 0
        ]
        for column in range(width if users else 0):
            of_column, phase = divmod(column * step, stride)
            places = tuple((row, (layer * height + of_window) * width + column) for row, of_window in users)
            reads.append((layer, line, of_column, phase, places))
    known_reads = tuple(reads)

    @inlined
    def add(
        packed: int, layer_step: int, row_step: int, phase_step: int, weights: int, factors: AnyPointer, begin: int,
        found: AnyPointer,
    ) -> None:  # fmt: skip
        read = Row.array_on_stack(vectors)
        for layer, line, column, phase, places in unrolled(known_reads):
            source = Numbers.at(packed)[begin + layer_step * layer + row_step * line + phase_step * phase :]
            for number in unrolled(range(vectors)):
                read[number] = load(Row, source, column + number * lanes)
            for row, place in unrolled(places):
                factor = factors[place] if stays else Row.splat(Numbers.at(weights)[place])
                for number in unrolled(range(vectors)):
                    found[row * vectors + number] = fma(read[number], factor, found[row * vectors + number])

    return add


def _by_loops(form: SumsForm, vectors: int, stays: bool) -> Any:
    """Return the same function with loops over the places."""
    num_rows, lanes, (layers, height, width) = form.rows, form.lanes, form.kernel
    (_, row_stride, stride), (_, dilation, step) = form.strides, form.dilations
    Row, Numbers = vector(arithmetic_of(form.data_type), lanes), elements(arithmetic_of(form.data_type))

    @inlined
    def add(
        packed: int, layer_step: int, row_step: int, phase_step: int, weights: int, factors: int, begin: int,
        found: AnyPointer,
    ) -> None:  # fmt: skip
        for layer in range(layers):
            for window_row in range(height):
                line = begin + layer * layer_step + window_row * dilation * row_step
                for column in range(width):
                    place = line + column * step // stride + column * step % stride * phase_step
                    factor = Row.splat(Numbers.at(weights)[(layer * height + window_row) * width + column])
                    for row in unrolled(range(num_rows)):
                        for number in unrolled(range(vectors)):
                            x = load(Row, packed, place + row_step * (row * row_stride) + number * lanes)
                            found[row * vectors + number] = fma(x, factor, found[row * vectors + number])

    return add
