"""A stable sort of small integers and of their places, by digits of 4 bits from the lowest on.

Numbers are stored as int32 or int64. Each thread of a block counts the digits of its own contiguous keys, without
atomic operations, so the order is deterministic.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from ep.cuda.compile.compiler import KernelSource
from ep.cuda.compile.launch_config import BLOCK_THREADS
from ep.cuda.compile.memory import loader, storer
from ep.cuda.compile.numba_cuda import (
    barrier,
    block_of_grid,
    blocks_of_grid,
    device_function,
    shared_array,
    thread_of_block,
)
from ep.cuda.engine.reduce.segment_plan import DIGIT_BITS, DIGITS, NUM_COUNTERS, TILE_KEYS
from ep.include.data_type import DataType


@cache
def count_kernel(number: DataType) -> KernelSource:
    """Return the kernel (keys, counts, count, tiles, shift): counts[d, tile] are the keys of a tile with digit d."""
    count_digits, scan, store, (counters_of, sums_of, _) = _counter(number), _scan(), storer(number, 1), _arrays(number)

    def count_tiles(keys: int, counts: Any, count: int, tiles: int, shift: int) -> None:
        counters, sums = counters_of(), sums_of()
        thread, tile = thread_of_block(), block_of_grid()[0]
        while tile < tiles:
            first = (tile * BLOCK_THREADS + thread) * TILE_KEYS
            count_digits(counters, keys, first, min(first + TILE_KEYS, count), shift, thread)
            total, digit = scan(counters, sums, thread), thread
            while digit < DIGITS:
                end = counters[(digit + 1) * BLOCK_THREADS] if digit + 1 < DIGITS else total
                store(counts, digit * tiles + tile, (end - counters[digit * BLOCK_THREADS],))
                digit += BLOCK_THREADS
            barrier()
            tile += blocks_of_grid()[0]

    return KernelSource(f"sort_count.{number.name}", count_tiles)


@cache
def scan_kernel(number: DataType) -> KernelSource:
    """Return the kernel (counts, count), of one block: each count becomes the sum of those before it."""
    scan, load, store, (counters_of, sums_of, _) = _scan(), number_loader(number), storer(number, 1), _arrays(number)

    def sum_before(counts: Any, count: int) -> None:
        counters, sums = counters_of(), sums_of()
        thread, before, first = thread_of_block(), 0, 0
        while first < count:
            place = thread
            while place < NUM_COUNTERS:
                counters[place] = load(counts, first + place) if first + place < count else 0
                place += BLOCK_THREADS
            barrier()
            total, place = scan(counters, sums, thread), thread
            while place < NUM_COUNTERS:
                if first + place < count:
                    store(counts, first + place, (before + counters[place],))
                place += BLOCK_THREADS
            barrier()  # before the next counts replace them
            before += total
            first += NUM_COUNTERS

    return KernelSource(f"sort_scan.{number.name}", sum_before)


@cache
def scatter_kernel(number: DataType) -> KernelSource:
    """The kernel (keys, places, sorted keys, sorted places, begins, count, tiles, shift): keys in the order of a digit.

    places: 0 where the place of key i is i. begins[d, tile]: where the keys of a tile with digit d go to.
    """
    count_digits, scan, move, load = _counter(number), _scan(), _mover(number), number_loader(number)
    counters_of, sums_of, begins_of = _arrays(number)

    def scatter_tiles(
        keys: int, places: int, sorted_keys: int, sorted_places: int, begins: int, count: int, tiles: int, shift: int
    ) -> None:
        counters, sums, own_begins = counters_of(), sums_of(), begins_of()
        thread, tile = thread_of_block(), block_of_grid()[0]
        while tile < tiles:
            first, digit = (tile * BLOCK_THREADS + thread) * TILE_KEYS, thread
            end = min(first + TILE_KEYS, count)
            count_digits(counters, keys, first, end, shift, thread)
            scan(counters, sums, thread)
            while digit < DIGITS:
                own_begins[digit] = load(begins, digit * tiles + tile) - counters[digit * BLOCK_THREADS]
                digit += BLOCK_THREADS
            barrier()
            move(counters, own_begins, keys, places, sorted_keys, sorted_places, first, end, shift, thread)
            barrier()
            tile += blocks_of_grid()[0]

    return KernelSource(f"sort_scatter.{number.name}", scatter_tiles)


@cache
def block_kernel(number: DataType) -> KernelSource:
    """Return the kernel (keys, places, other keys, other places, count, digits), of one block.

    Sorts by a number of digits.

    What is sorted goes from the first pair of arrays to the other and back, a digit at a time.
    """
    count_digits, scan, move = _counter(number), _scan(), _mover(number)
    counters_of, sums_of, begins_of = _arrays(number)

    def sort_in_block(keys: int, places: int, other_keys: int, other_places: int, count: int, digits: int) -> None:
        counters, sums, begins = counters_of(), sums_of(), begins_of()
        thread = thread_of_block()
        own, digit, shift = (count + BLOCK_THREADS - 1) // BLOCK_THREADS, thread, 0
        first = min(thread * own, count)
        end = min(first + own, count)
        while digit < DIGITS:
            begins[digit] = 0  # what is counted are all keys
            digit += BLOCK_THREADS
        to_keys, to_places, own_places = other_keys, other_places, 0
        while shift < digits * DIGIT_BITS:
            count_digits(counters, keys, first, end, shift, thread)
            scan(counters, sums, thread)
            move(counters, begins, keys, own_places, to_keys, to_places, first, end, shift, thread)
            barrier()  # what was written is there for all of the block
            keys, to_keys = to_keys, keys
            own_places, to_places = to_places, own_places if shift > 0 else places
            shift += DIGIT_BITS

    return KernelSource(f"sort_block.{number.name}", sort_in_block)


@cache
def number_loader(number: DataType) -> Any:
    """(address, index) -> number `index`, as a word."""
    load = loader(number, 1)
    return device_function(lambda address, index: np.int64(load(address, index)[0]))


@cache
def _arrays(number: DataType) -> tuple[Any, Any, Any]:
    """The arrays in shared memory: a counter of digit d and thread t at d BLOCK_THREADS + t, a sum for each thread, and
    where the keys of each digit go to, less the counter of the first thread."""
    scalar_type = number.dtype.type
    return (
        shared_array(NUM_COUNTERS, scalar_type),
        shared_array(BLOCK_THREADS, scalar_type),
        shared_array(DIGITS, scalar_type),
    )


@cache
def _counter(number: DataType) -> Any:
    """(counters, keys, first, end, shift, thread): count the digits of a thread's keys."""
    load = number_loader(number)

    def count_digits(counters: Any, keys: int, first: int, end: int, shift: int, thread: int) -> None:
        for digit in range(DIGITS):
            counters[digit * BLOCK_THREADS + thread] = 0
        for i in range(first, end):
            digit = (load(keys, i) >> shift) & (DIGITS - 1)
            counters[digit * BLOCK_THREADS + thread] += 1
        barrier()

    return device_function(count_digits)


