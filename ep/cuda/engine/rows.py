"""The engine that makes a row of each row: of its maximum, its sum, and its elements.

A short row is kept in the registers of a part of a warp, a longer one in the shared memory of a block; a row that fits
nowhere is read again. The order of all additions follows from the number of columns alone.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from ep.common.functor.reduction import SUM, states
from ep.cuda.arithmetic import storage_arithmetic
from ep.cuda.engine.merge import merger
from ep.cuda.engine.row_slots import (
    Parts,
    added,
    each_slot,
    highest_in,
    kept,
    reader,
    row_begins,
    shared_slots,
    writer,
)
from ep.cuda.kernels.compiler import Kernel
from ep.cuda.kernels.math_library import cuda_math_library
from ep.cuda.kernels.numba_cuda import (
    block_of_grid,
    blocks_of_grid,
    device_function,
    next_index,
    shared_array,
    thread_of_block,
)
from ep.cuda.launch_config import BLOCK_THREADS, pack_elements
from ep.cuda.row_plan import Keep, RowVariant
from ep.include.data_type import DataType


class RowFunction(NamedTuple):
    """What a row becomes, by functions that the engine compiles. `e`: a tuple of an element of each operand.

    from_maximum: whether `top` is the largest element of the row, of the one operand; else it is 0.
    keep: (e, top) -> what is kept in its place; None where nothing else is. term: (kept e, top) -> what is summed up.
    scale: (sum, its rounding error) -> a number for the row. result: (kept e, top, number) -> an element.
    """

    name: str
    num_operands: int
    from_maximum: bool
    keep: Callable[..., Any] | None
    term: Callable[..., Any]
    scale: Callable[..., Any]
    result: Callable[..., Any]


@cache
def kernel(make: Callable[[DataType], RowFunction], data_type: DataType, variant: RowVariant) -> Kernel:
    """The kernel (operands ..., dst, rows, cols), a tuple of words."""
    function, elements = make(data_type), pack_elements(data_type)
    parts = _parts(function, data_type, elements, variant)
    if variant.keep is Keep.REGISTERS:
        run = _in_registers(function, data_type, elements, variant, parts)
    elif variant.keep is Keep.SHARED:
        run = _in_shared_memory(function, data_type, elements, variant.row_threads, parts)
    else:
        run = _read_again(function, data_type, elements, variant.row_threads, parts)
    keep, aligned, row_threads, packs = variant
    name = f"rows.{function.name}.{data_type.name}.{keep.name}.{aligned:d}.{row_threads}.{packs}"
    return Kernel(name, run, 0, function.num_operands + 3)


def _in_registers(
    function: RowFunction, data_type: DataType, elements: int, variant: RowVariant, parts: Parts
) -> Callable[..., None]:
    row_threads, rows_per_block = variant.row_threads, BLOCK_THREADS // variant.row_threads
    num_operands, size, from_maximum = function.num_operands, data_type.itemsize, function.from_maximum
    lowest, empty, scale = parts.lowest, parts.sums.empty, parts.scale
    highest_of_row, sum_of_row, begins_of = parts.highest_of_row, parts.sum_of_row, row_begins(num_operands)
    read, highest, keep, add, write = each_slot(parts, elements, row_threads, variant.packs)

    def rows_in_registers(words):
        dst, rows, cols = words[num_operands], words[num_operands + 1], words[num_operands + 2]
        thread = thread_of_block()
        i, first = thread % row_threads, block_of_grid()[0] * rows_per_block
        while first < rows:  # all threads of a warp together: they meet at shuffles
            row = first + thread // row_threads
            begin, own = row * cols * size, cols if row < rows else 0
            slots = read(begins_of(words, begin), i, own)
            top = highest_of_row((highest(lowest, slots),), thread)[0] if from_maximum else lowest
            slots = keep(slots, i, own, top)
            number = scale(sum_of_row(add(empty(), slots, i, own, top), thread))
            write(dst + begin, i, own, slots, top, number)
            first += blocks_of_grid()[0] * rows_per_block

    return rows_in_registers


def _in_shared_memory(
    function: RowFunction, data_type: DataType, elements: int, row_threads: int, parts: Parts
) -> Callable[..., None]:
    num_operands, size, from_maximum = function.num_operands, data_type.itemsize, function.from_maximum
    lowest, empty, scale = parts.lowest, parts.sums.empty, parts.scale
    read, highest, keep, add, write, *_ = parts
    highest_of_row, sum_of_row, begins_of = parts.highest_of_row, parts.sum_of_row, row_begins(num_operands)
    numbers, changes = shared_array(0, storage_arithmetic(data_type)), function.keep is not None
    put, get = shared_slots(num_operands, elements)

    def rows_in_shared_memory(words):
        dst, rows, cols = words[num_operands], words[num_operands + 1], words[num_operands + 2]
        thread, row, packs, memory = thread_of_block(), block_of_grid()[0], (cols + elements - 1) // elements, numbers()
        while row < rows:
            begin, top, i = row * cols * size, lowest, thread
            begins = begins_of(words, begin)
            while i < packs:  # each thread has the same slots throughout, and so waits for nobody
                slot = read(begins, i, cols)
                put(memory, i, packs, slot)
                if from_maximum:
                    top = highest(top, slot)
                i = next_index(i, row_threads)
            if from_maximum:
                top = highest_of_row((top,), thread)[0]
            state, i = empty(), thread
            while i < packs:
                slot = keep(get(memory, i, packs), top)
                if changes:
                    put(memory, i, packs, slot)
                state = add(state, slot, top)
                i = next_index(i, row_threads)
            number, i = scale(sum_of_row(state, thread)), thread
            while i < packs:
                write(dst + begin, i, cols, get(memory, i, packs), top, number)
                i = next_index(i, row_threads)
            row += blocks_of_grid()[0]

    return rows_in_shared_memory


def _read_again(
    function: RowFunction, data_type: DataType, elements: int, row_threads: int, parts: Parts
) -> Callable[..., None]:
    num_operands, size = function.num_operands, data_type.itemsize
    read, _, keep, _, write, scale, *_ = parts
    begins_of, sum_of_row = row_begins(num_operands), parts.sum_of_row
    if not function.from_maximum:
        maximum_and_sum = _sum(elements, row_threads, parts)
    elif data_type is DataType.kDouble:
        maximum_and_sum = _maximum_then_sum(elements, row_threads, parts)
    else:
        maximum_and_sum = _maximum_with_sum(elements, row_threads, parts, storage_arithmetic(data_type))

    def rows_read_again(words):
        dst, rows, cols = words[num_operands], words[num_operands + 1], words[num_operands + 2]
        thread, row, packs = thread_of_block(), block_of_grid()[0], (cols + elements - 1) // elements
        while row < rows:
            begin, i = row * cols * size, thread
            begins = begins_of(words, begin)
            top, state = maximum_and_sum(begins, cols, thread)
            number = scale(sum_of_row(state, thread))
            while i < packs:
                write(dst + begin, i, cols, keep(read(begins, i, cols), top), top, number)
                i = next_index(i, row_threads)
            row += blocks_of_grid()[0]

    return rows_read_again


def _sum(elements: int, row_threads: int, parts: Parts) -> Any:
    """(begins, cols, thread) -> nothing that counts, and the thread's part of the sum."""
    read, add, empty, lowest = parts.read, parts.add, parts.sums.empty, parts.lowest

    def sum_of(begins, cols, thread):
        state, i = empty(), thread
        while i * elements < cols:
            state = add(state, read(begins, i, cols), lowest)
            i = next_index(i, row_threads)
        return lowest, state

    return device_function(sum_of)


