"""Sums of the rows of segments: ids become keys, keys are sorted, and short runs summed up in the order of rows."""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

from ep.common.functor.lookup import functor_maker
from ep.common.loops import unrolled, written_out
from ep.cuda.compile.arithmetic import storage_arithmetic
from ep.cuda.compile.compiler import KernelSource
from ep.cuda.compile.index_math import index_math
from ep.cuda.compile.index_range import place_in_range
from ep.cuda.compile.kernel_words import Divisor
from ep.cuda.compile.math_library import cuda_math_library
from ep.cuda.compile.memory import loader, storer
from ep.cuda.compile.numba_cuda import (
    device_function,
    next_index,
    num_threads,
    thread_index,
)
from ep.cuda.engine.reduce.segment_plan import LONG_RUN, SUMS, Folding, SumWords
from ep.cuda.engine.reduce.sort import number_loader
from ep.cuda.engine.reduce.source import Computed, source
from ep.include.data_type import DataType
from ep.include.number_kind import number_kind


@cache
def key_kernel(ids_type: DataType, number: DataType, bits: int) -> KernelSource:
    """The kernel (ids, keys, count, low, num_valid, first, num_segments, none, num_ids): the numbers of ids' segments.

    The ids [low, low + num_valid) are valid; `low` is that of segment `first` of a batch. none: for all others.
    num_ids: of a batch, with the multiplier and the shift to divide by it.
    """
    load, store, place_of = loader(ids_type, 1), storer(number, 1), place_in_range()
    narrow, quotient, *_, widen = index_math(bits)

    def number_segments(
        ids: int,
        keys: int,
        count: int,
        low: int,
        num_valid: int,
        first: int,
        num_segments: int,
        none: int,
        num_ids: Divisor,
    ) -> None:
        i, step = thread_index(), num_threads()
        while i < count:
            place, valid = place_of(load(ids, i)[0], low, num_valid)
            batch = widen(quotient(narrow(i), narrow(num_ids.multiplier), narrow(num_ids.shift)))
            store(keys, i, (batch * num_segments + first + place if valid else none,))
            i = next_index(i, step)

    return KernelSource(f"segment_keys.{ids_type.name}.{number.name}.{bits}", number_segments)


@cache
def begin_kernel(number: DataType) -> KernelSource:
    """The kernel (keys, begins, count, num_segments): the first place of each segment in the sorted keys, and the place
    after the last one's."""
    load, store = number_loader(number), storer(number, 1)

    def find_begins(keys: int, begins: int, count: int, num_segments: int) -> None:
        segment, step = thread_index(), num_threads()
        while segment <= num_segments:
            low, high = 0, count
            while low < high:
                middle = (low + high) >> 1
                if load(keys, middle) < segment:
                    low = middle + 1
                else:
                    high = middle
            store(begins, segment, (low,))
            segment = next_index(segment, step)

    return KernelSource(f"segment_begins.{number.name}", find_begins)


class Rows(NamedTuple):
    """The rows that kernels add up. load(prepared, i, walk words): pack i of all rows. For the others, see `Source`."""

    num_words: int
    num_walk_words: int
    prepare: Any
    load: Any
    name: str


@cache
def rows_of(computed: Computed | None, data_type: DataType, elements: int) -> Rows:
    """Return the rows of an array, or those that are computed as they are read."""
    if computed is None:
        load = loader(data_type, elements)
        read = device_function(lambda data, i, words: load(data, i))
        return Rows(1, 0, device_function(lambda words: words[0]), read, "")
    given = source(computed, data_type, elements, aligned=True)
    begin, pack = given.begin, given.pack
    read = device_function(lambda operands, i, words: pack(begin(operands, 0), i * elements, words))
    return Rows(given.num_words, given.num_walk_words, given.prepare, read, f".of.{given.name}")


@cache
def sum_kernel(
    data_type: DataType,
    number: DataType,
    elements: int,
    bits: int,
    computed: Computed | None = None,
    folding: Folding = SUMS,
) -> KernelSource:
    """Return the kernel that adds up, or folds, the rows of each segment, a pack of columns in a thread.

    Longer runs than LONG_RUN are left out, unless the last row stays.
    """
    rows, store, load_number = (
        rows_of(computed, data_type, elements),
        storer(data_type, elements),
        number_loader(number),
    )
    prepare, load = rows.prepare, rows.load
    add, zeros = combine_packs(folding, data_type, elements), (zero(data_type),) * elements
    load_out, onto, last_stays = loader(data_type, elements), folding.onto, folding.op is None
    narrow, quotient, _, remainder, *_, widen = index_math(bits)

    def sum_runs(words: SumWords) -> None:
        data, walk_words = prepare(words.data), words.walk
        places, begins, out, packs = words.places, words.begins, words.out, words.packs
        cols, segments, num_ids = words.cols.value, words.segments.value, words.num_ids
        i, step = thread_index(), num_threads()
        while i < packs:
            row = quotient(narrow(i), narrow(words.cols.multiplier), narrow(words.cols.shift))
            group = quotient(row, narrow(words.segments.multiplier), narrow(words.segments.shift))
            batch = widen(quotient(group, narrow(words.outer.multiplier), narrow(words.outer.shift)))
            column = widen(remainder(narrow(i), row, narrow(cols)))
            segment = batch * segments + widen(remainder(row, group, narrow(segments)))
            place, end = load_number(begins, segment), load_number(begins, segment + 1)
            if last_stays:
                place = max(place, end - 1)
            if end - place <= LONG_RUN and (place < end or not onto):
                first_row, total = (widen(group) - batch) * num_ids, load_out(out, i) if onto else zeros
                while place + 1 < end:  # the loads of two rows in flight at a time
                    row0, row1 = load_number(places, place), load_number(places, place + 1)
                    a = load(data, (first_row + row0) * cols + column, walk_words)
                    b = load(data, (first_row + row1) * cols + column, walk_words)
                    total = add(add(total, a), b)
                    place = next_index(place, 2)
                if place < end:
                    row0 = load_number(places, place)
                    total = add(total, load(data, (first_row + row0) * cols + column, walk_words))
                store(out, i, total)
            i = next_index(i, step)

    name = f"segment_sum.{data_type.name}.{number.name}.{elements}.{bits}{rows.name}{folding.suffix}"
    return KernelSource(name, sum_runs, (rows.num_words, rows.num_walk_words))


def zero(data_type: DataType) -> Any:
    """Return 0 in the type of the computation."""
    return storage_arithmetic(data_type)(0)


def combine_packs(folding: Folding, data_type: DataType, count: int) -> Any:
    """(a, b) -> the elements of two packs, combined in the type of the computation."""
    if folding.op is None:
        return device_function(lambda a, b: b)
    maker = functor_maker(folding.op, number_kind(data_type))
    combine = cuda_math_library(storage_arithmetic(data_type)).use(maker)

    @written_out(device_function)
    def combine_all(a: Any, b: Any) -> Any:
        return tuple(combine(a[k], b[k]) for k in unrolled(range(count)))

    return combine_all
