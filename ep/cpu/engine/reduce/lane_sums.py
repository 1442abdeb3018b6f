"""Sums of the lanes of vectors, for eight rows at once.

The pass over a row leaves a *record*: one vector of float64, or two, the second with the rounding errors. Adding up the
lanes of one record takes a core as long as several vectors of elements. So the lanes of eight rows are added up
together, in the same order for any choice of rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any, Final

from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic

from ep.cpu.compile.vectors import lanes_below, store_lanes
from ep.cpu.engine.reduce.vectors import two_sum

LANES: Final = 8
RECORD_VECTOR: Final = 8 * LANES
"""Bytes of a vector of a record."""

_WORD, _INT = ir.IntType(64), ir.IntType(32)
_VECTOR: Final = ir.VectorType(ir.DoubleType(), LANES)


def _place(builder: Any, address: Any, vector: int) -> Any:
    return builder.gep(builder.inttoptr(address, _VECTOR.as_pointer()), [_WORD(vector)])


def keep_sums(builder: Any, record: Any, first: Any, sums: Sequence[Any]) -> None:
    """Write the vectors of a record if `first`; otherwise add them to the record."""
    places = [_place(builder, record, vector) for vector in range(len(sums))]
    with builder.if_else(first) as (then, otherwise):
        with then:
            for value, place in zip(sums, places, strict=True):
                builder.store(value, place, align=RECORD_VECTOR)
        with otherwise:
            before = [builder.load(place, align=RECORD_VECTOR) for place in places]
            total, lost = two_sum(builder, before[0], sums[0])
            builder.store(total, places[0], align=RECORD_VECTOR)
            if len(sums) > 1:
                error = builder.fadd(builder.fadd(before[1], sums[1]), lost)
                builder.store(error, places[1], align=RECORD_VECTOR)


def _folded(builder: Any, vectors: list[Any]) -> Any:
    """Return the sums of the lanes of eight vectors, one per lane: neighbours are added, then pairs, then halves."""
    width = 1
    while len(vectors) > 1:
        kind, places = ir.VectorType(_INT, LANES), []
        for lane in range(LANES):
            block, rest = divmod(lane, 2 * width)
            places.append(2 * width * block + (rest if rest < width else LANES + rest - width))
        lower, upper = (ir.Constant(kind, [place + skip for place in places]) for skip in (0, width))
        vectors = [
            builder.fadd(builder.shuffle_vector(a, b, lower), builder.shuffle_vector(a, b, upper))
            for a, b in zip(vectors[::2], vectors[1::2], strict=True)
        ]
        width *= 2
    return vectors[0]


@cache
def lane_folder(exact: bool) -> Any:
    """Return a function fold(records, rows, totals, errors) that writes the sums of at most eight rows.

    exact: whether a record is two vectors; otherwise all errors are 0.
    """
    parts = 2 if exact else 1

    @intrinsic
    def fold(typing_context: Any, records: Any, rows: Any, totals: Any, errors: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            records, rows, *out = args
            mask = lanes_below(builder, builder.trunc(rows, _INT), LANES)
            sums = [
                _folded(
                    builder,
                    [
                        builder.load(_place(builder, records, parts * row + part), align=RECORD_VECTOR)
                        for row in range(LANES)
                    ],
                )
                for part in range(parts)
            ]
            for value, address in zip([*sums, ir.Constant(_VECTOR, [0.0] * LANES)], out, strict=False):
                store_lanes(builder, value, _place(builder, address, 0), 8, mask)
            return context.get_dummy_value()

        return types.void(*[types.int64] * 4), generate

    return fold