def _maximum_then_sum(elements: int, row_threads: int, parts: Parts) -> Any:
    """(begins, cols, thread) -> the row's maximum, and the thread's part of the sum: the row is read twice."""
    read, highest, keep, add = parts.read, parts.highest, parts.keep, parts.add
    empty, lowest, highest_of_row = parts.sums.empty, parts.lowest, parts.highest_of_row

    def maximum_then_sum(begins, cols, thread):
        top, i = lowest, thread
        while i * elements < cols:
            top = highest(top, read(begins, i, cols))
            i = next_index(i, row_threads)
        top = highest_of_row((top,), thread)[0]
        state, i = empty(), thread
        while i * elements < cols:
            state = add(state, keep(read(begins, i, cols), top), top)
            i = next_index(i, row_threads)
        return top, state

    return device_function(maximum_then_sum)


def _maximum_with_sum(elements: int, row_threads: int, parts: Parts, scalar_type: type[np.generic]) -> Any:
    """As above, but the row is read once: where the maximum of a thread grows, its sum is scaled, in float64."""
    read, highest, keep, add = parts.read, parts.highest, parts.keep, parts.add
    empty, lowest, highest_of_row = parts.sums.empty, parts.lowest, parts.highest_of_row
    exp = cuda_math_library(np.float64).exp

    @device_function
    def scaled(state, top, new_top):
        return (state[0] * exp(np.float64(top) - np.float64(new_top)),)

    def maximum_with_sum(begins, cols, thread):
        top, state, i = lowest, empty(), thread
        while i * elements < cols:
            slot = read(begins, i, cols)
            new_top = highest(top, slot)
            if new_top > top:
                state, top = scaled(state, top, new_top), new_top
            state = add(state, keep(slot, top), top)
            i = next_index(i, row_threads)
        row_top = highest_of_row((top,), thread)[0]
        return row_top, scaled(state, top, row_top)

    return device_function(maximum_with_sum)


def _parts(function: RowFunction, data_type: DataType, elements: int, variant: RowVariant) -> Parts:
    scalar_type, row_threads = storage_arithmetic(data_type), variant.row_threads
    block_threads = max(row_threads, BLOCK_THREADS)
    wide = data_type is DataType.kDouble
    sums = states(SUM, cuda_math_library(np.float64), compensated=wide)

    @device_function
    def larger(a, b):
        return (b[0] if b[0] > a[0] else a[0],)  # NaN is not larger, and comes to all of a row by its sum

    def merged(merge: Any, num_parts: int, of: type[np.generic]) -> Any:
        return merger(merge, num_parts, of, row_threads, to_all=True, block_threads=block_threads)

    fill = scalar_type(-np.inf if function.from_maximum else 0)
    return Parts(
        read=reader(function.num_operands, data_type, elements, variant.aligned, fill),
        highest=highest_in(elements),
        keep=kept(function.keep, elements),
        add=added(sums.add, device_function(function.term), function.num_operands, elements),
        write=writer(device_function(function.result), function.num_operands, data_type, elements, variant.aligned),
        scale=device_function(function.scale),
        sums=sums,
        highest_of_row=merged(larger, 1, scalar_type),
        sum_of_row=merged(sums.merge, sums.num_parts, np.float64),
        lowest=scalar_type(np.finfo(scalar_type).min if function.from_maximum else 0),
    )