@cache
def _mover(number: DataType) -> Any:
    """(counters, begins, keys, places, sorted keys, sorted places, first, end, shift, thread): move a thread's keys."""
    load, store = number_loader(number), storer(number, 1)

    def move(
        counters: Any,
        begins: Any,
        keys: int,
        places: int,
        sorted_keys: int,
        sorted_places: int,
        first: int,
        end: int,
        shift: int,
        thread: int,
    ) -> None:
        for i in range(first, end):
            key = load(keys, i)
            digit = (key >> shift) & (DIGITS - 1)
            counter = digit * BLOCK_THREADS + thread
            place = begins[digit] + counters[counter]
            counters[counter] += 1
            store(sorted_keys, place, (key,))
            store(sorted_places, place, (load(places, i) if places != 0 else i,))

    return device_function(move)


@cache
def _scan() -> Any:
    """(counters, sums, thread) -> the sum of all counters, each of which becomes the sum of those before it."""

    before_thread = block_scan()

    def scan(counters: Any, sums: int, thread: int) -> Any:
        own, first = 0, thread * DIGITS
        for place in range(first, first + DIGITS):
            own += counters[place]
        before, total = before_thread(sums, own, thread)
        for place in range(first, first + DIGITS):
            number = counters[place]
            counters[place] = before
            before += number
        barrier()
        return total

    return device_function(scan)


@cache
def block_scan() -> Any:
    """(sums, own, thread) -> the sum of the `own` of the threads before this one, and of all.

    sums: a number for each thread of the block, in shared memory; a thread may write there again after a barrier.
    """

    def sum_before(sums: Any, own: int, thread: int) -> Any:
        distance = 1
        sums[thread] = own
        barrier()
        while distance < BLOCK_THREADS:
            other = sums[thread - distance] if thread >= distance else 0
            barrier()
            sums[thread] += other
            barrier()
            distance *= 2
        return sums[thread] - own, sums[BLOCK_THREADS - 1]

    return device_function(sum_before)
