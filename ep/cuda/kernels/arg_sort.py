"""ArgSort: the kernels that find one place in each line, and those before, between and after the sorts of keys."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from ep.common.primitive.sort_keys import KeyWords, bits_of
from ep.cuda.compile.compiler import KernelSource
from ep.cuda.compile.index_math import divider
from ep.cuda.compile.kernel_words import Divisor
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
    """Return key(x, index, order): the key of an element."""
    load, magnitude_bits = number_loader(bits), np.int64(np.iinfo(bits.dtype).max)

    @device_function
    def key_of_integer(x: int, index: int, order: KeyWords) -> Any:
        return load(x, index) ^ order.turn

    @device_function
    def key_of_float(x: int, index: int, order: KeyWords) -> Any:
        number = load(x, index)
        magnitude = number & magnitude_bits
        return order.nan if magnitude > order.infinity else (-magnitude if number < 0 else magnitude) ^ order.turn

    return key_of_float if is_float else key_of_integer


def _find(bits: DataType, is_float: bool, variant: ArgSortVariant) -> KernelSource:
    """The kernel whose blocks have parts of adjacent lines, the part by their second number: the first least keys.

    keys: 0 where there is one part. The last three words are the inner size, and the numbers to divide by it.
    """
    key_of, store, width = _key_reader(bits, is_float), storer(DataType.kInt64, 1), variant.width
    new_keys, new_places = shared_array(BLOCK_THREADS, np.int64), shared_array(BLOCK_THREADS, np.int64)
    sharers, none, divide = BLOCK_THREADS // width, np.int64(np.iinfo(np.int64).max), divider(variant.bits)

    @device_function
    def merge(all_keys: Any, all_places: Any, thread: int, key: int, place: int) -> Any:
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

    def find(x: int, keys: int, places: int, order: KeyWords, lines: int, size: int, part: int, inner: Divisor) -> None:
        all_keys, all_places, thread, number = new_keys(), new_places(), thread_of_block(), block_of_grid()[1]
        block, first = block_of_grid()[0], number * part
        while block * width < lines:
            line = block * width + thread % width
            outer, column = divide(min(line, lines - 1), inner)
            key, place, n, at = none, none, first + thread // width, outer * size * inner.value + column
            while n < min(first + part, size):
                found = key_of(x, at + n * inner.value, order)
                if found < key or place == none:
                    key, place = found, n
                n += sharers
            key, place = merge(all_keys, all_places, thread, key, place)
            if thread < width and line < lines:
                if keys != 0:
                    store(keys, number * lines + line, (key,))
                store(places, number * lines + line, (place,))
            block += blocks_of_grid()[0]

    return KernelSource(f"first_place.{bits.name}.{is_float:d}.{variant.bits}.{width}", find)


def _merge(bits: DataType, is_float: bool, variant: ArgSortVariant) -> KernelSource:
    """The kernel that finds the first of the least keys of parts; the earlier one has the earlier places."""
    load, store = number_loader(DataType.kInt64), storer(DataType.kInt64, 1)

    def merge(keys: int, places: int, out: int, lines: int, parts: int) -> None:
        line, distance = thread_index(), num_threads()
        while line < lines:
            best = line
            for part in range(1, parts):
                if load(keys, part * lines + line) < load(keys, best):
                    best = part * lines + line
            store(out, line, (load(places, best),))
            line = next_index(line, distance)

    return KernelSource("first_place.merge", merge)


def _keys(bits: DataType, is_float: bool, variant: ArgSortVariant) -> KernelSource:
    """The kernel that writes keys line by line, as numbers whose digits have the order of the keys."""
    key_of, store, sign = _key_reader(bits, is_float), storer(variant.number, 1), np.int64(np.iinfo(bits.dtype).min)
    divide = divider(variant.bits)

    def write_keys(x: int, keys: int, order: KeyWords, count: int, size: Divisor, inner: Divisor) -> None:
        i, distance = thread_index(), num_threads()
        while i < count:
            line, n = divide(i, size)
            outer, column = divide(line, inner)
            key = key_of(x, (outer * size.value + n) * inner.value + column, order)
            store(keys, i, (key ^ sign,))
            i = next_index(i, distance)

    return KernelSource(f"sort_keys.{bits.name}.{is_float:d}.{variant.number.name}.{variant.bits}", write_keys)


def _lines(bits: DataType, is_float: bool, variant: ArgSortVariant) -> KernelSource:
    """The kernel that writes the line of each place."""
    load, store, divide = number_loader(variant.number), storer(variant.number, 1), divider(variant.bits)

    def write_lines(places: int, keys: int, count: int, size: Divisor) -> None:
        i, distance = thread_index(), num_threads()
        while i < count:
            line, _ = divide(load(places, i), size)
            store(keys, i, (line,))
            i = next_index(i, distance)

    return KernelSource(f"sort_lines.{variant.number.name}.{variant.bits}", write_lines)


def _results(bits: DataType, is_float: bool, variant: ArgSortVariant) -> KernelSource:
    """The kernel that writes the first places of each line."""
    load, store, divide = number_loader(variant.number), storer(DataType.kInt64, 1), divider(variant.bits)

    def write_results(places: int, out: int, count: int, size: int, num_places: Divisor, inner: Divisor) -> None:
        i, distance = thread_index(), num_threads()
        while i < count:
            line, n = divide(i, num_places)
            outer, column = divide(line, inner)
            place = load(places, line * size + n) - line * size
            store(out, (outer * num_places.value + n) * inner.value + column, (place,))
            i = next_index(i, distance)

    return KernelSource(f"sort_results.{variant.number.name}.{variant.bits}", write_results)


_MAKERS = {
    Task.FIND: _find,
    Task.MERGE: _merge,
    Task.KEYS: _keys,
    Task.LINES: _lines,
    Task.RESULTS: _results,
}
