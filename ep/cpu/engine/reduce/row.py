"""The fold of the elements of a row."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, Final

from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic

from ep.cpu.compile.vectors import either
from ep.cpu.engine.reduce.fold import CHAIN, fold_of
from ep.cpu.engine.reduce.vectors import (
    Lanes,
    by_width,
    combined,
    fold_loop,
    folded,
    identity,
    joined,
    lanes_behind,
    place_of,
    read_values,
    widths_of,
)
from ep.include.primitive.reduce_op import ReduceOp

_WORD: Final = ir.IntType(64)


def _rest(builder: Any, of: Lanes, width: int, address: Any, total: Any, scale: Any) -> Any:
    """Return the last of `total` values, after the whole vectors, as a vector in which no value counts twice."""
    last = read_values(builder, of, address, builder.sub(total, _WORD(width)), width, scale)
    if of.op in (ReduceOp.kSum, ReduceOp.kProd):
        last = builder.select(lanes_behind(builder, width, total), last, identity(of, last.type))
    return last


def fold_one_row(builder: Any, of: Lanes, width: int, address: Any, total: Any, scale: Any) -> Any:
    """Fold `total` >= `width` contiguous values into one vector."""
    fold, whole = fold_of(builder, of, by_lanes=False), builder.and_(total, _WORD(-width))

    def read(index: Any, skip: int = 0) -> Any:
        return fold.read(address, builder.add(index, _WORD(skip)), width, scale)

    def folded_behind(begin: Any) -> Any:
        first = fold.first(read(begin))
        return fold_loop(
            builder, builder.add(begin, _WORD(width)), whole, width, first, lambda index, c: fold.more(c, read(index))
        )

    def chain(begin: Any) -> Any:
        links = fold.first(read(begin))
        for link in range(1, CHAIN):
            links = fold.more(links, read(begin, link * width))
        return links

    if of.chained and width == widths_of(of, of.parts)[0]:
        chains = builder.and_(total, _WORD(-CHAIN * width))
        size = fold.size_of(width)
        value = (identity(of, of.vector(size)),) * (width // size)

        def add(begin: Any, end: Any, links: Callable[[Any], Any], value: Any) -> Any:
            def more(index: Any, carried: Any) -> Any:
                found = fold.values(links(index))
                return tuple(combined(builder, of, a, b) for a, b in zip(carried, found, strict=True))

            return fold_loop(builder, begin, end, CHAIN * width, value, more)

        value = add(_WORD(0), chains, chain, value)
        value = add(chains, whole, folded_behind, value)
    else:
        value = fold.values(folded_behind(_WORD(0)))
    return _with_rest(builder, of, width, joined(builder, value), address, total, scale)


def fold_one_vector(builder: Any, of: Lanes, width: int, address: Any, scale: Any) -> Any:
    """Fold exactly `width` values into one vector."""
    fold = fold_of(builder, of, by_lanes=False)
    return joined(builder, fold.values(fold.first(fold.read(address, _WORD(0), width, scale))))


def _with_rest(builder: Any, of: Lanes, width: int, value: Any, address: Any, total: Any, scale: Any) -> Any:
    """Fold the remaining values into the vector of all values that fill vectors."""
    if width == of.parts:
        return value
    before, rest, done = builder.block, builder.append_basic_block("rest"), builder.append_basic_block("done")
    builder.cbranch(builder.icmp_unsigned("!=", builder.and_(total, _WORD(width - 1)), _WORD(0)), rest, done)
    builder.position_at_end(rest)
    with_rest = combined(builder, of, value, _rest(builder, of, width, address, total, scale))
    last = builder.block
    builder.branch(done)
    builder.position_at_end(done)
    return either(builder, ((value, before), (with_rest, last)))


@cache
def row_folder(of: Lanes, scaled: bool = False) -> Any:
    """Return a function fold(out, address, count, scale) that writes the value of `count` >= 1 elements to `out`.

    scaled: whether each element is multiplied by `scale` first; for float64 only.
    """

    @intrinsic
    def fold_row(typing_context: Any, out: Any, address: Any, count: Any, scale: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            out, address, count, scale = args
            scale, total = scale if scaled else None, builder.mul(count, _WORD(of.parts))

            def do(width: int) -> None:
                value = fold_one_row(builder, of, width, address, total, scale)
                builder.store(
                    folded(builder, of, value, of.parts), place_of(builder, of, out, _WORD(0), of.parts), align=1
                )

            by_width(builder, widths_of(of, of.parts), total, do)
            return context.get_dummy_value()

        return types.void(*[types.int64] * 3, types.float64), generate

    return fold_row
