"""The fold of rows into values of their columns."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

from ep.common.native.emitted import emitted
from ep.cpu.compile.vectors import (
    L2_CACHE,
    WORD,
    constant,
    counted_at_head,
    lanes_of,
    load,
    pointer_to,
    store,
)
from ep.cpu.engine.reduce.fold import CHAIN, Fold, fold_of
from ep.cpu.engine.reduce.vectors import (
    Lanes,
    by_width,
    combined,
    identity,
    lanes_behind,
    two_sum,
    widths_of,
)
from ep.cpu.lines.fetch import fetch_part
from ep.include.primitive.reduce_op import ReduceOp


def rows_at_once(of: Lanes) -> int:
    """Return the number of rows folded at once, each by its own load instruction, so that processors prefetch it.

    At most this number of values is added in sequence for float64, and in float32 for 16-bit types. Rows that are a
    page apart map to few sets of L1.
    """
    return CHAIN if of.compensated or of.chained else 4


@cache
def column_folder(of: Lanes, scaled: bool = False) -> Any:
    """Return a function fold(total, error, fresh, address, stride, ahead, num_rows, count, scale).

    It folds rows into `count` values.
    total, error: the values, and their rounding errors; if `fresh`, they are not initialised yet.
    stride: bytes from a row to the next. num_rows, count: at least 1.
    ahead: the prefetch distance into L2, in bytes. The caller prefetches the last byte of each row.
    scale: the factor applied to each element first if `scaled`; for float64 only.

    `rows_at_once` rows are folded into values that stay in registers, for as many columns as fit. The result has the
    same bits if the rows are split among several calls, each of a multiple of `rows_at_once` rows.
    """

    @emitted(scale="float64")
    def fold_columns(
        builder: Any,
        total: Any,
        error: Any,
        fresh: Any,
        address: Any,
        stride: Any,
        ahead: Any,
        num_rows: Any,
        count: Any,
        scale: Any,
    ) -> None:
        scale, values = scale if scaled else None, builder.mul(count, WORD(of.parts))
        together = rows_at_once(of)
        whole_rows = builder.and_(num_rows, WORD(-together))
        kept = _Accumulators(builder, of, total, error, builder.icmp_unsigned("!=", fresh, WORD(0)))
        number_bytes = of.stored.itemsize * (2 if of.pairs else 1)

        def columns(width: int, index: Any, is_new: Any = None) -> None:
            """Fold all rows of `width` columns."""

            def read(place: Any) -> Any:
                return kept.fold.read(place, index, width, scale)

            def row_at(row: Any) -> Any:
                return builder.add(address, builder.mul(row, stride))

            def several(row: Any, carried: list[Any]) -> Sequence[Any]:
                begin, reads = row_at(row), []
                for each in range(together):
                    place = builder.add(begin, builder.mul(stride, WORD(each)))
                    behind = builder.add(builder.add(place, ahead), builder.mul(index, WORD(number_bytes)))
                    fetch_part(builder, behind, width * number_bytes, L2_CACHE)
                    reads.append(read(place))
                return kept.more(carried, reads, row)

            def few(row: Any, carried: list[Any]) -> Sequence[Any]:
                def part(first: Sequence[Any], begin: Any) -> Sequence[Any]:
                    def more(one: Any, folded: list[Any]) -> Sequence[Any]:
                        return kept.fold.more(folded, read(row_at(one)))

                    return counted_at_head(builder, begin, num_rows, 1, first, more)[1]

                if not kept.apart:
                    return part(carried, row)
                first = kept.fold.first(read(row_at(row)))
                return kept.merged(carried, part(first, builder.add(row, WORD(1))), row)

            before, carried = kept.load(index, width)
            _, carried = counted_at_head(builder, WORD(0), whole_rows, together, carried, several)
            _, carried = counted_at_head(builder, whole_rows, num_rows, together, carried, few)
            kept.store(index, before, carried, is_new)

        def do(width: int) -> None:
            whole = builder.and_(values, WORD(-width))
            counted_at_head(builder, WORD(0), whole, width, [], lambda index, _: columns(width, index))
            if width > of.parts:
                with builder.if_then(builder.icmp_signed("<", whole, values)):
                    columns(width, builder.sub(values, WORD(width)), lanes_behind(builder, width, values))

        by_width(builder, widths_of(of, of.parts), values, do)

    return fold_columns


class _Accumulators:
    """The values of columns, in memory and while rows are folded into them.

    apart: whether rows that are folded at once are combined with each other first. Sums of float64 record the rounding
        error of each merge; sums of 16-bit types are widened then. A product of complex numbers has no neutral first
        factor, since infinity times 0 is NaN.
    """

    def __init__(self, builder: Any, of: Lanes, total: Any, error: Any, fresh: Any) -> None:
        self._builder, self._of, self._total, self._error, self._fresh = builder, of, total, error, fresh
        self._select_first = of.op is ReduceOp.kProd and of.parts == 2
        self.apart = of.compensated or of.chained or self._select_first
        self.fold: Fold = fold_of(builder, of, by_lanes=True)

    def _places(self, kept: Any, index: Any, width: int) -> list[Any]:
        size = self.fold.size_of(width)
        return [
            pointer_to(self._builder, kept, self._of.vector(size), self._builder.add(index, WORD(skip)))
            for skip in range(0, width, size)
        ]

    def load(self, index: Any, width: int) -> tuple[Any, Any]:
        """Return the values of `width` columns from `index` on as they are in memory, and the carried state."""
        builder, of = self._builder, self._of
        before = [load(builder, place, place.type.pointee) for place in self._places(self._total, index, width)]
        values = tuple(builder.select(self._fresh, identity(of, each.type), each) for each in before)
        if not of.compensated:
            return before, values if self.apart else self.fold.first(values)
        errors = [load(builder, place, place.type.pointee) for place in self._places(self._error, index, width)]
        lost = tuple(builder.select(self._fresh, constant(each.type, 0.0), each) for each in errors)
        return before + errors, values + lost

    def more(self, carried: Any, reads: list[Any], row: Any) -> Sequence[Any]:
        """Fold rows from `row` on, which have been read, into the carried state."""
        part, rest = (self.fold.first(reads[0]), reads[1:]) if self.apart else (carried, reads)
        for first in range(0, len(rest), 2):
            part = self.fold.more(part, *rest[first : first + 2])
        return self.merged(carried, part, row) if self.apart else part

    def merged(self, carried: Any, part: Any, row: Any) -> Sequence[Any]:
        """Merge rows from `row` on, which were folded separately, into the carried state."""
        builder, of, found = self._builder, self._of, self.fold.values(part)
        if of.compensated:
            both = [two_sum(builder, a, b) for a, b in zip(carried, found, strict=False)]
            errors = zip(carried[len(found) :], both, strict=True)
            return (*(each for each, _ in both), *(builder.fadd(error, lost) for error, (_, lost) in errors))
        together = tuple(combined(builder, of, a, b) for a, b in zip(carried, found, strict=True))
        if not self._select_first:
            return together
        none = builder.and_(self._fresh, builder.icmp_unsigned("==", row, WORD(0)))
        return tuple(builder.select(none, a, b) for a, b in zip(found, together, strict=True))

    def store(self, index: Any, before: Any, carried: Any, is_new: Any) -> None:
        """Write the values of the columns that `is_new` marks; of all columns if it is None."""
        builder, values = self._builder, carried if self.apart else self.fold.values(carried)
        size = values[0].type.count
        width = size * len(values) // (2 if self._of.compensated else 1)
        places = self._places(self._total, index, width)
        if self._of.compensated:
            places += self._places(self._error, index, width)
        for number, (place, old, value) in enumerate(zip(places, before, values, strict=True)):
            if is_new is not None:
                new = lanes_of(builder, is_new, number * size % width, size)
                value = builder.select(new, value, old)
            store(builder, value, place)
