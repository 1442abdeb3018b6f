"""Few long rows: several blocks have parts of a row, and merge them through memory in the next kernel.

The numbers of part p of row r are at r * parts + p of arrays of float64: the maximum in the first one, the sum and its
error in the next. Each block of the last kernel merges those of its whole row, all of them in the same order.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ep.cuda.compile.arithmetic import storage_arithmetic
from ep.cuda.compile.compiler import KernelSource
from ep.cuda.compile.kernel_words import Words
from ep.cuda.compile.memory import loader, storer
from ep.cuda.compile.numba_cuda import block_of_grid, blocks_of_grid, device_function, next_index, thread_of_block
from ep.cuda.engine.reduce.row_passes import RowFunction, maximum, maximum_and_sum, scaled, sum_below
from ep.cuda.engine.reduce.row_plan import PartVariant, PartWords, Stage, sums_are_scaled
from ep.cuda.engine.reduce.row_slots import Functions, row_begins
from ep.cuda.engine.reduce.state_memory import state_loader, state_storer
from ep.include.data_type import DataType

_NUMBER = DataType.kDouble


class RowPart(NamedTuple):
    """What a thread has of a part of a row: its slots i, i + the threads of the row, ... before `end`.

    memory: of the values of parts; first: the place of those of the row; number: of the part among `parts`; plane: the
    values of each kind.
    """

    i: int
    end: int
    thread: int
    memory: int
    first: int
    number: int
    parts: int
    plane: int


def stage(function: RowFunction, data_type: DataType, variant: PartVariant, functions: Functions) -> KernelSource:
    """Return the kernel of a stage, of blocks (part, row)."""
    make = {
        Stage.MAXIMA: _maxima,
        Stage.SUMS: _sums,
        Stage.MAXIMA_AND_SUMS: _maxima_and_sums,
        Stage.RESULTS: _results,
    }[variant.stage]
    work = make(function, data_type, variant.row_threads, functions)
    num_operands, size, elements = function.num_operands, data_type.itemsize, variant.elements
    begins_of = row_begins(num_operands)

    def rows_in_parts(words: PartWords) -> None:
        dst, rows, cols, memory, part_packs = words.dst, words.rows, words.cols, words.memory, words.part_packs
        thread, (number, row, _), parts = thread_of_block(), block_of_grid(), blocks_of_grid()[0]
        begin, packs = row * cols * size, cols // elements
        i, end = number * part_packs + thread, min((number + 1) * part_packs, packs)
        part = RowPart(i, end, thread, memory, row * parts, number, parts, rows * parts)
        work(begins_of(words.operands, begin), dst + begin, part)

    stage_name, _, aligned, row_threads = variant.stage.name, *variant[1:]
    name = f"row_parts.{function.name}.{data_type.name}.{stage_name}.{elements}.{aligned:d}.{row_threads}"
    return KernelSource(name, rows_in_parts, (num_operands,))


def _maxima(function: RowFunction, data_type: DataType, row_threads: int, functions: Functions) -> Any:
    highest, highest_of_row, store = maximum(functions), functions.highest_of_row, storer(_NUMBER, 1)

    def work(begins: Words, dst: int, part: RowPart) -> None:
        top = highest_of_row((highest(begins, part.i, part.end),), part.thread)[0]
        if part.thread == 0:
            store(part.memory, part.first + part.number, (np.float64(top),))

    return device_function(work)


def _sums(function: RowFunction, data_type: DataType, row_threads: int, functions: Functions) -> Any:
    below, sum_of_row, put = sum_below(functions), functions.sum_of_row, _state_storer(functions)
    top_of_row = _top_of_row(function, data_type, row_threads, functions)

    def work(begins: Words, dst: int, part: RowPart) -> None:
        top = top_of_row(part)
        state = sum_of_row(below(begins, part.i, part.end, top), part.thread)
        if part.thread == 0:
            put(part.memory, part.first + part.number, part.plane, state)

    return device_function(work)


def _maxima_and_sums(function: RowFunction, data_type: DataType, row_threads: int, functions: Functions) -> Any:
    of_part, sum_of_row = maximum_and_sum(function, data_type, functions), functions.sum_of_row
    store, put = storer(_NUMBER, 1), _state_storer(functions)

    def work(begins: Words, dst: int, part: RowPart) -> None:
        top, state = of_part(begins, part.i, part.end, part.thread)
        state = sum_of_row(state, part.thread)
        if part.thread == 0:
            store(part.memory, part.first + part.number, (np.float64(top),))
            put(part.memory, part.first + part.number, part.plane, state)

    return device_function(work)


def _results(function: RowFunction, data_type: DataType, row_threads: int, functions: Functions) -> Any:
    read, keep, write, scale, step = functions.read, functions.keep, functions.write, functions.scale, functions.step
    top_of_row = _top_of_row(function, data_type, row_threads, functions)
    sum_of_thread, sum_of_row = _sum_of_thread(function, data_type, row_threads, functions), functions.sum_of_row

    def work(begins: Words, dst: int, part: RowPart) -> None:
        top, i, end = top_of_row(part), part.i, part.end
        number = scale(sum_of_row(sum_of_thread(part, top), part.thread))
        while i < end:
            write(dst, i, end, keep(read(begins, i, end), i, end, top), top, number)
            i = next_index(i, step)

    return device_function(work)


def _top_of_row(function: RowFunction, data_type: DataType, row_threads: int, functions: Functions) -> Any:
    """(part) -> the maximum of all parts of its row."""
    lowest, highest_of_row = functions.lowest, functions.highest_of_row
    if not function.from_maximum:
        return device_function(lambda part: lowest)
    load, scalar_type = loader(_NUMBER, 1), storage_arithmetic(data_type)

    def top_of_row(part: RowPart) -> Any:
        top, n = lowest, part.thread
        while n < part.parts:
            other = scalar_type(load(part.memory, part.first + n)[0])
            top = other if other > top else top
            n = next_index(n, row_threads)
        return highest_of_row((top,), part.thread)[0]

    return device_function(top_of_row)


def _sum_of_thread(function: RowFunction, data_type: DataType, row_threads: int, functions: Functions) -> Any:
    """(part, top) -> the sum of the parts thread, thread + row_threads, ... of its row."""
    empty, merge, get = functions.sums.empty, functions.sums.merge, _state_loader(functions)
    if function.from_maximum and sums_are_scaled(data_type):
        load, scale = loader(_NUMBER, 1), scaled()
        of_part = device_function(
            lambda memory, place, plane, top: scale(get(memory, place, plane), load(memory, place)[0], top)
        )
    else:
        of_part = device_function(lambda memory, place, plane, top: get(memory, place, plane))

    def sum_of_thread(part: RowPart, top: Any) -> Any:
        state, n = empty(), part.thread
        while n < part.parts:
            state = merge(state, of_part(part.memory, part.first + n, part.plane, top))
            n = next_index(n, row_threads)
        return state

    return device_function(sum_of_thread)


def _state_storer(functions: Functions) -> Any:
    """(memory, place, plane, state): sums are after the maxima."""
    put, size = state_storer(_NUMBER, functions.sums.num_parts), _NUMBER.itemsize
    return device_function(lambda memory, place, plane, state: put(memory + plane * size, place, plane, state))


def _state_loader(functions: Functions) -> Any:
    get, size = state_loader(_NUMBER, functions.sums.num_parts), _NUMBER.itemsize
    return device_function(lambda memory, place, plane: get(memory + plane * size, place, plane))
