"""Products of rows with rows whose summed elements are contiguous: full vectors of both."""

from __future__ import annotations

from functools import cache
from typing import Any, Final

from llvmlite import ir

from ep.common.native.emitted import emitted
from ep.common.native.fields import Int64
from ep.cpu.compile.jit import separate
from ep.cpu.compile.memory import loader, storer
from ep.cpu.compile.vectors import (
    NUMBERS,
    WORD,
    add,
    counted_whole,
    fma,
    lanes_below,
    least,
    load,
    store,
    stored_bits,
    sum_in_any_order,
)
from ep.cpu.engine.product.shape import tile_shape
from ep.cpu.engine.product.types import arithmetic_of, as_summed
from ep.include.data_type import DataType

_ROWS: Final = 4  # rows that are processed at once
_WIDTH_BYTES: Final = 64  # bytes of the numbers that are added up in parallel lanes
_ALONE: Final = 4  # vectors of a single row that are processed at once, with independent sums


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
    def add_dots(matrix, step, count, vector, k, sums):
        totals = Int64.array_on_stack(_ROWS)
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
    row to row of x and of y, and from sum to sum along the rows of either.
    """
    size, read, write = arithmetic.itemsize, loader(arithmetic), storer(arithmetic)
    vector_bytes, columns = tile_shape().vector_bytes, tile_shape().rows // 2  # sums that the registers hold
    one, many = (_dots(arithmetic, arithmetic, _ROWS, *shape) for shape in ((1, _WIDTH_BYTES), (columns, vector_bytes)))
    words = _ROWS * columns

    @separate
    def add_dots(x, x_step, num_x, y, y_step, num_y, k, sums, sums_x, sums_y):
        totals = Int64.array_on_stack(words)
        for row in range(0, num_x, _ROWS):
            for column in range(0, num_y, columns):
                rows, others = min(_ROWS, num_x - row), min(columns, num_y - column)
                from_x, from_y = x + row * x_step * size, y + column * y_step * size
                across = columns
                if others == 1:
                    across = 1
                    one(from_x, x_step, rows, from_y, y_step, others, k, totals)
                else:
                    many(from_x, x_step, rows, from_y, y_step, others, k, totals)
                for i in range(rows):
                    for j in range(others):
                        place = (row + i) * sums_x + (column + j) * sums_y
                        write(sums, place, read(sums, place) + read(totals, i * across + j))

    return add_dots


def _dots(
    data_type: DataType, arithmetic: DataType, rows: int, columns: int, width_bytes: int, vectors: int = 1
) -> Any:
    """Return a function (x, x_step, num_x, y, y_step, num_y, k, totals) that multiplies rows of x by rows of y.

    x: up to `rows` rows of `data_type`. y: up to `columns` rows of `arithmetic`. totals: `[rows, columns]`; those of
        rows that do not exist are undefined. vectors: the number of vectors of each row that are multiplied at once.
    """
    width, number, bits = width_bytes // arithmetic.itemsize, NUMBERS[arithmetic], stored_bits(data_type)
    stored, computed = ir.VectorType(bits, width), ir.VectorType(number, width)

    @emitted()
    def dots(
        builder: Any, x: Any, x_step: Any, num_x: Any, y: Any, y_step: Any, num_y: Any, k: Any, totals: Any
    ) -> None:

        def pointers(first: Any, step: Any, count: Any, most: int, kind: Any) -> list[Any]:
            last, first = builder.sub(count, WORD(1)), builder.inttoptr(first, kind.as_pointer())
            result = []
            for row in range(most):  # if there are fewer rows, the last one is repeated
                there = least(builder, WORD(row), last)
                result.append(builder.gep(first, [builder.mul(there, step)]))
            return result

        from_x, from_y = pointers(x, x_step, num_x, rows, bits), pointers(y, y_step, num_y, columns, number)

        def body(index: Any, sums: list[Any], mask: Any = None) -> list[Any]:
            others = [load(builder, one, computed, index, mask) for one in from_y]
            after = []
            for row, one in enumerate(from_x):
                loaded = load(builder, one, stored, index, mask)
                own = as_summed(builder, loaded, data_type)
                for column, other in enumerate(others):
                    after.append(fma(builder, own, other, sums[row * columns + column]))
            return after

        zeros = [computed(None)] * (rows * columns)

        def several(index: Any, sums: list[Any]) -> list[Any]:
            after = []
            for number in range(vectors):
                own = sums[number * len(zeros) : (number + 1) * len(zeros)]
                after += body(builder.add(index, WORD(number * width)), own)
            return after

        left, sums = counted_whole(builder, WORD(0), k, vectors * width, zeros * vectors, several)
        sums, others = sums[: len(zeros)], sums[len(zeros) :]
        for place, other in enumerate(others):
            sums[place % len(zeros)] = add(builder, sums[place % len(zeros)], other)
        if vectors > 1:
            left, sums = counted_whole(builder, left, k, width, sums, body)
        sums = body(left, sums, lanes_below(builder, builder.sub(k, left), width))
        for place, total in enumerate(sums):
            store(builder, sum_in_any_order(builder, total), totals, WORD(place))

    return dots
