"""One row of c, of products whose b is windows of an array: they are read in the array, each element once.

Sums are added up in the order of the rows of b, as for other products of one row (`vector.py`). Several vectors of
columns are summed at once. Each vector has windows that are next to each other, and the next one may be anywhere.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Final

from ep.common.loops import unrolled
from ep.common.native.fields import Int64, word
from ep.common.native.record import Record
from ep.cpu.compile.jit import inlined, jit, separate
from ep.cpu.compile.memory import release
from ep.cpu.compile.vector import convert, elements, every, fma, lanes_below, load, mask, store, vector
from ep.cpu.engine.product.memory import allocate_for
from ep.cpu.engine.product.packing import deinterleaver
from ep.cpu.engine.product.results import results_writer
from ep.cpu.engine.product.shape import tile_shape
from ep.cpu.engine.product.state import ProductBlock, ProductLaunch, ProductLoops
from ep.cpu.engine.product.types import Types, arithmetic_of
from ep.cpu.engine.product.window_packing import inside_mask
from ep.include.data_type import DataType
from ep.include.number_kind import HALVES

_VECTORS: Final = 6  # that are summed at once: as many as masks, and addresses, that registers hold


class _WindowRun(Record):
    source = word()  # the address of the first window's first place, for row 0
    place = word()  # the number of the first window
    count = word()  # windows, at most as many as lanes; 0 for none


@cache
def window_row_multiplier(types: Types, step: int) -> Any:
    """Return a function (launch, block, a, b, c) for a block of one row; step: that of `windows_packer`."""
    arithmetic, widens, size_a, size = types.arithmetic, types.a in HALVES, types.a.itemsize, types.b.itemsize
    wide, lanes = arithmetic.itemsize, tile_shape().vector_bytes // arithmetic.itemsize
    inner, padded = (_run_adder(types.b, lanes, step, padded=padded) for padded in (False, True))
    widen, write = deinterleaver(types.a, 1), results_writer(types.c)

    @separate
    def add(words: ProductLoops, src: int, first: int, count: int, begin: int, k: int, weights: int, sums: int) -> None:
        """Write the sums of columns [first, first + count) over rows [begin, begin + k) of b."""
        rows = words.window_rows + 8 * begin
        columns, ends = words.window_columns, words.window_ends
        inside, outside = words.window_inside, words.window_outside
        of_rows, place, last, runs = inside + 8 * begin, first, first + count, _WindowRun.array_on_stack(_VECTORS)
        while place < last:
            begin_of_runs = place
            for number in range(_VECTORS):
                end = max(min(ends[place], place + lanes, last), place) if place < last else place
                run, nearest = runs[number], min(place, last - 1)
                run.source, run.place, run.count = src + columns[nearest] * size, nearest, end - place
                place = end
            to = sums + (begin_of_runs - first) * wide
            if inside != 0 and outside[place] > outside[begin_of_runs]:
                padded(runs, rows, of_rows, weights, k, to)
            else:
                inner(runs, rows, of_rows, weights, k, to)

    @jit
    def multiply(launch: ProductLaunch, block: ProductBlock, a: int, b: int, c: int) -> None:
        words, columns = launch.product, block.columns
        begin, end = block.first, block.last
        weights, sums = a + begin * size_a, allocate_for(launch, wide * (columns + (end - begin if widens else 0)))
        if sums == 0:
            return
        if widens:
            widen(weights, end - begin, sums + columns * wide, 0)
            weights = sums + columns * wide
        add(words, b, block.first_column, columns, begin, end - begin, weights, sums)
        write(launch, block, sums, columns, c)
        release(sums)

    return multiply


def _run_adder(data_type: DataType, lanes: int, step: int, padded: bool) -> Any:
    """Return a function (runs, rows, inside, weights, k, sums) that adds up k rows, each times its weight.

    runs: a `_WindowRun` for each vector; their sums follow one another. rows: the places of rows. inside: the address
    of an address of bits for each row, which say whether elements are in the array; others are 0, if `padded`. weights,
    sums: in the arithmetic type.
    """
    Stored, Row, Masks = vector(data_type, lanes), vector(arithmetic_of(data_type), lanes), mask(lanes)
    Elements, Numbers = elements(data_type), elements(arithmetic_of(data_type))
    take, inside_of = every(step, 0, lanes), inside_mask(lanes)

    @inlined
    def add(runs: _WindowRun, rows: Int64, inside: Int64, weights: int, k: int, sums: int) -> None:
        sources, places = Int64.array_on_stack(_VECTORS), Int64.array_on_stack(_VECTORS)
        totals, used = Row.array_on_stack(_VECTORS), Masks.array_on_stack(_VECTORS * step)
        parts = Stored.array_on_stack(step)
        for number in unrolled(range(_VECTORS)):
            run = runs[number]
            totals[number], sources[number], places[number] = Row.zero(), run.source, run.place
            for part in unrolled(range(step)):
                used[number * step + part] = lanes_below((run.count - 1) * step + 1, lanes, lanes * part)
        for index in range(k):
            weight = Row.splat(Numbers.at(weights)[index])
            for number in unrolled(range(_VECTORS)):
                source = Elements.at(sources[number])[rows[index] :]
                for part in unrolled(range(step)):
                    read = used[number * step + part]
                    if padded:
                        read = read & inside_of(inside[index], places[number] * step + lanes * part)
                    parts[part] = load(Stored, source, lanes * part, read)
                value = convert(Row, take(*(parts[part] for part in unrolled(range(step)))))
                totals[number] = fma(value, weight, totals[number])
        first = 0
        for number in unrolled(range(_VECTORS)):
            store(sums, first, totals[number], lanes_below(runs[number].count, lanes))
            first += runs[number].count

    return add
