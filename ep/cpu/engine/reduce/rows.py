"""The fold of several rows at a time: their vectors are folded together, down to one vector with a value of each row.

Rows that are one vector long are read in place; each other row is folded into a vector first.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from ep.common.native.emitted import emitted
from ep.cpu.compile.vectors import WORD, counted_at_head, load, store, taken
from ep.cpu.engine.reduce.fold import fold_of
from ep.cpu.engine.reduce.row import fold_one_row, fold_one_vector
from ep.cpu.engine.reduce.vectors import VECTOR_BYTES, Lanes, by_width, combined, folded, widths_of


def rows_at_a_time(of: Lanes) -> int:
    """Return the number of rows that become one vector."""
    return VECTOR_BYTES // of.size // of.parts


@cache
def rows_folder(of: Lanes, scaled: bool = False) -> Any:
    """Return a function fold(out, vectors, address, stride, num_rows, count, ahead, scale) that folds rows into values.

    It writes the values to `out`. Each of the `num_rows` <= `rows_at_a_time` rows has `count` >= 1 contiguous elements,
    `stride` bytes from the previous one. The values have the same bits as those of `row_folder`. `out` has room for the
    values of `rows_at_a_time` rows, and `vectors` for a vector of each. `ahead`: as for `row_folder`.
    """

    @emitted(scale="float64")
    def fold_rows(
        builder: Any,
        out: Any,
        vectors: Any,
        address: Any,
        stride: Any,
        num_rows: Any,
        count: Any,
        ahead: Any,
        scale: Any,
    ) -> None:
        scale, total = scale if scaled else None, builder.mul(count, WORD(of.parts))

        def do(width: int) -> None:
            lanes = min(width, VECTOR_BYTES // of.size)
            if width > lanes:  # no vector longer than the carried ones
                lanes = min(lanes, fold_of(builder, of, by_lanes=False).size_of(width))
            group = lanes // of.parts

            def row_at(row: Any) -> Any:
                return builder.add(address, builder.mul(row, stride))

            def vector(row: Any, _: Any) -> None:
                value = folded(builder, of, fold_one_row(builder, of, width, row_at(row), total, ahead, scale), lanes)
                store(builder, value, vectors, builder.mul(row, WORD(lanes)))

            def kept(row: Any) -> Any:
                return load(builder, vectors, of.vector(lanes), builder.mul(row, WORD(lanes)))

            def whole(row: Any) -> Any:
                return fold_one_vector(builder, of, width, row_at(row), scale)

            def values(vector_of: Any) -> Any:
                def write(row: Any, _: Any) -> None:
                    together = [vector_of(builder.add(row, WORD(each))) for each in range(group)]
                    store(builder, _folded_together(builder, of, together), out, builder.mul(row, WORD(of.parts)))

                return write

            def one_by_one() -> None:
                counted_at_head(builder, WORD(0), num_rows, 1, [], vector)
                counted_at_head(builder, WORD(0), num_rows, group, [], values(kept))

            if width > lanes:
                one_by_one()
                return
            is_whole = builder.icmp_unsigned("==", total, WORD(width))
            full = builder.icmp_unsigned("==", builder.and_(num_rows, WORD(group - 1)), WORD(0))
            with builder.if_else(builder.and_(is_whole, full)) as (then, otherwise):
                with then:
                    counted_at_head(builder, WORD(0), num_rows, group, [], values(whole))
                with otherwise:
                    one_by_one()

        by_width(builder, widths_of(of, of.parts), total, do)

    return fold_rows


def _folded_together(builder: Any, of: Lanes, vectors: list[Any]) -> Any:
    """Return the value of each of n vectors of n values: `folded`, with no lane idle."""
    lanes = vectors[0].type.count
    left = lanes
    while len(vectors) > 1:
        starts = range(0, 2 * lanes, left)
        left //= 2
        lower, upper = ([start + skip + lane for start in starts for lane in range(left)] for skip in (0, left))
        vectors = [
            combined(builder, of, taken(builder, lower, a, b), taken(builder, upper, a, b))
            for a, b in zip(vectors[::2], vectors[1::2], strict=True)
        ]
    return vectors[0]
