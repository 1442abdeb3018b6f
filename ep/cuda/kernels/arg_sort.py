"""ArgSort: the kernels that find one place in each line, and those before, between and after the sorts of keys."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from ep.common.primitive.sort_keys import bits_of
from ep.cuda.compile.compiler import KernelSource
from ep.cuda.compile.index_math import divider
from ep.cuda.compile.launch_config import BLOCK_THREADS
from ep.cuda.compile.memory import storer
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
from ep.cuda.engine.reduce.arg_sort_plan import ArgSortVariant, Task
from ep.cuda.engine.reduce.sort import number_loader
from ep.include.data_type import DataType


@cache
def kernel(data_type: DataType, variant: ArgSortVariant) -> KernelSource:
    """Return the kernel of a variant for elements of a type."""
    bits, is_float = bits_of(data_type)
    return _MAKERS[variant.task](bits, is_float, variant)


def _key_reader(bits: DataType, is_float: bool) -> Any:
    """Return key(x, index, turn, infinity, nan): the key of an element, by the numbers of `KeyWords`."""
    load, magnitude_bits = number_loader(bits), np.int64(np.iinfo(bits.dtype).max)

    @device_function
    def key_of_integer(x, index, turn, infinity, nan):
        return load(x, index) ^ turn

    @device_function
    def key_of_float(x, index, turn, infinity, nan):
        number = load(x, index)
        magnitude = number & magnitude_bits
        return nan if magnitude > infinity else (-magnitude if number < 0 else magnitude) ^ turn

    return key_of_float if is_float else key_of_integer


def _find(bits: DataType, is_float: bool, variant: ArgSortVariant) -> KernelSource:
    """The kernel whose blocks have parts of adjacent lines, the part by their second number: the first least keys.

    keys: 0 where there is one part. The last three words are the inner size, and the numbers to divide by it.
    """
    key_of, store, width = _key_reader(bits, is_float), storer(DataType.kInt64, 1), variant.width
    new_keys, new_places = shared_array(BLOCK_THREADS, np.int64), shared_array(BLOCK_THREADS, np.int64)
    sharers, none, divide = BLOCK_THREADS // width, np.int64(np.iinfo(np.int64).max), divider(variant.bits)

    @device_function
    def merge(all_keys, all_places, thread, key, place):
        """Return the least key of a line and its first place, in the first of the threads that share it."""
        all_keys[thread], all_places[thread] = key, place
        barrier()
        distance = BLOCK_THREADS // 2
        while distance >= width:
            if thread < distance:
                other, other_place = all_keys[thread + distance], all_places[thread + distance]
                if other < key or (other == key and other_place < place):
                    key, place = other, other_place
                    all_keys[thread], all_places[thread] = key, place
            barrier()
            distance //= 2
        return key, place

    def find(x, keys, places, turn, infinity, nan, lines, size, part, inner, multiplier, shift):
        all_keys, all_places, thread, number = new_keys(), new_places(), thread_of_block(), block_of_grid()[1]
        block, first = block_of_grid()[0], number * part
        while block * width < lines:
            line = block * width + thread % width
            outer, column = divide(min(line, lines - 1), inner, multiplier, shift)
            key, place, n, at = none, none, first + thread // width, outer * size * inner + column
            while n < min(first + part, size):
                found = key_of(x, at + n * inner, turn, infinity, nan)
                if found < key or place == none:
                    key, place = found, n
                n += sharers
            key, place = merge(all_keys, all_places, thread, key, place)
            if thread < width and line < lines:
                if keys != 0:
                    store(keys, number * lines + line, (key,))
                store(places, number * lines + line, (place,))
            block += blocks_of_grid()[0]

    return KernelSource(f"first_place.{bits.name}.{is_float:d}.{variant.bits}.{width}", find, 12)


def _merge(bits: DataType, is_float: bool, variant: ArgSortVariant) -> KernelSource:
    """The kernel that finds the first of the least keys of parts; the earlier one has the earlier places."""
    load, store = number_loader(DataType.kInt64), storer(DataType.kInt64, 1)

    def merge(keys, places, out, lines, parts):
        line, distance = thread_index(), num_threads()
        while line < lines:
            best = line
            for part in range(1, parts):
                if load(keys, part * lines + line) < load(keys, best):
                    best = part * lines + line
            store(out, line, (load(places, best),))
            line = next_index(line, distance)

    return KernelSource("first_place.merge", merge, 5)


def _keys(bits: DataType, is_float: bool, variant: ArgSortVariant) -> KernelSource:
    """The kernel that writes keys line by line, as numbers whose digits have the order of the keys.

    divisors: the size of a line, and the inner size, each with the numbers to divide by it.
    """
    key_of, store, sign = _key_reader(bits, is_float), storer(variant.number, 1), np.int64(np.iinfo(bits.dtype).min)
    divide = divider(variant.bits)

    def write_keys(x, keys, turn, infinity, nan, count, divisors):
        i, distance = thread_index(), num_threads()
        while i < count:
            line, n = divide(i, divisors[0], divisors[1], divisors[2])
            outer, column = divide(line, divisors[3], divisors[4], divisors[5])
            key = key_of(x, (outer * divisors[0] + n) * divisors[3] + column, turn, infinity, nan)
            store(keys, i, (key ^ sign,))
            i = next_index(i, distance)

    return KernelSource(f"sort_keys.{bits.name}.{is_float:d}.{variant.number.name}.{variant.bits}", write_keys, 6, 6)


def _lines(bits: DataType, is_float: bool, variant: ArgSortVariant) -> KernelSource:
    """The kernel that writes the line of each place. size: of a line, with the numbers to divide by it."""
    load, store, divide = number_loader(variant.number), storer(variant.number, 1), divider(variant.bits)

    def write_lines(places, keys, count, size, multiplier, shift):
        i, distance = thread_index(), num_threads()
        while i < count:
            line, _ = divide(load(places, i), size, multiplier, shift)
            store(keys, i, (line,))
            i = next_index(i, distance)

    return KernelSource(f"sort_lines.{variant.number.name}.{variant.bits}", write_lines, 6)


def _results(bits: DataType, is_float: bool, variant: ArgSortVariant) -> KernelSource:
    """The kernel that writes the first places of each line.

    divisors: the number of places, and the inner size, each with the numbers to divide by it.
    """
    load, store, divide = number_loader(variant.number), storer(DataType.kInt64, 1), divider(variant.bits)

    def write_results(places, out, count, size, divisors):
        i, distance = thread_index(), num_threads()
        while i < count:
            line, n = divide(i, divisors[0], divisors[1], divisors[2])
            outer, column = divide(line, divisors[3], divisors[4], divisors[5])
            place = load(places, line * size + n) - line * size
            store(out, (outer * divisors[0] + n) * divisors[3] + column, (place,))
            i = next_index(i, distance)

    return KernelSource(f"sort_results.{variant.number.name}.{variant.bits}", write_results, 4, 6)


_MAKERS = {
    Task.FIND: _find,
    Task.MERGE: _merge,
    Task.KEYS: _keys,
    Task.LINES: _lines,
    Task.RESULTS: _results,
}
