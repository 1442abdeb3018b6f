"""The innermost product: a tile of c, whose sums stay in registers along k."""

from __future__ import annotations

from functools import cache
from typing import Any, Final

from ep.common.functor.math_library import Scalar
from ep.common.loops import unrolled
from ep.common.native.fields import AnyPointer, Int64
from ep.cpu.compile.jit import inlined
from ep.cpu.compile.target import multiplies_words
from ep.cpu.compile.vector import (
    add_pairs,
    all_lanes,
    bitcast,
    elements,
    fma,
    lanes_below,
    load,
    mask,
    shuffle,
    store,
    vector,
)
from ep.cpu.compile.vectors import L1_CACHE, L2_CACHE
from ep.cpu.lines.fetch import constant_fetch
from ep.include.data_type import DataType

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
        prefetched into L2 every 2 ** slow steps along k. Otherwise, every step prefetches one line into L2, later_step
        bytes after the line of the step before.
    packed: the numbers of a row of b if a and b are packed, else 0. If they are, all rows are computed, strides are
        constants, and only c is prefetched, since a and b are contiguous.
    paired: whether an element of a and b is a pair of numbers of 16 bits; k is the number of pairs then.

    Integers of 64 bits are multiplied by halves where no instruction multiplies them: a sum is two vectors then. The
    tile is computed a few columns after the other, so that registers hold them.
    """
    Row, Numbers, Masks, width = vector(data_type, lanes), elements(data_type), mask(lanes), vectors * lanes
    halved = data_type is DataType.kUInt64 and not multiplies_words()
    at_once = max(_HALVED_SUMS // rows, 1) if halved else vectors
    adders = []
    for first in range(0, vectors, at_once):
        places = range(first, min(first + at_once, vectors))
        adders.append(_adder(data_type, rows, vectors, lanes, packed, places, halved, paired))
    summed, overwrite, add = tuple(adders), *(_writer(data_type, rows, vectors, lanes, adds) for adds in (False, True))
    fetch_tile = tile_fetch(data_type, rows, width)

    @inlined
    def multiply_tile(
        k: int, a: int, a_row: int, a_step: int, b: int, b_step: int, c: int, c_step: int, num_rows: int,
        num_columns: int, alpha: Scalar, adds: int, later: int, later_step: int, slow: int,
    ) -> None:  # fmt: skip
        factors, sums = Int64.array_on_stack(rows), Row.array_on_stack(rows * vectors)
        used, every = Masks.array_on_stack(vectors), Masks.array_on_stack(vectors)
        if packed:
            fetch_tile(c, c_step)
        for row in unrolled(range(rows)):
            factors[row] = Numbers.at(a)[row if packed else min(row, num_rows - 1) * a_row :]
        for add_products in unrolled(summed):
            add_products(k, factors, a_step, b, b_step, later, later_step, slow, sums)
        for number in unrolled(range(vectors)):
            used[number], every[number] = lanes_below(num_columns, lanes, number * lanes), all_lanes(lanes)
        if num_columns < width:
            if adds:
                add(c, c_step, num_rows, alpha, sums, used)
            else:
                overwrite(c, c_step, num_rows, alpha, sums, used)
        elif adds:
            add(c, c_step, num_rows, alpha, sums, every)
        else:
            overwrite(c, c_step, num_rows, alpha, sums, every)

    return multiply_tile


def _adder(
    data_type: DataType, rows: int, vectors: int, lanes: int, packed: int, places: range, halved: bool, paired: bool
) -> Any:
    """Return a function (k, factors, a_step, b, b_step, later, later_step, slow, sums) for some vectors of columns.

    It writes their sums along k. factors: the addresses of the rows of a.
    """
    Row, Numbers, Halves = vector(data_type, lanes), elements(data_type), vector(DataType.kUInt32, 2 * lanes)
    swapped, lower = shuffle(*(lane ^ 1 for lane in range(2 * lanes))), 2**32 - 1
    add_product, fetch = add_pairs if paired else fma, _later_fetch(vectors * lanes * data_type.itemsize)
    fetches = not packed and places[0] == 0
    written = tuple(row * vectors + place for row in range(rows) for place in places)
    # several steps per turn: counting takes as many slots as half of few sums
    steps = _STEPS if packed else 2 if len(written) * (2 if halved else 1) <= FEW_SUMS else 1

    @inlined
    def step(
        index: int, factors: AnyPointer, a_step: int, b: int, b_step: int, later: int, later_step: int, slow: int,
        sums: AnyPointer, crossed: AnyPointer,
    ) -> None:  # fmt: skip
        from_b, of_b = Numbers.at(b)[index * (packed if packed else b_step) :], Row.array_on_stack(vectors)
        if fetches:
            fetch(index, later, later_step, slow)
        for place in unrolled(places):
            of_b[place] = load(Row, from_b, place * lanes)
        for row in unrolled(range(rows)):
            factor = Row.splat(Numbers.at(factors[row])[index * (rows if packed else a_step)])
            for place in unrolled(places):
                total = sums[row * vectors + place]
                if halved:  # the products of lower halves, and of a lower by an upper one, which count for the upper
                    sums[row * vectors + place] = total + (factor & lower) * (of_b[place] & lower)
                    product = bitcast(Halves, factor) * swapped(bitcast(Halves, of_b[place]))
                    crossed[row * vectors + place] = crossed[row * vectors + place] + product
                else:
                    sums[row * vectors + place] = add_product(factor, of_b[place], total)

    @inlined
    def add_products(
        k: int, factors: int, a_step: int, b: int, b_step: int, later: int, later_step: int, slow: int,
        sums: AnyPointer,
    ) -> None:  # fmt: skip
        crossed, index = Halves.array_on_stack(rows * vectors), 0
        for number in unrolled(written):
            sums[number], crossed[number] = Row.zero(), Halves.zero()
        if steps > 1:
            while index < k - (steps - 1):
                for number in unrolled(range(steps)):
                    step(index + number, factors, a_step, b, b_step, later, later_step, slow, sums, crossed)
                index += steps
        while index < k:
            step(index, factors, a_step, b, b_step, later, later_step, slow, sums, crossed)
            index += 1
        if halved:
            for number in unrolled(written):
                pairs = bitcast(Row, crossed[number])
                sums[number] = sums[number] + ((pairs + (pairs >> 32)) << 32)

    return add_products


def _later_fetch(width: int) -> Any:
    """Return a function (index, later, later_step, slow) that prefetches what `tile_multiplier` says.

    width: bytes of a row of b of a tile.
    """
    row, line = (constant_fetch(size, L2_CACHE) for size in (width, 1))

    @inlined
    def fetch(index: int, later: int, later_step: int, slow: int) -> None:
        if slow < SLOW:
            row(later + (index >> slow) * later_step)
        else:
            line(later + index * later_step)

    return fetch


def _writer(data_type: DataType, rows: int, vectors: int, lanes: int, adds: bool) -> Any:
    """Return a function (c, c_step, num_rows, alpha, sums, used) that writes alpha times the sums, or adds that to c.

    used: a mask for each vector of columns.
    """
    Row, Numbers = vector(data_type, lanes), elements(data_type)

    @inlined
    def write(c: int, c_step: int, num_rows: int, alpha: Scalar, sums: AnyPointer, used: AnyPointer) -> None:
        factor = Row.splat(alpha)
        for row in unrolled(range(rows)):
            if row and row >= num_rows:
                return
            to = Numbers.at(c)[row * c_step :]
            for place in unrolled(range(vectors)):
                total = sums[row * vectors + place]
                if adds:
                    new = fma(factor, total, load(Row, to, place * lanes, used[place]))
                    store(to, place * lanes, new, used[place])
                else:
                    store(to, place * lanes, factor * total, used[place])

    return write


@cache
def tile_fetch(data_type: DataType, rows: int, width: int) -> Any:
    """Return a function (c, c_step) that prefetches the rows of a tile of c, which may begin anywhere in a cache line.

    width: the elements of a row.
    """
    Numbers, fetch = elements(data_type), constant_fetch(width * data_type.itemsize, L1_CACHE)

    @inlined
    def fetch_tile(c: int, c_step: int) -> None:
        for row in unrolled(range(rows)):
            fetch(Numbers.at(c)[row * c_step :])

    return fetch_tile
