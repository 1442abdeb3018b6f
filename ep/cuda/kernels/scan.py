"""Scan: a kernel whose blocks have rows, and one whose threads have columns; `scan_plan` cuts them into parts.

The sums of parts are written first, then scanned, and each part begins with the sum of those before it.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from ep.cuda.compile.compiler import KernelSource
from ep.cuda.compile.index_math import divider
from ep.cuda.compile.kernel_words import Divisor
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
from ep.cuda.engine.reduce.scan_plan import ITEMS, TILE, ScanVariant, Step
from ep.include.data_type import DataType

_SUMS, _FROM_SUMS = Step.SUMS.value, Step.FROM_SUMS.value


@cache
def kernel(variant: ScanVariant) -> KernelSource:
    """Return the kernel (src, dst, sums, lines, size, part, to_end, step, inner).

    size, part: the elements of a line, and of a part of it, which is the second number of a block. step: see `Step`.
    inner: the distance between elements.
    """
    stored, carried, is_sum, by_rows, bits = variant
    made = _rows(stored, carried) if by_rows else _columns(stored, carried, is_sum, bits)
    name = f"scan.{'sum' if is_sum else 'prod'}.{'rows' if by_rows else f'columns{bits}'}"
    return KernelSource(f"{name}.{stored.name}.{carried.name}", made, is_contracted=True)


def _columns(stored: DataType, carried: DataType, is_sum: bool, bits: int) -> Any:
    """The sums of parts are those of the first part of all lines, then of the second part, and so on."""
    (T, load, store, load_sum, store_sum), divide = _memory(stored, carried), divider(bits)

    @device_function
    def combined(a: Any, b: Any) -> Any:
        return T(a + b) if is_sum else T(a * b)

    def scan_columns(
        src: int,
        dst: int,
        sums: int,
        lines: int,
        size: int,
        part: int,
        to_end: int,
        step: int,
        inner: Divisor,
    ) -> None:
        line, distance, number = thread_index(), num_threads(), block_of_grid()[1]
        first, by = number * part, -inner.value if to_end else inner.value
        end = min(first + part, size)
        while line < lines:
            outer, column = divide(line, inner)
            at = (outer * size + (size - 1 - first if to_end else first)) * inner.value + column
            carry = load(src, at)
            if step == _FROM_SUMS and number > 0:
                carry = combined(load_sum(sums, (number - 1) * lines + line), carry)
            if step != _SUMS:
                store(dst, at, carry)
            for _ in range(first + 1, end):
                at += by
                carry = combined(carry, load(src, at))
                if step != _SUMS:
                    store(dst, at, carry)
            if step == _SUMS:
                store_sum(sums, number * lines + line, carry)
            line = next_index(line, distance)

    return scan_columns


def _rows(stored: DataType, carried: DataType) -> Any:
    T, load, store, load_sum, store_sum = _memory(stored, carried)
    neutral, numbers = T(-0.0 if carried.dtype.kind == "f" else 0), shared_array(BLOCK_THREADS, T)

    @device_function
    def sum_before(memory: Any, own: Any, thread: int) -> Any:
        """Return the sum of the threads before this one, and of all."""
        distance = 1
        memory[thread] = own
        barrier()
        while distance < BLOCK_THREADS:
            total = T(memory[thread - distance] + own) if thread >= distance else own
            barrier()
            memory[thread] = own = total
            barrier()
            distance *= 2
        before, total = memory[thread - 1] if thread > 0 else neutral, memory[BLOCK_THREADS - 1]
        barrier()  # before the next tile's are written
        return before, total

    @device_function
    def item(src: int, at: int, by: int, k: int, count: int) -> Any:
        return load(src, at + k * by) if k < count else neutral

    @device_function
    def sums_of_items(src: int, at: int, by: int, count: int) -> Any:
        """Return the sums of a thread's first one, two, three and four items; those beyond the part count nothing."""
        a = item(src, at, by, 0, count)
        b = T(a + item(src, at, by, 1, count))
        c = T(b + item(src, at, by, 2, count))
        return a, b, c, T(c + item(src, at, by, 3, count))

    @device_function
    def write_items(dst: int, at: int, by: int, count: int, carry: Any, found: Any) -> None:
        for k in range(min(ITEMS, count)):
            store(dst, at + k * by, T(carry + found[k]))

    def scan_rows(
        src: int,
        dst: int,
        sums: int,
        lines: int,
        size: int,
        part: int,
        to_end: int,
        step: int,
        inner: Divisor,
    ) -> None:
        memory, thread, line, number = numbers(), thread_of_block(), block_of_grid()[0], block_of_grid()[1]
        parts, by = blocks_of_grid()[1], -1 if to_end else 1
        while line < lines:
            first, begin = number * part, line * size + (size - 1 if to_end else 0)
            end, sum_at = min(first + part, size), line * parts + number
            carry = load_sum(sums, sum_at - 1) if step == _FROM_SUMS and number > 0 else neutral
            while first < end:
                item = first + thread * ITEMS
                found = sums_of_items(src, begin + item * by, by, end - item)
                before, total = sum_before(memory, found[ITEMS - 1], thread)
                if step != _SUMS:
                    write_items(dst, begin + item * by, by, end - item, T(carry + before), found)
                carry = T(carry + total)
                first += TILE
            if step == _SUMS and thread == 0:
                store_sum(sums, sum_at, carry)
            line += blocks_of_grid()[0]

    return scan_rows


def _memory(stored: DataType, carried: DataType) -> tuple[Any, Any, Any, Any, Any]:
    """Return the carried type, and functions that load and store elements and sums in it."""
    T = carried.dtype.type

    def loads(data_type: DataType) -> Any:
        load = loader(data_type, 1)
        return device_function(lambda address, index: T(load(address, index)[0]))

    def stores(data_type: DataType) -> Any:
        store = storer(data_type, 1)
        return device_function(lambda address, index, number: store(address, index, (number,)))

    return T, loads(stored), stores(stored), loads(carried), stores(carried)
