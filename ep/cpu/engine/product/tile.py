"""The innermost product: a tile of c, whose sums stay in registers along k."""

from __future__ import annotations

from functools import cache
from typing import Any, Final

from llvmlite import ir

from ep.common.native.emitted import emitted
from ep.cpu.compile.target import multiplies_words
from ep.cpu.compile.vectors import (
    BYTE,
    INT,
    L1_CACHE,
    L2_CACHE,
    NUMBERS,
    WORD,
    add_by_halves,
    add_pairs,
    counted,
    counted_whole,
    fma,
    lanes_below,
    least,
    load,
    multiply,
    splat,
    store,
    with_crossed,
)
from ep.cpu.lines.fetch import fetch_constant
from ep.include.data_type import DataType

_AHEAD: Final = 16  # prefetch distance in rows of b
_STEPS: Final = 4  # steps per turn of a tile of packed operands

SLOW: Final = 2
"""The least `slow` with one prefetch for each step: more would cost more than they save."""

FEW_SUMS: Final = 12
"""The most vectors of sums of a tile whose steps leave no slots for counting and prefetches."""

_HALVED_SUMS: Final = 4  # the most sums at a time that registers hold in two vectors each


@cache
def tile_multiplier(
    data_type: DataType, rows: int, vectors: int, lanes: int, packed: int = 0, *, paired: bool = False
) -> Any:
    """Return a function that computes alpha a b for the first num_rows rows and num_columns columns of a tile.

    The tile is [rows, vectors * lanes]. The arguments are (k, a, a_row, a_step, b, b_step, c, c_step, num_rows,
    num_columns, alpha, adds, later, later_step, slow).
    a: its elements are a_row apart from row to row, and a_step along k. b: `[k, vectors * lanes]`, with b_step elements
        from row to row; c_step is the same for c. adds: 1 to add the product to c, 0 to overwrite c. later: the address
        of data that later tiles read. If slow is less than SLOW, these are rows of b, later_step bytes apart: one is
        prefetched into L2 every 2 ** slow steps along k, and the next rows of this tile's b into L1. Otherwise, every
        step prefetches one line into L2, later_step bytes after the line of the step before.
    packed: the numbers of a row of b if a and b are packed, else 0. If they are, all rows are computed, strides are
        constants, and only c is prefetched, since a and b are contiguous.
    paired: whether an element of a and b is a pair of numbers of 16 bits; k is the number of pairs then.

    Integers of 64 bits are multiplied by halves where no instruction multiplies them: a sum is two vectors then. The
    tile is computed a few columns after the other, so that registers hold them.
    """
    real, width = NUMBERS[data_type], vectors * lanes * data_type.itemsize
    halved = real == WORD and not multiplies_words()
    add_product = add_pairs if paired else fma
    at_once = max(_HALVED_SUMS // rows, 1) if halved else vectors
    vector = ir.VectorType(real, lanes)

    @emitted(alpha=data_type.dtype.name)
    def multiply_tile(
        builder: Any,
        k: Any,
        a: Any,
        a_row: Any,
        a_step: Any,
        b: Any,
        b_step: Any,
        c: Any,
        c_step: Any,
        num_rows: Any,
        num_columns: Any,
        alpha: Any,
        adds: Any,
        later: Any,
        later_step: Any,
        slow: Any,
    ) -> None:
        a, b, c = (builder.inttoptr(one, real.as_pointer()) for one in (a, b, c))
        if packed:
            num_rows, a_row, a_step, b_step = WORD(rows), WORD(1), WORD(rows), WORD(packed)
            prefetch_tile(builder, c, c_step, rows, width)
        later = builder.inttoptr(later, BYTE.as_pointer())
        last, a_rows = builder.sub(num_rows, WORD(1)), []
        for number in range(rows):
            row = least(builder, WORD(number), last)
            a_rows.append(builder.gep(a, [builder.mul(row, a_row)]))

        is_few = builder.icmp_signed("<", slow, WORD(SLOW))

        def prefetch_later(index: Any, row: Any) -> None:
            with builder.if_else(is_few) as (few, many):
                with few:
                    ahead = builder.gep(row, [builder.mul(b_step, WORD(_AHEAD))])
                    much_later = builder.gep(later, [builder.mul(builder.lshr(index, slow), later_step)])
                    fetch_constant(builder, ahead, width, L1_CACHE)
                    fetch_constant(builder, much_later, width, L2_CACHE)
                with many:
                    fetch_constant(builder, builder.gep(later, [builder.mul(index, later_step)]), 1, L2_CACHE)

        def summed(places: range) -> list[Any]:
            """Return the sums along k of some vectors of columns, row by row."""

            def step(index: Any, sums: list[Any]) -> list[Any]:
                row = builder.gep(b, [builder.mul(index, b_step)])
                if not packed and places[0] == 0:
                    prefetch_later(index, row)
                elements = [load(builder, row, vector, WORD(place * lanes)) for place in places]
                place_in_row, after = builder.mul(index, a_step), []
                for number in range(rows):
                    factor = load(builder, a_rows[number], real, place_in_row)
                    factor = splat(builder, factor, lanes)
                    for element in elements:
                        if halved:
                            after += add_by_halves(builder, factor, element, *sums[len(after) : len(after) + 2])
                        else:
                            after.append(add_product(builder, factor, element, sums[len(after)]))
                return after

            def several(index: Any, sums: list[Any]) -> list[Any]:
                for number in range(steps):
                    sums = step(builder.add(index, WORD(number)), sums)
                return sums

            zeros = [vector(None), ir.VectorType(INT, 2 * lanes)(None)] if halved else [vector(None)]
            left, sums = WORD(0), zeros * (rows * len(places))
            # several steps per turn: counting takes as many slots as half of few sums
            steps = _STEPS if packed else 2 if len(sums) <= FEW_SUMS else 1
            if steps > 1:
                left, sums = counted_whole(builder, left, k, steps, sums, several)
            _, sums = counted(builder, left, k, 1, sums, step)
            if halved:
                sums = [with_crossed(builder, *both) for both in zip(sums[::2], sums[1::2], strict=True)]
            return sums

        columns = [range(first, min(first + at_once, vectors)) for first in range(0, vectors, at_once)]
        found = [summed(places) for places in columns]
        sums = [
            of_places[number * len(places) + k]
            for number in range(rows)
            for places, of_places in zip(columns, found, strict=True)
            for k in range(len(places))
        ]
        alpha = splat(builder, alpha, lanes)
        masks = [lanes_below(builder, num_columns, lanes, place * lanes) for place in range(vectors)]
        partial = builder.icmp_signed("<", num_columns, WORD(vectors * lanes))
        ways = [builder.append_basic_block("put") for _ in range(4)]
        done = builder.append_basic_block("done")
        switch = builder.switch(builder.or_(adds, builder.shl(builder.zext(partial, WORD), WORD(1))), ways[0])
        for way, block in enumerate(ways):
            if way:
                switch.add_case(WORD(way), block)
            builder.position_at_end(block)
            for number in range(rows):
                row = builder.gep(c, [builder.mul(c_step, WORD(number))])
                for place in range(vectors):
                    pointer, total = builder.gep(row, [WORD(place * lanes)]), sums[number * vectors + place]
                    _put(builder, pointer, total, alpha, bool(way & 1), masks[place] if way & 2 else None)
                following = builder.append_basic_block("row")
                builder.cbranch(builder.icmp_signed("<", WORD(number + 1), num_rows), following, done)
                builder.position_at_end(following)
            builder.branch(done)
        builder.position_at_end(done)

    return multiply_tile


def prefetch_tile(builder: Any, c: Any, c_step: Any, rows: int, width: int) -> None:
    """Prefetch the rows of a tile of c, of `width` bytes each, which need not begin at a cache line."""
    for number in range(rows):
        row = builder.gep(c, [builder.mul(c_step, WORD(number))])
        fetch_constant(builder, row, width, L1_CACHE)


def _put(builder: Any, pointer: Any, total: Any, alpha: Any, adds: bool, mask: Any) -> None:
    """Write alpha * total, or add it to the values there, in the lanes that the mask includes."""
    new = multiply(builder, alpha, total)
    if adds:
        there = load(builder, pointer, total.type, mask=mask)
        new = fma(builder, alpha, total, there)
    store(builder, new, pointer, mask=mask)
