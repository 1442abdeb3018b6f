"""Sums of the rows of long runs, in two steps: parts are added up in the order of rows, then their sums in order.

The number of rows of a part depends only on the run (`part_bits`), so the sum does not depend on the grid. The parts of
all long runs are listed first, and all threads share them, even if one segment has all rows.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Final

from ep.common.loops import unrolled, written_out
from ep.cuda.compile.compiler import KernelSource
from ep.cuda.compile.index_math import index_math
from ep.cuda.compile.kernel_words import Words
from ep.cuda.compile.launch_config import BLOCK_THREADS
from ep.cuda.compile.memory import loader, storer
from ep.cuda.compile.numba_cuda import (
    barrier,
    block_of_grid,
    blocks_of_grid,
    device_function,
    next_index,
    num_threads,
    shared_array,
    thread_index,
    thread_of_block,
)
from ep.cuda.engine.reduce.segment_plan import LONG_RUN, SUMS, Folding, LongRunWords, PartWords, part_bits, sum_type
from ep.cuda.engine.reduce.segment_sum import combine_packs, rows_of, zero
from ep.cuda.engine.reduce.sort import block_scan, number_loader
from ep.cuda.engine.reduce.source import Computed
from ep.include.data_type import DataType

_BYTES_AT_ONCE: Final = 128
_MOST_AT_ONCE: Final = 16
"""The largest number of bytes and of rows that a thread loads at once."""


def rows_at_once(data_type: DataType, elements: int) -> int:
    """Return the rows whose packs a thread loads at once."""
    return min(_BYTES_AT_ONCE // (elements * max(sum_type(data_type).itemsize, 4)), _MOST_AT_ONCE)


@cache
def count_kernel(number: DataType) -> KernelSource:
    """The kernel (keys, begins, counts, count, none, tiles): counts[tile] are the parts that are found in a tile."""
    parts_at, store, scan, sums_of = _finder(number), storer(number, 1), block_scan(), _sums(number)

    def count_parts(keys: int, begins: int, counts: Any, count: int, none: int, tiles: int) -> None:
        thread, tile, sums = thread_of_block(), block_of_grid()[0], sums_of()
        while tile < tiles:
            one, other, _, _ = parts_at(keys, begins, (tile * BLOCK_THREADS + thread) * LONG_RUN, count, none)
            _, total = scan(sums, one + other, thread)
            if thread == 0:
                store(counts, tile, (total,))
            barrier()
            tile += blocks_of_grid()[0]

    return KernelSource(f"segment_count_parts.{number.name}", count_parts)


@cache
def list_kernel(number: DataType) -> KernelSource:
    """The kernel (keys, begins, before, parts, count, none, tiles): the number of parts, and the start of each.

    before[tile]: the parts of earlier tiles, if there is more than one tile. The parts of a run are contiguous.
    """
    parts_at, store, scan, sums_of = _finder(number), storer(number, 1), block_scan(), _sums(number)
    load = number_loader(number)

    def list_parts(keys: int, begins: int, before: Any, parts: int, count: int, none: int, tiles: int) -> None:
        thread, tile, sums = thread_of_block(), block_of_grid()[0], sums_of()
        while tile < tiles:
            place = (tile * BLOCK_THREADS + thread) * LONG_RUN
            one, other, first, last = parts_at(keys, begins, place, count, none)
            own, total = scan(sums, one + other, thread)
            earlier = load(before, tile) if tiles > 1 else 0
            slot = 1 + earlier + own
            if one > 0:
                store(parts, slot, (first,))
            if other > 0:
                store(parts, slot + one, (last,))
            if thread == 0 and tile == tiles - 1:
                store(parts, 0, (earlier + total,))
            barrier()
            tile += blocks_of_grid()[0]

    return KernelSource(f"segment_list_parts.{number.name}", list_parts)


@cache
def part_kernel(
    data_type: DataType,
    number: DataType,
    elements: int,
    bits: int,
    computed: Computed | None = None,
    folding: Folding = SUMS,
) -> KernelSource:
    """Return the kernel that adds up, or folds, each part of long runs, a pack of columns in a thread."""
    rows, load_number = rows_of(computed, data_type, elements), number_loader(number)
    prepare = rows.prepare
    store, zeros, onto = storer(sum_type(data_type), elements), (zero(data_type),) * elements, folding.onto
    narrow, quotient, _, remainder, *_, widen = index_math(bits)
    part_shift = device_function(part_bits)

    load, add_rows = rows.load, _add_rows(folding, data_type, elements, rows.load, load_number)

    def sum_parts(words: PartWords) -> None:
        data, walk_words = prepare(words.data), words.walk
        places, keys, begins, parts, sums = words.places, words.keys, words.begins, words.parts, words.sums
        cols, outer, num_ids = words.cols.value, words.outer.value, words.num_ids
        packs = load_number(parts, 0) * outer * cols
        i, step = thread_index(), num_threads()
        while i < packs:
            row = quotient(narrow(i), narrow(words.cols.multiplier), narrow(words.cols.shift))
            slot = quotient(row, narrow(words.outer.multiplier), narrow(words.outer.shift))
            column, group = widen(remainder(narrow(i), row, narrow(cols))), remainder(row, slot, narrow(outer))
            place = load_number(parts, 1 + widen(slot))
            segment = load_number(keys, place)
            begin, end = load_number(begins, segment), load_number(begins, segment + 1)
            end = min(place + (1 << part_shift(end - begin)), end)
            batch = widen(quotient(narrow(segment), narrow(words.segments.multiplier), narrow(words.segments.shift)))
            column += (batch * (outer - 1) + widen(group)) * num_ids * cols
            total = zeros
            if onto:  # a part begins with its first row
                total = load(data, load_number(places, place) * cols + column, walk_words)
                place = next_index(place, 1)
            store(sums, i, add_rows(total, data, places, place, end, cols, column, walk_words))
            i = next_index(i, step)

    name = f"segment_sum_parts.{data_type.name}.{number.name}.{elements}.{bits}{rows.name}{folding.suffix}"
    return KernelSource(name, sum_parts, (rows.num_words, rows.num_walk_words))


@cache
def sum_kernel(data_type: DataType, number: DataType, bits: int, folding: Folding = SUMS) -> KernelSource:
    """Return the kernel that adds up, or folds, the sums of each long run's parts, a column in a thread.

    The thread that finds the first part of a run does it.
    """
    load, store, load_number = rows_of(None, sum_type(data_type), 1).load, storer(data_type, 1), number_loader(number)
    zeros, part_shift = (zero(data_type),), device_function(part_bits)
    load_out, onto = loader(data_type, 1), folding.onto
    narrow, quotient, _, remainder, *_, widen = index_math(bits)

    add_sums = _add_rows(folding, data_type, 1, load, device_function(lambda _, part: part))

    def sum_long_runs(words: LongRunWords) -> None:
        sums, keys, begins, parts, out = words.sums, words.keys, words.begins, words.parts, words.out
        cols, outer, segments = words.cols.value, words.outer.value, words.segments
        part_elements = outer * cols
        elements = load_number(parts, 0) * part_elements
        i, step = thread_index(), num_threads()
        while i < elements:
            row = quotient(narrow(i), narrow(words.cols.multiplier), narrow(words.cols.shift))
            slot = quotient(row, narrow(words.outer.multiplier), narrow(words.outer.shift))
            place = load_number(parts, 1 + widen(slot))
            segment = load_number(keys, place)
            begin, end = load_number(begins, segment), load_number(begins, segment + 1)
            if place == begin:
                part, element = widen(slot), i - widen(slot) * part_elements
                last = part + ((end - begin - 1) >> part_shift(end - begin))
                batch = widen(
                    quotient(narrow(segment), narrow(words.segments.multiplier), narrow(words.segments.shift))
                )
                group = widen(remainder(row, slot, narrow(outer)))
                column = widen(remainder(narrow(i), row, narrow(cols)))
                target = ((batch * outer + group) * segments.value + segment - batch * segments.value) * cols + column
                total = load_out(out, target) if onto else zeros
                store(out, target, add_sums(total, sums, 0, part, last + 1, part_elements, element, ()))
            i = next_index(i, step)

    return KernelSource(f"segment_sum_long.{data_type.name}.{number.name}.{bits}{folding.suffix}", sum_long_runs)


@cache
def _finder(number: DataType) -> Any:
    """(keys, begins, place, count, none) -> whether the part with `place` is found there, whether the last part of its
    run is found there too, and the starts of both.

    `place` is a multiple of LONG_RUN. A part is found at its first multiple; a last part that has none, at the run's
    last one.
    """
    load, part_shift = number_loader(number), device_function(part_bits)

    def parts_at(keys: int, begins: int, place: int, count: int, none: int) -> Any:
        key = load(keys, place) if place < count else none
        segment = key if key < none else 0
        begin, end = load(begins, segment), load(begins, segment + 1)
        if key >= none or end - begin <= LONG_RUN:
            return 0, 0, 0, 0
        shift = part_shift(end - begin)
        first, last = begin + (place - begin >> shift << shift), begin + (end - begin - 1 >> shift << shift)
        one = 1 if place - first < LONG_RUN else 0
        other = 1 if place + LONG_RUN >= end and last > place else 0
        return one, other, first, last

    return device_function(parts_at)


@cache
def _sums(number: DataType) -> Any:
    """Return a number for each thread of a block, in shared memory."""
    return shared_array(BLOCK_THREADS, number.dtype.type)


def _add_rows(folding: Folding, data_type: DataType, elements: int, load: Any, place_of: Any) -> Any:
    """(total, data, places, row, end, cols, column, walk words) -> the total and rows [row, end); row end - 1 exists.

    place_of(places, row): the position of a row. Positions are loaded two iterations ahead, and rows one, so that the
    compiler cannot delay a load until its row is added.
    """
    add, count = combine_packs(folding, data_type, elements), rows_at_once(data_type, elements)

    @written_out(device_function)
    def find(places: int, row: int, end: int) -> Any:
        return tuple(place_of(places, min(row + k, end - 1)) for k in unrolled(range(count)))

    @written_out(device_function)
    def load_rows(data: int, found: Any, cols: int, column: int, words: Words) -> Any:
        return tuple(load(data, found[k] * cols + column, words) for k in unrolled(range(count)))

    @written_out(device_function)
    def add_all(total: Any, rows: Any) -> Any:
        for k in unrolled(range(count)):
            total = add(total, rows[k])
        return total

    @written_out(device_function)
    def add_some(total: Any, rows: Any, left: int) -> Any:
        for k in unrolled(range(count - 1)):
            if k < left:
                total = add(total, rows[k])
        return total

    def add_rows(total: Any, data: int, places: int, row: int, end: int, cols: int, column: int, words: Words) -> Any:
        rows = load_rows(data, find(places, row, end), cols, column, words)
        found = find(places, row + count, end)
        while row + count <= end:
            later = load_rows(data, found, cols, column, words)
            found = find(places, row + 2 * count, end)
            total = add_all(total, rows)
            rows = later
            row = next_index(row, count)
        return add_some(total, rows, end - row)

    return device_function(add_rows)
