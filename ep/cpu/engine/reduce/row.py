"""The fold of the elements of a row."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from numba.core import types

from ep.common.native.emitted import emitted
from ep.cpu.compile.vectors import WORD, counted_at_head, joined, store, where
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
from ep.include.primitive.reduce_op import ReduceOp


def _rest(builder: Any, of: Lanes, width: int, address: Any, total: Any, scale: Any) -> Any:
    """Return the last of `total` values, after the whole vectors, as a vector in which no value counts twice."""
    last = read_values(builder, of, address, builder.sub(total, WORD(width)), width, scale)
    if of.op in (ReduceOp.kSum, ReduceOp.kProd):
        last = builder.select(lanes_behind(builder, width, total), last, identity(of, last.type))
    return last


def fold_one_row(builder: Any, of: Lanes, width: int, address: Any, total: Any, scale: Any) -> Any:
    """Fold `total` >= `width` contiguous values into one vector."""
    fold, whole = fold_of(builder, of, by_lanes=False), builder.and_(total, WORD(-width))

    def read(index: Any, skip: int = 0) -> Any:
        return fold.read(address, builder.add(index, WORD(skip)), width, scale)

    def folded_behind(begin: Any) -> Any:
        first, begin = fold.first(read(begin)), builder.add(begin, WORD(width))
        return counted_at_head(builder, begin, whole, width, first, lambda index, c: fold.more(c, read(index)))[1]

    def chain(begin: Any) -> Any:
        links = fold.first(read(begin))
        for link in range(1, CHAIN):
            links = fold.more(links, read(begin, link * width))
        return links

    if of.chained and width == widths_of(of, of.parts)[0]:
        chains = builder.and_(total, WORD(-CHAIN * width))
        size = fold.size_of(width)
        value = [identity(of, of.vector(size))] * (width // size)

        def add(begin: Any, end: Any, links: Callable[[Any], Any], value: Sequence[Any]) -> list[Any]:
            def more(index: Any, carried: list[Any]) -> list[Any]:
                found = fold.values(links(index))
                return [combined(builder, of, a, b) for a, b in zip(carried, found, strict=True)]

            return counted_at_head(builder, begin, end, CHAIN * width, value, more)[1]

        value = add(WORD(0), chains, chain, value)
        value = add(chains, whole, folded_behind, value)
    else:
        value = fold.values(folded_behind(WORD(0)))
    return _with_rest(builder, of, width, joined(builder, value), address, total, scale)


def fold_one_vector(builder: Any, of: Lanes, width: int, address: Any, scale: Any) -> Any:
    """Fold exactly `width` values into one vector."""
    fold = fold_of(builder, of, by_lanes=False)
    return joined(builder, fold.values(fold.first(fold.read(address, WORD(0), width, scale))))


def _with_rest(builder: Any, of: Lanes, width: int, value: Any, address: Any, total: Any, scale: Any) -> Any:
    """Fold the remaining values into the vector of all values that fill vectors."""
    if width == of.parts:
        return value

    def with_rest() -> list[Any]:
        return [combined(builder, of, value, _rest(builder, of, width, address, total, scale))]

    is_cut = builder.icmp_unsigned("!=", builder.and_(total, WORD(width - 1)), WORD(0))
    return where(builder, is_cut, with_rest, [value])[0]


@cache
def row_folder(of: Lanes, scaled: bool = False) -> Any:
    """Return a function fold(out, address, count, scale) that writes the value of `count` >= 1 elements to `out`.

    scaled: whether each element is multiplied by `scale` first; for float64 only.
    """

    @emitted(scale=types.float64)
    def fold_row(builder: Any, out: Any, address: Any, count: Any, scale: Any) -> None:
        total = builder.mul(count, WORD(of.parts))

        def do(width: int) -> None:
            value = fold_one_row(builder, of, width, address, total, scale if scaled else None)
            store(builder, folded(builder, of, value, of.parts), out)

        by_width(builder, widths_of(of, of.parts), total, do)

    return fold_row
