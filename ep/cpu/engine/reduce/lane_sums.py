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

from ep.common.native.emitted import emitted
from ep.cpu.compile.vectors import DOUBLE, INT, WORD, constant, lanes_below, load, store, taken
from ep.cpu.engine.reduce.vectors import two_sum

LANES: Final = 8
RECORD_VECTOR: Final = 8 * LANES
"""Bytes of a vector of a record."""

_VECTOR: Final = ir.VectorType(DOUBLE, LANES)


def _loaded(builder: Any, record: Any, number: int) -> Any:
    """Return vector `number` of records."""
    return load(builder, record, _VECTOR, WORD(LANES * number), align=RECORD_VECTOR)


def keep_sums(builder: Any, record: Any, first: Any, sums: Sequence[Any]) -> None:
    """Write the vectors of a record if `first`; otherwise add them to the record."""

    def keep(values: Sequence[Any]) -> None:
        for number, value in enumerate(values):
            store(builder, value, record, WORD(LANES * number), align=RECORD_VECTOR)

    with builder.if_else(first) as (then, otherwise):
        with then:
            keep(sums)
        with otherwise:
            before = [_loaded(builder, record, number) for number in range(len(sums))]
            total, lost = two_sum(builder, before[0], sums[0])
            keep(
                [
                    total,
                    *(
                        builder.fadd(builder.fadd(old, new), lost)
                        for old, new in zip(before[1:], sums[1:], strict=True)
                    ),
                ]
            )


def _folded(builder: Any, vectors: list[Any]) -> Any:
    """Return the sums of the lanes of eight vectors, one per lane: neighbours are added, then pairs, then halves."""
    width = 1
    while len(vectors) > 1:
        places = []
        for lane in range(LANES):
            block, rest = divmod(lane, 2 * width)
            places.append(2 * width * block + (rest if rest < width else LANES + rest - width))
        lower, upper = ([place + skip for place in places] for skip in (0, width))
        vectors = [
            builder.fadd(taken(builder, lower, a, b), taken(builder, upper, a, b))
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

    @emitted()
    def fold(builder: Any, records: Any, rows: Any, totals: Any, errors: Any) -> None:
        mask = lanes_below(builder, builder.trunc(rows, INT), LANES)
        sums = [
            _folded(builder, [_loaded(builder, records, parts * row + part) for row in range(LANES)])
            for part in range(parts)
        ]
        for value, address in zip([*sums, constant(_VECTOR, 0.0)], (totals, errors), strict=False):
            store(builder, value, address, mask=mask, align=8)

    return fold
