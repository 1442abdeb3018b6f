"""Products of a vector and a contiguous matrix of few columns, computed in full vectors.

In registers, each number of the vector is repeated for the elements of its row. The sums are separated by column once,
at the end, so the matrix itself need not be separated.
"""

from __future__ import annotations

from typing import Any, Final

from ep.common.loops import unrolled
from ep.common.native.fields import AnyPointer
from ep.cpu.compile.jit import inlined
from ep.cpu.compile.vector import (
    all_lanes,
    convert,
    elements,
    fma,
    lanes_below,
    load,
    mask,
    shuffle,
    sum_in_any_order,
    vector,
)
from ep.cpu.engine.product.packing import planes_splitter
from ep.cpu.engine.product.types import arithmetic_of
from ep.include.data_type import DataType

_WIDTH_BYTES: Final = 64  # bytes of the numbers that are added up in parallel lanes
_SUMS_AT_ONCE: Final = 8  # the least number of independent vectors of sums


def dots_of_columns(data_type: DataType, columns: int) -> Any:
    """Return a function (matrix, vector, k, sums) that adds to each sum the product of its column and the vector.

    matrix: k rows of `columns` elements, contiguous. vector, sums: in the arithmetic type.
    """
    arithmetic = arithmetic_of(data_type)
    width, at_once = _WIDTH_BYTES // arithmetic.itemsize, -(-_SUMS_AT_ONCE // columns)
    Stored, Row, Masks = vector(data_type, width), vector(arithmetic, width), mask(width)
    Elements, Numbers = elements(data_type), elements(arithmetic)
    repeats = tuple(shuffle(*((place * width + lane) // columns for lane in range(width))) for place in range(columns))
    split = planes_splitter(arithmetic, width, columns)

    @inlined
    def add_rows(matrix: int, weights: int, index: int, used_rows: int, used: AnyPointer, parts: AnyPointer) -> None:
        source, factors = Elements.at(matrix)[index * columns :], load(Row, weights, index, used_rows)
        for place, repeat in unrolled(enumerate(repeats)):
            x = convert(Row, load(Stored, source, place * width, used[place]))
            parts[place] = fma(x, repeat(factors), parts[place])

    @inlined
    def dots(matrix: int, weights: int, k: int, sums: int) -> None:
        parts, used, index = Row.array_on_stack(columns * at_once), Masks.array_on_stack(columns), 0
        for place in unrolled(range(columns * at_once)):
            parts[place] = Row.zero()
        for place in unrolled(range(columns)):
            used[place] = all_lanes(width)
        while index < k - (at_once * width - 1):
            for number in unrolled(range(at_once)):
                add_rows(matrix, weights, index + number * width, all_lanes(width), used, parts[number * columns :])
            index += at_once * width
        for place in unrolled(range(columns, columns * at_once)):
            parts[place % columns] += parts[place]
        while index < k - (width - 1):
            add_rows(matrix, weights, index, all_lanes(width), used, parts)
            index += width
        for place in unrolled(range(columns)):
            used[place] = lanes_below((k - index) * columns, width, place * width)
        add_rows(matrix, weights, index, lanes_below(k - index, width), used, parts)
        totals = Numbers.at(sums)
        split(parts)
        for column in unrolled(range(columns)):
            totals[column] += sum_in_any_order(parts[column])

    return dots
