"""ArgSort: the kernels that find one place in each line, and those before, between and after the sorts of keys."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from ep.common.primitive.sort_keys import bits_of
from ep.cuda.compile.compiler import KernelSource
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
    """The kernel whose blocks have parts of adjacent lines: the first of the least keys.

    keys: 0 where there is one part.
    """
    key_of, store, lanes = _key_reader(bits, is_float), storer(DataType.kInt64, 1), variant.lanes
    new_keys, new_places = shared_array(BLOCK_THREADS, np.int64), shared_array(BLOCK_THREADS, np.int64)
    sharers, none = BLOCK_THREADS // lanes, np.int64(np.iinfo(np.int64).max)

    @device_function
    def merge(all_keys, all_places, thread, key, place):
        """Return the least key of a column and its first place, in the first of the threads that share it."""
        all_keys[thread], all_places[thread] = key, place
        barrier()
        distance = BLOCK_THREADS // 2
        while distance >= lanes:
            if thread < distance:
                other, other_place = all_keys[thread + distance], all_places[thread + distance]
                if other < key or (other == key and other_place < place):
                    key, place = other, other_place
                    all_keys[thread], all_places[thread] = key, place
            barrier()
            distance //= 2
        return key, place

    def find(x, keys, places, turn, infinity, nan, units, size, inner, blocks, part, parts):
        all_keys, all_places, thread, unit = new_keys(), new_places(), thread_of_block(), block_of_grid()[0]
        while unit < units:
            column, of_parts = unit % blocks * lanes + thread % lanes, unit // blocks
            line, first = of_parts // parts, of_parts % parts * part
            end = min(first + part, size) if column < inner else first
            key, place, n = none, none, first + thread // lanes
            while n < end:
                found = key_of(x, (line * size + n) * inner + column, turn, infinity, nan)
                if found < key or place == none:
                    key, place = found, n
                n += sharers
            key, place = merge(all_keys, all_places, thread, key, place)
            if thread < lanes and column < inner:
                if keys != 0:
                    store(keys, of_parts * inner + column, (key,))
                store(places, of_parts * inner + column, (place,))
            unit += blocks_of_grid()[0]

    return KernelSource(f"first_place.{bits.name}.{is_float:d}.{lanes}", find, 12)


def _merge(bits: DataType, is_float: bool, variant: ArgSortVariant) -> KernelSource:
    """The kernel that finds the first of the least keys of parts; the earlier one has the earlier places."""
    load, store = number_loader(DataType.kInt64), storer(DataType.kInt64, 1)

    def merge(keys, places, out, count, inner, parts):
        i, distance = thread_index(), num_threads()
        while i < count:
            at = i // inner * parts * inner + i % inner
            best = at
            for part in range(1, parts):
                if load(keys, at + part * inner) < load(keys, best):
                    best = at + part * inner
            store(out, i, (load(places, best),))
            i = next_index(i, distance)

    return KernelSource("first_place.merge", merge, 6)


def _keys(bits: DataType, is_float: bool, variant: ArgSortVariant) -> KernelSource:
    """The kernel that writes keys line by line, as numbers whose digits have the order of the keys."""
    key_of, store, sign = _key_reader(bits, is_float), storer(variant.number, 1), np.int64(np.iinfo(bits.dtype).min)

    def write_keys(x, keys, turn, infinity, nan, count, size, inner):
        i, distance = thread_index(), num_threads()
        while i < count:
            line, n = i // size, i % size
            key = key_of(x, (line // inner * size + n) * inner + line % inner, turn, infinity, nan)
            store(keys, i, (key ^ sign,))
            i = next_index(i, distance)

    return KernelSource(f"sort_keys.{bits.name}.{is_float:d}.{variant.number.name}", write_keys, 8)


def _lines(bits: DataType, is_float: bool, variant: ArgSortVariant) -> KernelSource:
    """The kernel that writes the line of each place."""
    load, store = number_loader(variant.number), storer(variant.number, 1)

    def write_lines(places, keys, count, size):
        i, distance = thread_index(), num_threads()
        while i < count:
            store(keys, i, (load(places, i) // size,))
            i = next_index(i, distance)

    return KernelSource(f"sort_lines.{variant.number.name}", write_lines, 4)


def _results(bits: DataType, is_float: bool, variant: ArgSortVariant) -> KernelSource:
    """The kernel that writes the first places of each line."""
    load, store = number_loader(variant.number), storer(DataType.kInt64, 1)

    def write_results(places, out, count, size, inner, num_places):
        i, distance = thread_index(), num_threads()
        while i < count:
            line, n = i // num_places, i % num_places
            place = load(places, line * size + n) - line * size
            store(out, (line // inner * num_places + n) * inner + line % inner, (place,))
            i = next_index(i, distance)

    return KernelSource(f"sort_results.{variant.number.name}", write_results, 6)


_MAKERS = {
    Task.FIND: _find,
    Task.MERGE: _merge,
    Task.KEYS: _keys,
    Task.LINES: _lines,
    Task.RESULTS: _results,
}
