"""Dot products of rows with the windows of packed rows: a sum for each place of a window, in the lanes of a vector.

A vector of a packed row is read once for all rows of windows that have it at some place of one column.
"""

from __future__ import annotations

from functools import cache
from itertools import product
from typing import Any, Final, NamedTuple

from ep.common.functor.math_library import Scalar
from ep.common.loops import unrolled
from ep.common.native.fields import AnyPointer, Int64
from ep.cpu.compile.jit import inlined
from ep.cpu.compile.vector import (
    Mask,
    all_lanes,
    convert,
    elements,
    fma,
    lanes_below,
    load,
    sum_in_any_order,
    vector,
)
from ep.cpu.engine.product.shape import lanes_of, num_registers
from ep.cpu.engine.product.types import arithmetic_of
from ep.include.data_type import DataType

_MOST_ROWS: Final = 7  # of a tile: more would need more registers, and longer code


class DotsForm(NamedTuple):
    """What the code of dot products is made for.

    data_type: of elements in memory. kernel, strides, dilations: of windows along three axes. rows: of windows whose
    products are added up at once. lanes: of a vector. registers: how many vectors the processor's registers hold.
    """

    data_type: DataType
    kernel: tuple[int, int, int]
    strides: tuple[int, int, int]
    dilations: tuple[int, int, int]
    rows: int
    lanes: int
    registers: int

    @property
    def name(self) -> str:
        """A name that no other form has."""
        windows = "x".join("-".join(map(str, each)) for each in (self.kernel, self.strides, self.dilations))
        return f"{self.data_type.name}.{windows}.{self.rows}"

    @property
    def parts(self) -> list[tuple[int, range, range]]:
        """The places of a window in parts, whose sums stay in registers: a layer, some rows, some columns."""
        (layers, height, width), most = self.kernel, self.registers - self.rows - 2
        columns = -(-width // -(-width // most))
        rows = max(min(most // columns, height), 1)
        each = product(range(layers), range(0, height, rows), range(0, width, columns))
        return [
            (layer, range(row, min(row + rows, height)), range(column, min(column + columns, width)))
            for layer, row, column in each
        ]

    def lines(self, rows: int, of_height: range) -> dict[int, list[tuple[int, int]]]:
        """Return each packed row that `rows` rows of windows read, and which of them have it as which of their rows."""
        found: dict[int, list[tuple[int, int]]] = {}
        for row, of_window in product(range(rows), of_height):
            found.setdefault(row * self.strides[1] + of_window * self.dilations[1], []).append((row, of_window))
        return dict(sorted(found.items()))

    def cost(self, rows: int) -> int:
        """Return the number of vectors that are read, and of sums that are added, for each vector of `rows` rows."""
        found = 0
        for _, of_height, of_width in self.parts:
            for count, tiles in ((self.rows, rows // self.rows), (1, rows % self.rows)):
                lines = len(self.lines(count, of_height))
                found += tiles * (lines * len(of_width) + count + len(of_height) * len(of_width))
        return found


def dots_form(
    data_type: DataType,
    kernel: tuple[int, int, int],
    strides: tuple[int, int, int],
    dilations: tuple[int, int, int],
    rows: int,
) -> DotsForm:
    """Return the form that suits layers of `rows` rows of windows, and the processor."""
    lanes, registers = lanes_of(arithmetic_of(data_type)), num_registers()
    each = [
        DotsForm(data_type, kernel, strides, dilations, count, lanes, registers)
        for count in range(1, min(rows, _MOST_ROWS) + 1)
    ]
    return min(each, key=lambda form: form.cost(rows))


@cache
def window_dots(form: DotsForm) -> Any:
    """Return a function that adds products to the sums of all places of a window.

    The arguments are (packed, layer_step, row_step, phase_step, values, values_step, rows, columns, sums). packed: the
    first row that is read, and the steps in elements from layer to layer, from row to row, and from phase to phase.
    values: `rows` rows of `columns` elements of the data type, values_step apart: one for each window. sums: a vector
    of the arithmetic type for each place, any lane of which has a part of its products.
    """
    adders = tuple(_part_adder(form, *part) for part in form.parts)

    @inlined
    def dots(
        packed: int, layer_step: int, row_step: int, phase_step: int, values: int, values_step: int, rows: int,
        columns: int, sums: int,
    ) -> None:  # fmt: skip
        for add_part in unrolled(adders):
            add_part(packed, layer_step, row_step, phase_step, values, values_step, rows, columns, sums)

    return dots


def _part_adder(form: DotsForm, layer: int, of_height: range, of_width: range) -> Any:
    """Return the same function for the places of a window in a part of it, whose sums stay in registers."""
    Row, form_rows, (_, height, width) = vector(arithmetic_of(form.data_type), form.lanes), form.rows, form.kernel
    places = tuple((layer * height + row) * width + column for row, column in product(of_height, of_width))
    num_places = len(places)
    several, one = (_rows_adder(form, layer, of_height, of_width, count) for count in (form_rows, 1))

    @inlined
    def add_part(
        packed: int, layer_step: int, row_step: int, phase_step: int, values: int, values_step: int, rows: int,
        columns: int, sums: int,
    ) -> None:  # fmt: skip
        totals, found, row = Row.at(sums), Row.array_on_stack(num_places), 0
        for number, place in unrolled(enumerate(places)):
            found[number] = totals[place]
        while row < rows - (form_rows - 1):
            several(row, packed, layer_step, row_step, phase_step, values, values_step, columns, found)
            row += form_rows
        while row < rows:
            one(row, packed, layer_step, row_step, phase_step, values, values_step, columns, found)
            row += 1
        for number, place in unrolled(enumerate(places)):
            totals[place] = found[number]

    return add_part


def _rows_adder(form: DotsForm, layer: int, of_height: range, of_width: range, count: int) -> Any:
    """Return a function that adds the products of `count` rows of windows, which are added up apart from all others.

    Its arguments are (first, packed, layer_step, row_step, phase_step, values, values_step, columns, found).
    """
    data_type, lanes, (_, row_stride, stride), step = form.data_type, form.lanes, form.strides, form.dilations[2]
    arithmetic = arithmetic_of(data_type)
    Stored, Row, Elements, Numbers = (
        *(vector(one, lanes) for one in (data_type, arithmetic)),
        *(elements(one) for one in (data_type, arithmetic)),
    )
    numbers = {place: number for number, place in enumerate(product(of_height, of_width))}
    lines, num_lines, num_places = form.lines(count, of_height), len(form.lines(count, of_height)), len(numbers)
    in_lines, reads = tuple(enumerate(lines)), []
    for (line, users), column in product(enumerate(lines.values()), of_width):
        begin, phase = divmod(column * step, stride)
        reads.append((line, begin, phase, tuple((row, numbers[of_window, column]) for row, of_window in users)))
    known_reads = tuple(reads)

    @inlined
    def add_vector(
        index: int, from_values: Int64, from_lines: Int64, phase_step: int, used: Mask, products: AnyPointer
    ) -> None:
        factors = Row.array_on_stack(count)
        for row in unrolled(range(count)):
            factors[row] = convert(Row, load(Stored, from_values[row], index, used))
        for line, begin, phase, users in unrolled(known_reads):
            x = load(Row, from_lines[line], index + phase_step * phase + begin, used)
            for row, number in unrolled(users):
                products[number] = fma(x, factors[row], products[number])

    @inlined
    def add_rows(
        first: int, packed: int, layer_step: int, row_step: int, phase_step: int, values: int, values_step: int,
        columns: int, found: AnyPointer,
    ) -> None:  # fmt: skip
        from_values, from_lines = Int64.array_on_stack(count), Int64.array_on_stack(num_lines)
        products, index = Row.array_on_stack(num_places), 0
        for row in unrolled(range(count)):
            from_values[row] = Elements.at(values)[(first + row) * values_step :]
        for number, line in unrolled(in_lines):
            from_lines[number] = Numbers.at(packed)[layer_step * layer :][(first * row_stride + line) * row_step :]
        for number in unrolled(range(num_places)):
            products[number] = Row.zero()
        while index < columns - (lanes - 1):
            add_vector(index, from_values, from_lines, phase_step, all_lanes(lanes), products)
            index += lanes
        if index < columns:
            add_vector(index, from_values, from_lines, phase_step, lanes_below(columns - index, lanes), products)
        for number in unrolled(range(num_places)):
            found[number] += products[number]

    return add_rows


@cache
def dots_totals(form: DotsForm) -> tuple[Any, Any]:
    """Return two functions. The first, (sums, totals, count), adds `count` vectors of sums to others in float64.

    The sums are 0 then. The second, (totals, number), returns the sum of the lanes of one of the others.
    """
    Row, Wide = vector(arithmetic_of(form.data_type), form.lanes), vector(DataType.kDouble, form.lanes)

    @inlined
    def add_to_totals(sums: int, totals: int, count: int) -> None:
        parts, wide = Row.at(sums), Wide.at(totals)
        for number in range(count):
            wide[number] += convert(Wide, parts[number])
            parts[number] = Row.zero()

    @inlined
    def total(totals: int, number: int) -> Scalar:
        return sum_in_any_order(Wide.at(totals)[number])

    return add_to_totals, total
