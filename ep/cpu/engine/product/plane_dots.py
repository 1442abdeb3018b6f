"""Dot products of rows with the windows of packed rows: a sum for each place of a window, in the lanes of a vector.

A vector of a packed row is read once for all rows of windows that have it at some place of one column.
"""

from __future__ import annotations

from functools import cache
from itertools import product
from typing import Any, Final, NamedTuple

from llvmlite import ir

from ep.common.native.emitted import emitted
from ep.cpu.compile.conversion import widened
from ep.cpu.compile.vectors import (
    DOUBLE,
    REALS,
    WORD,
    add,
    counted,
    counted_whole,
    fma,
    lanes_below,
    load,
    pointer_to,
    store,
    stored_bits,
    sum_in_any_order,
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
    (_, height, width), (_, row_stride, stride), step = form.kernel, form.strides, form.dilations[2]
    real, lanes, kind = REALS[arithmetic_of(form.data_type)], form.lanes, stored_bits(form.data_type, form.lanes)
    vector = ir.VectorType(real, lanes)

    @emitted()
    def dots(
        builder: Any,
        packed: Any,
        layer_step: Any,
        row_step: Any,
        phase_step: Any,
        values: Any,
        values_step: Any,
        rows: Any,
        columns: Any,
        sums: Any,
    ) -> None:
        packed, sums = pointer_to(builder, packed, real), pointer_to(builder, sums, real)
        values = pointer_to(builder, values, kind.element)

        def add_part(layer: int, of_height: range, of_width: range) -> None:
            places = {place: number for number, place in enumerate(product(of_height, of_width))}
            in_sums = [WORD(((layer * height + row) * width + column) * lanes) for row, column in places]
            of_layer = builder.gep(packed, [builder.mul(layer_step, WORD(layer))])

            def add_rows(count: int, first: Any, found: list[Any]) -> list[Any]:
                """Add the products of `count` rows from `first` on, which are added up apart from all others."""
                begin = builder.mul(first, WORD(row_stride))
                of_values = [
                    builder.gep(values, [builder.mul(builder.add(first, WORD(row)), values_step)])
                    for row in range(count)
                ]
                lines = [
                    (builder.gep(of_layer, [builder.mul(builder.add(begin, WORD(line)), row_step)]), users)
                    for line, users in form.lines(count, of_height).items()
                ]

                def add_vector(index: Any, of_rows: list[Any], mask: Any = None) -> list[Any]:
                    of_rows = [*of_rows]
                    factors = [
                        widened(builder, load(builder, row, kind, index, mask), form.data_type) for row in of_values
                    ]
                    for (line, users), column in product(lines, of_width):
                        far, phase = divmod(column * step, stride)
                        place = builder.add(builder.add(index, builder.mul(phase_step, WORD(phase))), WORD(far))
                        read = load(builder, line, vector, place, mask)
                        for row, of_window in users:
                            number = places[of_window, column]
                            of_rows[number] = fma(builder, read, factors[row], of_rows[number])
                    return of_rows

                def add_masked(index: Any, of_rows: list[Any]) -> list[Any]:
                    return add_vector(index, of_rows, lanes_below(builder, builder.sub(columns, index), lanes))

                zeros = [vector(None)] * len(found)
                left, of_rows = counted_whole(builder, WORD(0), columns, lanes, zeros, add_vector)
                _, of_rows = counted(builder, left, columns, lanes, of_rows, add_masked)  # one vector at most
                return [add(builder, total, of_row) for total, of_row in zip(found, of_rows, strict=True)]

            found = [load(builder, sums, vector, place) for place in in_sums]
            left, found = counted_whole(
                builder, WORD(0), rows, form.rows, found, lambda row, these: add_rows(form.rows, row, these)
            )
            _, found = counted(builder, left, rows, 1, found, lambda row, these: add_rows(1, row, these))
            for place, value in zip(in_sums, found, strict=True):
                store(builder, value, sums, place)

        for part in form.parts:
            add_part(*part)

    return dots


@cache
def dots_totals(form: DotsForm) -> tuple[Any, Any]:
    """Return two functions. The first, (sums, totals, count), adds `count` vectors of sums to others in float64.

    The sums are 0 then. The second, (totals, number), returns the sum of the lanes of one of the others.
    """
    real, lanes = REALS[arithmetic_of(form.data_type)], form.lanes
    vector, wide = ir.VectorType(real, lanes), ir.VectorType(DOUBLE, lanes)

    @emitted()
    def add_to_totals(builder: Any, sums: Any, totals: Any, count: Any) -> None:
        sums, totals = pointer_to(builder, sums, real), pointer_to(builder, totals, DOUBLE)

        def add_vector(index: Any, _: Any) -> None:
            value = load(builder, sums, vector, index)
            value = value if real is DOUBLE else builder.fpext(value, wide)
            store(builder, add(builder, load(builder, totals, wide, index), value), totals, index)
            store(builder, vector(None), sums, index)

        counted(builder, WORD(0), builder.mul(count, WORD(lanes)), lanes, [], add_vector)

    @emitted(result="float64")
    def total(builder: Any, totals: Any, number: Any) -> Any:
        place = builder.mul(number, WORD(lanes))
        return sum_in_any_order(builder, load(builder, pointer_to(builder, totals, DOUBLE), wide, place))

    return add_to_totals, total
