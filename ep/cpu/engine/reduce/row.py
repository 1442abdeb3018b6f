"""The fold of the elements of a row."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from ep.common.native.emitted import emitted
from ep.cpu.compile.vectors import L1_CACHE, WORD, counted_at_head, joined, store, where
from ep.cpu.engine.reduce.fold import CHAIN, fold_of
from ep.cpu.engine.reduce.vectors import (
    Lanes,
    by_width,
    combined,
    folded,
    identity,
    lanes_behind,
    read_values,
    widths_of,
)
from ep.cpu.lines.fetch import fetch_last, fetch_part
from ep.include.primitive.reduce_op import ReduceOp


def rest_of_row(
    builder: Any, of: Lanes, width: int, size: int, address: Any, begin: Any, total: Any, scale: Any
) -> list[Any]:
    """Return the last of `total` values, after the whole vectors, as `width` lanes in which no value counts twice.

    size: the lanes of each returned vector. begin: the index, at `address`, of the last `width` values.
    """
    rest = []
    for first in range(0, width, size):
        last = read_values(builder, of, address, builder.add(begin, WORD(first)), size, scale)
        if of.op in (ReduceOp.kSum, ReduceOp.kProd):
            last = builder.select(lanes_behind(builder, width, total, first, size), last, identity(of, last.type))
        rest.append(last)
    return rest


def fold_one_row(builder: Any, of: Lanes, width: int, address: Any, total: Any, ahead: Any, scale: Any) -> list[Any]:
    """Fold `total` >= `width` contiguous values into vectors of `width` lanes in all.

    ahead: the distance in bytes by which elements are prefetched, if the row has many.
    """
    fold, whole = fold_of(builder, of, by_lanes=False), builder.and_(total, WORD(-width))
    number_bytes = of.stored.itemsize * (2 if of.pairs else 1)
    is_widest = width == widths_of(of, of.parts)[0]

    def fetched_from(index: Any) -> Any:
        return builder.add(builder.add(address, ahead), builder.mul(index, WORD(number_bytes)))

    def fetch_vector(index: Any) -> None:
        if is_widest:
            fetch_part(builder, fetched_from(index), width * number_bytes, L1_CACHE)

    def read(index: Any, skip: int = 0) -> Any:
        first = builder.add(index, WORD(skip))
        fetch_vector(first)
        return fold.read(address, first, width, scale)

    def folded_behind(begin: Any) -> Any:
        first, begin = fold.first(read(begin)), builder.add(begin, WORD(width))
        return counted_at_head(builder, begin, whole, width, first, lambda index, c: fold.more(c, read(index)))[1]

    def chain(begin: Any) -> Any:
        links: Sequence[Any] = fold.first(read(begin))
        for link in range(1, CHAIN):
            links = fold.more(links, read(begin, link * width))
        return links

    if of.chained and is_widest:
        chains = builder.and_(total, WORD(-CHAIN * width))
        size = fold.size_of(width)
        value: Sequence[Any] = [identity(of, of.vector(size))] * (width // size)

        def add(begin: Any, end: Any, links: Callable[[Any], Any], value: Sequence[Any]) -> list[Any]:
            def more(index: Any, carried: list[Any]) -> list[Any]:
                found = fold.values(links(index))
                return [combined(builder, of, a, b) for a, b in zip(carried, found, strict=True)]

            return counted_at_head(builder, begin, end, CHAIN * width, value, more)[1]

        value = add(WORD(0), chains, chain, value)
        value = add(chains, whole, folded_behind, value)
    else:
        value = fold.values(folded_behind(WORD(0)))
    if is_widest:
        fetch_last(builder, fetched_from(total), L1_CACHE)
    return _with_rest(builder, of, width, value, address, total, scale, fetch_vector)


def fold_one_vector(builder: Any, of: Lanes, width: int, address: Any, scale: Any) -> Any:
    """Fold exactly `width` values into one vector."""
    fold = fold_of(builder, of, by_lanes=False)
    return joined(builder, fold.values(fold.first(fold.read(address, WORD(0), width, scale))))


def _with_rest(
    builder: Any,
    of: Lanes,
    width: int,
    values: Sequence[Any],
    address: Any,
    total: Any,
    scale: Any,
    fetch_vector: Callable[[Any], None],
) -> list[Any]:
    """Fold the remaining values into the vectors of all values that fill vectors."""
    if width == of.parts:
        return list(values)

    def with_rest() -> list[Any]:
        begin = builder.sub(total, WORD(width))
        fetch_vector(begin)
        rest = rest_of_row(builder, of, width, values[0].type.count, address, begin, total, scale)
        return [combined(builder, of, a, b) for a, b in zip(values, rest, strict=True)]

    is_cut = builder.icmp_unsigned("!=", builder.and_(total, WORD(width - 1)), WORD(0))
    return where(builder, is_cut, with_rest, list(values))


@cache
def row_folder(of: Lanes, scaled: bool = False) -> Any:
    """Return a function fold(out, address, count, ahead, scale) that folds `count` >= 1 elements into a value at `out`.

    ahead: the distance in bytes by which elements are prefetched.
    scaled: whether each element is multiplied by `scale` first; for float64 only.
    """

    @emitted(scale="float64")
    def fold_row(builder: Any, out: Any, address: Any, count: Any, ahead: Any, scale: Any) -> None:
        total = builder.mul(count, WORD(of.parts))

        def do(width: int) -> None:
            value = fold_one_row(builder, of, width, address, total, ahead, scale if scaled else None)
            store(builder, folded(builder, of, value, of.parts), out)

        by_width(builder, widths_of(of, of.parts), total, do)

    return fold_row
