"""The engine that makes a row of each row: of its maximum, its sum, and its elements.

A short row is kept in the registers of a part of a warp, a longer one in the shared memory of a block; a row that fits
nowhere is read again. A long one of few rows is the work of several blocks: see `row_parts`. The order of all additions
follows from the shape alone.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from ep.cuda.compile.arithmetic import storage_arithmetic
from ep.cuda.compile.compiler import KernelSource
from ep.cuda.compile.launch_config import BLOCK_THREADS, pack_elements
from ep.cuda.compile.numba_cuda import block_of_grid, blocks_of_grid, next_index, shared_array, thread_of_block
from ep.cuda.engine.reduce.row_parts import stage
from ep.cuda.engine.reduce.row_passes import RowFunction, functions_of, maximum_and_sum
from ep.cuda.engine.reduce.row_plan import Keep, PartVariant, RowVariant
from ep.cuda.engine.reduce.row_slots import Functions, each_slot, row_begins, shared_slots
from ep.include.data_type import DataType


@cache
def kernel(
    make: Callable[[DataType], RowFunction], data_type: DataType, variant: RowVariant | PartVariant
) -> KernelSource:
    """Return the kernel (operands ..., dst, rows, cols), a tuple of words; that of a stage takes two more."""
    function, elements = make(data_type), pack_elements(data_type)
    functions = functions_of(function, data_type, elements, variant.aligned, variant.row_threads)
    if isinstance(variant, PartVariant):
        return stage(function, data_type, elements, variant, functions)
    if variant.keep is Keep.REGISTERS:
        run = _in_registers(function, data_type, elements, variant, functions)
    elif variant.keep is Keep.SHARED:
        run = _in_shared_memory(function, data_type, elements, variant.row_threads, functions)
    else:
        run = _read_again(function, data_type, elements, variant.row_threads, functions)
    keep, aligned, row_threads, packs = variant
    name = f"rows.{function.name}.{data_type.name}.{keep.name}.{aligned:d}.{row_threads}.{packs}"
    return KernelSource(name, run, 0, function.num_operands + 3, is_contracted=True)


def _in_registers(
    function: RowFunction, data_type: DataType, elements: int, variant: RowVariant, functions: Functions
) -> Callable[..., None]:
    row_threads, rows_per_block = variant.row_threads, BLOCK_THREADS // variant.row_threads
    num_operands, size, from_maximum = function.num_operands, data_type.itemsize, function.from_maximum
    lowest, empty, scale = functions.lowest, functions.sums.empty, functions.scale
    highest_of_row, sum_of_row, begins_of = functions.highest_of_row, functions.sum_of_row, row_begins(num_operands)
    read, highest, keep, add, write = each_slot(functions, elements, row_threads, variant.packs)

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
    function: RowFunction, data_type: DataType, elements: int, row_threads: int, functions: Functions
) -> Callable[..., None]:
    num_operands, size, from_maximum = function.num_operands, data_type.itemsize, function.from_maximum
    lowest, empty, scale = functions.lowest, functions.sums.empty, functions.scale
    read, highest, keep, add, write, *_ = functions
    highest_of_row, sum_of_row, begins_of = functions.highest_of_row, functions.sum_of_row, row_begins(num_operands)
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
    function: RowFunction, data_type: DataType, elements: int, row_threads: int, functions: Functions
) -> Callable[..., None]:
    num_operands, size = function.num_operands, data_type.itemsize
    read, _, keep, _, write, scale, *_ = functions
    begins_of, sum_of_row = row_begins(num_operands), functions.sum_of_row
    of_row = maximum_and_sum(function, data_type, row_threads, functions)

    def rows_read_again(words):
        dst, rows, cols = words[num_operands], words[num_operands + 1], words[num_operands + 2]
        thread, row, packs = thread_of_block(), block_of_grid()[0], (cols + elements - 1) // elements
        while row < rows:
            begin, i = row * cols * size, thread
            begins = begins_of(words, begin)
            top, state = of_row(begins, i, packs, cols, thread)
            number = scale(sum_of_row(state, thread))
            while i < packs:
                write(dst + begin, i, cols, keep(read(begins, i, cols), top), top, number)
                i = next_index(i, row_threads)
            row += blocks_of_grid()[0]

    return rows_read_again
