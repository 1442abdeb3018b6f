"""Products of rows with rows whose summed elements are contiguous: full vectors of both."""

from __future__ import annotations

from functools import cache
from typing import Any, Final

from ep.common.loops import unrolled
from ep.common.native.fields import AnyPointer, Int64
from ep.cpu.compile.jit import inlined, separate
from ep.cpu.compile.memory import loader, storer
from ep.cpu.compile.vector import (
    Mask,
    all_lanes,
    convert,
    elements,
    fma,
    lanes_below,
    load,
    store,
    vector,
)
from ep.cpu.engine.product.shape import tile_shape
from ep.cpu.engine.product.types import arithmetic_of
from ep.cpu.engine.reduce.lane_sums import lane_adder
from ep.include.data_type import DataType

_ROWS: Final = 4  # rows that are processed at once
_WIDTH_BYTES: Final = 64  # bytes of the numbers that are added up in parallel lanes
_ALONE: Final = 4  # vectors of a single row that are processed at once, with independent sums
_MOST_TOTALS: Final = 16  # the most sums that are computed at once; as many bytes as a vector, at least


@cache
def dots_of_rows(data_type: DataType) -> Any:
    """Return a function (matrix, step, count, vector, k, sums) that adds to each sum its row times the vector.

    matrix: `count` rows of k elements, `step` elements from row to row. vector, sums: in the arithmetic type.
    """
    arithmetic = arithmetic_of(data_type)
    size, read, write = data_type.itemsize, loader(arithmetic), storer(arithmetic)
    one = _dots(data_type, arithmetic, 1, 1, _WIDTH_BYTES, _ALONE)
    many = _dots(data_type, arithmetic, _ROWS, 1, _WIDTH_BYTES)

    @separate
    def add_dots(matrix: int, step: int, count: int, vector: int, k: int, sums: int) -> None:
        totals = Int64.array_on_stack(_MOST_TOTALS)
        for row in range(0, count, _ROWS):
            rows, source = min(_ROWS, count - row), matrix + row * step * size
            if rows == 1:
                one(source, step, 1, vector, 0, 1, k, totals)
            else:
                many(source, step, rows, vector, 0, 1, k, totals)
            for number in range(rows):
                write(sums, row + number, read(sums, row + number) + read(totals, number))

    return add_dots


@cache
def dots_of_matrices(arithmetic: DataType) -> Any:
    """Return a function (x, x_step, num_x, y, y_step, num_y, k, sums, sums_x, sums_y).

    It adds to each sum the product of a row of x and a row of y, of k elements each. The steps are in elements: from
    row to row of x and of y, and from sum to sum along the rows of either. The rows of x are read once, if those of y
    stay in a cache.
    """
    size, read, write, Sums = arithmetic.itemsize, loader(arithmetic), storer(arithmetic), vector(arithmetic, _ROWS)
    vector_bytes, most = tile_shape().vector_bytes, tile_shape().rows // 2  # rows of y whose sums the registers hold
    widths = (_WIDTH_BYTES, *(vector_bytes for _ in range(1, most)))
    ways = tuple(
        (count + 1, _dots(arithmetic, arithmetic, _ROWS, count + 1, width)) for count, width in enumerate(widths)
    )

    @separate
    def add_dots(
        x: int, x_step: int, num_x: int, y: int, y_step: int, num_y: int, k: int, sums: int, sums_x: int,
        sums_y: int,
    ) -> None:  # fmt: skip
        totals = Int64.array_on_stack(_MOST_TOTALS)
        for row in range(0, num_x, _ROWS):
            for column in range(0, num_y, most):
                rows, others = min(_ROWS, num_x - row), min(most, num_y - column)
                from_x, from_y = x + row * x_step * size, y + column * y_step * size
                for count, dots in unrolled(ways):
                    if others == count:
                        dots(from_x, x_step, rows, from_y, y_step, others, k, totals)
                place = row * sums_x + column * sums_y
                if sums_x == 1 and rows == _ROWS:
                    for j in range(others):
                        to = sums + (place + j * sums_y) * size
                        store(to, 0, load(Sums, to) + load(Sums, totals, j * _ROWS))
                else:
                    for i in range(rows):
                        for j in range(others):
                            to_one = place + i * sums_x + j * sums_y
                            write(sums, to_one, read(sums, to_one) + read(totals, j * _ROWS + i))

    return add_dots


def _dots(
    data_type: DataType, arithmetic: DataType, rows: int, columns: int, width_bytes: int, vectors: int = 1
) -> Any:
    """Return a function (x, x_step, num_x, y, y_step, num_y, k, totals) that multiplies rows of x by rows of y.

    x: up to `rows` rows of `data_type`. y: up to `columns` rows of `arithmetic`. totals: `[columns, rows]`; those of
        rows that do not exist are undefined. vectors: the number of vectors of each row that are multiplied at once.
    """
    width, num_sums = width_bytes // arithmetic.itemsize, rows * columns
    padded = 1 << (num_sums - 1).bit_length()
    add_lanes, num_results, num_vectors = (
        lane_adder(width, padded),
        -(-padded // width),
        max(vectors * num_sums, padded),
    )
    Stored, Row = vector(data_type, width), vector(arithmetic, width)
    Elements, Numbers = elements(data_type), elements(arithmetic)

    @inlined
    def add_vector(of_x: Int64, of_y: Int64, index: int, used: Mask, sums: AnyPointer) -> None:
        others = Row.array_on_stack(columns)
        for column in unrolled(range(columns)):
            others[column] = load(Row, of_y[column], index, used)
        for row in unrolled(range(rows)):
            x = convert(Row, load(Stored, of_x[row], index, used))
            for column in unrolled(range(columns)):
                sums[column * rows + row] = fma(x, others[column], sums[column * rows + row])

    @inlined
    def dots(x: int, x_step: int, num_x: int, y: int, y_step: int, num_y: int, k: int, totals: int) -> None:
        of_x, of_y = Int64.array_on_stack(rows), Int64.array_on_stack(columns)
        for row in unrolled(range(rows)):  # if there are fewer rows, the last one is repeated
            of_x[row] = Elements.at(x)[min(row, num_x - 1) * x_step :]
        for column in unrolled(range(columns)):
            of_y[column] = Numbers.at(y)[min(column, num_y - 1) * y_step :]
        sums, index = Row.array_on_stack(num_vectors), 0
        for place in unrolled(range(num_vectors)):
            sums[place] = Row.zero()
        while index < k - (vectors * width - 1):
            for number in unrolled(range(vectors)):
                add_vector(of_x, of_y, index + number * width, all_lanes(width), sums[number * num_sums :])
            index += vectors * width
        for place in unrolled(range(num_sums, vectors * num_sums)):
            sums[place % num_sums] += sums[place]
        if vectors > 1:
            while index < k - (width - 1):
                add_vector(of_x, of_y, index, all_lanes(width), sums)
                index += width
        add_vector(of_x, of_y, index, lanes_below(k - index, width), sums)
        add_lanes(sums)
        for place in unrolled(range(num_results)):
            store(totals, place * width, sums[place])

    return dots
