"""One row of c, of products whose b is windows of an array: they are read in the array, each element once.

Sums are added up in the order of the rows of b, as for other products of one row (`vector.py`). Several vectors of
columns are summed at once. Each vector has windows that are next to each other, and the next one may be anywhere.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Final

from llvmlite import ir

from ep.common.native.emitted import emitted
from ep.common.native.fields import word
from ep.common.native.pointer_code import PointerValue
from ep.common.native.record import Record
from ep.cpu.compile.conversion import HALVES, widened
from ep.cpu.compile.jit import jit, separate
from ep.cpu.compile.memory import release
from ep.cpu.compile.vectors import (
    REALS,
    WORD,
    constant,
    counted,
    every,
    fma,
    lanes_below,
    load,
    pointer_to,
    splat,
    store,
    stored_bits,
)
from ep.cpu.engine.product.memory import allocate_for
from ep.cpu.engine.product.packing import plane_packer
from ep.cpu.engine.product.results import results_writer
from ep.cpu.engine.product.shape import tile_shape
from ep.cpu.engine.product.state import ProductBlock, ProductLaunch, ProductLoops
from ep.cpu.engine.product.types import Types, arithmetic_of
from ep.cpu.engine.product.window_packing import inside_bits
from ep.include.data_type import DataType

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
    widen, write = plane_packer(types.a, 1), results_writer(types.c)

    @separate
    def add(words: ProductLoops, src, first, count, begin, k, weights, sums):
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
    def multiply(launch: ProductLaunch, block: ProductBlock, a, b, c):
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
    bits, real = stored_bits(data_type), REALS[arithmetic_of(data_type)]
    stored, vector, size = ir.VectorType(bits, lanes), ir.VectorType(real, lanes), data_type.itemsize

    @emitted()
    def add(builder: Any, runs: Any, rows: Any, inside: Any, weights: Any, k: Any, sums: Any) -> None:
        rows, inside = (pointer_to(builder, one, WORD) for one in (rows, inside))
        weights, sums = pointer_to(builder, weights, real), pointer_to(builder, sums, real)

        run = PointerValue(builder, _WindowRun, runs)
        sources, places, counts = zip(
            *((one.source, one.place, one.count) for one in map(run.__getitem__, range(_VECTORS))), strict=True
        )
        spans = [builder.add(builder.mul(builder.sub(one, WORD(1)), WORD(step)), WORD(1)) for one in counts]
        masks = [[lanes_below(builder, one, lanes, lanes * part) for part in range(step)] for one in spans]

        def row(index: Any, totals: list[Any]) -> list[Any]:
            at = builder.mul(load(builder, rows, WORD, index, align=8), WORD(size))
            weight, following = splat(builder, load(builder, weights, real, index), lanes), []
            of_row = load(builder, inside, WORD, index, align=8) if padded else None
            for number, total in enumerate(totals):
                source = pointer_to(builder, builder.add(sources[number], at), bits)
                read = []
                for part in range(step):
                    mask = masks[number][part]
                    if padded:
                        first_bit = builder.mul(places[number], WORD(step))
                        mask = builder.and_(mask, inside_bits(builder, of_row, first_bit, lanes * part, lanes))
                    read.append(load(builder, source, stored, WORD(lanes * part), mask))
                value = widened(builder, every(builder, read, 0), data_type)
                following.append(fma(builder, value, weight, total))
            return following

        _, totals = counted(builder, WORD(0), k, 1, [constant(vector, 0.0)] * _VECTORS, row)
        first = WORD(0)
        for total, count in zip(totals, counts, strict=True):
            store(builder, total, sums, first, mask=lanes_below(builder, count, lanes))
            first = builder.add(first, count)

    return add
