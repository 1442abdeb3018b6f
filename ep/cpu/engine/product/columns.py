"""Products of a vector and a contiguous matrix of few columns, computed in full vectors.

In registers, each number of the vector is repeated for the elements of its row. The sums are separated by column once,
at the end, so the matrix itself need not be separated.
"""

from __future__ import annotations

from typing import Any, Final

from llvmlite import ir

from ep.common.native.emitted import emitted
from ep.cpu.compile.vectors import (
    NUMBERS,
    WORD,
    add,
    counted_whole,
    fma,
    lanes_below,
    load,
    store,
    stored_bits,
    sum_in_any_order,
    taken,
)
from ep.cpu.engine.product.packing import taken_apart
from ep.cpu.engine.product.types import arithmetic_of, as_summed
from ep.include.data_type import DataType

_WIDTH_BYTES: Final = 64  # bytes of the numbers that are added up in parallel lanes
_SUMS_AT_ONCE: Final = 8  # the least number of independent vectors of sums


def dots_of_columns(data_type: DataType, columns: int) -> Any:
    """Return a function (matrix, vector, k, sums) that adds to each sum the product of its column and the vector.

    matrix: k rows of `columns` elements, contiguous. vector, sums: in the arithmetic type.
    """
    arithmetic = arithmetic_of(data_type)
    width, number, bits = _WIDTH_BYTES // arithmetic.itemsize, NUMBERS[arithmetic], stored_bits(data_type)
    stored, computed = ir.VectorType(bits, width), ir.VectorType(number, width)
    at_once = -(-_SUMS_AT_ONCE // columns)
    repeats = [[(place * width + lane) // columns for lane in range(width)] for place in range(columns)]

    @emitted()
    def dots(builder: Any, matrix: Any, vector: Any, k: Any, sums: Any) -> None:
        elements, numbers, totals = (
            builder.inttoptr(one, kind.as_pointer()) for one, kind in ((matrix, bits), (vector, number), (sums, number))
        )

        def rows(index: Any, sums: list[Any], left: Any = None) -> list[Any]:
            mask = None if left is None else lanes_below(builder, left, width)
            part = load(builder, numbers, computed, index, mask)
            source, after = builder.gep(elements, [builder.mul(index, WORD(columns))]), []
            for place, (repeat, total) in enumerate(zip(repeats, sums, strict=True)):
                if left is not None:
                    mask = lanes_below(builder, builder.mul(left, WORD(columns)), width, place * width)
                pointer = builder.gep(source, [WORD(place * width)])
                x = as_summed(builder, load(builder, pointer, stored, mask=mask), data_type)
                after.append(fma(builder, x, taken(builder, repeat, part), total))
            return after

        def several(index: Any, sums: list[Any]) -> list[Any]:
            after = []
            for number in range(at_once):
                own = sums[number * columns : (number + 1) * columns]
                after += rows(builder.add(index, WORD(number * width)), own)
            return after

        zeros = [computed(None)] * (columns * at_once)
        left, parts = counted_whole(builder, WORD(0), k, at_once * width, zeros, several)
        for place in range(columns, len(parts)):
            parts[place % columns] = add(builder, parts[place % columns], parts[place])
        left, parts = counted_whole(builder, left, k, width, parts[:columns], rows)
        parts = rows(left, parts, builder.sub(k, left))
        for column, part in enumerate(taken_apart(builder, parts)):
            before = load(builder, totals, number, WORD(column))
            store(builder, add(builder, before, sum_in_any_order(builder, part)), totals, WORD(column))

    return dots
