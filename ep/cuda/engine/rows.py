"""The engine that makes a row of each row: of its maximum, its sum, and its elements.

A short row is kept in the registers of a part of a warp, a longer one in the shared memory of a block; a row that fits
nowhere is read again. The order of all additions follows from the number of columns alone.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from ep.common.functor.reduction import SUM, States, states
from ep.cuda.arithmetic import storage_arithmetic
from ep.cuda.engine.merge import merger
from ep.cuda.kernels.compiler import Kernel
from ep.cuda.kernels.math_library import cuda_math_library
from ep.cuda.kernels.memory import loader, storer
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


class _Parts(NamedTuple):
    """The functions of a kernel. A *slot* is what a thread takes of a row at once: a pack of each operand.

    read(begins, i, cols): slot i; past the last column there are numbers that do not count.
    highest(top, slot): the larger one of `top` and the slot's elements.
    keep(slot, top), add(state, slot, top): of slots that are kept. write(dst, i, cols, slot, top, number).
    """

    read: Any
    highest: Any
    keep: Any
    add: Any
    write: Any
    scale: Any
    sums: States
    highest_of_row: Any
    sum_of_row: Any
    lowest: Any


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
    function: RowFunction, data_type: DataType, elements: int, variant: RowVariant, parts: _Parts
) -> Callable[..., None]:
    row_threads, rows_per_block = variant.row_threads, BLOCK_THREADS // variant.row_threads
    num_operands, size, from_maximum = function.num_operands, data_type.itemsize, function.from_maximum
    lowest, empty, scale = parts.lowest, parts.sums.empty, parts.scale
    highest_of_row, sum_of_row, begins_of = parts.highest_of_row, parts.sum_of_row, _begins(num_operands)
    read, highest, keep, add, write = _each_slot(parts, elements, row_threads, variant.packs)

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
    function: RowFunction, data_type: DataType, elements: int, row_threads: int, parts: _Parts
) -> Callable[..., None]:
    num_operands, size, from_maximum = function.num_operands, data_type.itemsize, function.from_maximum
    lowest, empty, scale = parts.lowest, parts.sums.empty, parts.scale
    read, highest, keep, add, write, *_ = parts
    highest_of_row, sum_of_row, begins_of = parts.highest_of_row, parts.sum_of_row, _begins(num_operands)
    numbers, changes = shared_array(0, storage_arithmetic(data_type)), function.keep is not None
    put, get = _shared(num_operands, elements)

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
    function: RowFunction, data_type: DataType, elements: int, row_threads: int, parts: _Parts
) -> Callable[..., None]:
    num_operands, size = function.num_operands, data_type.itemsize
    read, _, keep, _, write, scale, *_ = parts
    begins_of, sum_of_row = _begins(num_operands), parts.sum_of_row
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


def _sum(elements: int, row_threads: int, parts: _Parts) -> Any:
    """(begins, cols, thread) -> nothing that counts, and the thread's part of the sum."""
    read, add, empty, lowest = parts.read, parts.add, parts.sums.empty, parts.lowest

    def sum_of(begins, cols, thread):
        state, i = empty(), thread
        while i * elements < cols:
            state = add(state, read(begins, i, cols), lowest)
            i = next_index(i, row_threads)
        return lowest, state

    return device_function(sum_of)


def _maximum_then_sum(elements: int, row_threads: int, parts: _Parts) -> Any:
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


def _maximum_with_sum(elements: int, row_threads: int, parts: _Parts, scalar_type: type[np.generic]) -> Any:
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


def _parts(function: RowFunction, data_type: DataType, elements: int, variant: RowVariant) -> _Parts:
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
    return _Parts(
        read=_reader(function.num_operands, data_type, elements, variant.aligned, fill),
        highest=_highest(elements),
        keep=_kept(function.keep, elements),
        add=_added(sums.add, device_function(function.term), function.num_operands, elements),
        write=_writer(device_function(function.result), function.num_operands, data_type, elements, variant.aligned),
        scale=device_function(function.scale),
        sums=sums,
        highest_of_row=merged(larger, 1, scalar_type),
        sum_of_row=merged(sums.merge, sums.num_parts, np.float64),
        lowest=scalar_type(np.finfo(scalar_type).min if function.from_maximum else 0),
    )


def _begins(num_operands: int) -> Any:
    """(words, begin) -> where each operand's row is, which begins so many bytes into it."""
    one = device_function(lambda words, begin: (words[0] + begin,))
    return one if num_operands == 1 else device_function(lambda words, begin: (words[0] + begin, words[1] + begin))


def _reader(num_operands: int, data_type: DataType, elements: int, aligned: bool, fill: Any) -> Any:
    fills = (fill,) * elements
    if aligned:
        load = loader(data_type, elements)
        pack = device_function(lambda begin, i, cols: load(begin, i) if i * elements < cols else fills)
    else:
        load_one = loader(data_type, 1)
        each = _each_element(
            device_function(lambda begin, n, cols: load_one(begin, n) if n < cols else (fill,)), elements
        )
        pack = device_function(lambda begin, i, cols: each(begin, i * elements, cols))
    if num_operands == 1:
        return device_function(lambda begins, i, cols: (pack(begins[0], i, cols),))
    return device_function(lambda begins, i, cols: (pack(begins[0], i, cols), pack(begins[1], i, cols)))


def _each_element(one: Any, count: int) -> Any:
    """(begin, n, cols) -> the pack of elements n, n + 1, ..., each by `one`."""
    if count == 1:
        return one
    half, rest = count // 2, _each_element(one, count // 2)
    return device_function(lambda begin, n, cols: rest(begin, n, cols) + rest(begin, n + half, cols))


def _writer(result: Any, num_operands: int, data_type: DataType, elements: int, aligned: bool) -> Any:
    computed, store_pack = _results(result, num_operands, elements), storer(data_type, elements)
    store_each = _stores(storer(data_type, 1), elements)
    if aligned:
        store = device_function(lambda dst, i, cols, pack: store_pack(dst, i, pack))
    else:
        store = device_function(lambda dst, i, cols, pack: store_each(dst, i * elements, cols, pack))

    def write(dst, i, cols, slot, top, number):
        if i * elements < cols:
            store(dst, i, cols, computed(slot, top, number))

    return device_function(write)


def _stores(store_one: Any, count: int) -> Any:
    """(dst, n, cols, pack): store elements n, n + 1, ... of a row."""

    def one(dst, n, cols, pack):
        if n < cols:
            store_one(dst, n, pack)

    if count == 1:
        return device_function(one)
    half, rest = count // 2, _stores(store_one, count // 2)

    def both(dst, n, cols, pack):
        rest(dst, n, cols, pack[:half])
        rest(dst, n + half, cols, pack[half:])

    return device_function(both)


@cache
def _element(num_operands: int, number: int) -> Any:
    """(slot) -> element `number` of each operand's pack."""
    if num_operands == 1:
        return device_function(lambda slot: (slot[0][number],))
    return device_function(lambda slot: (slot[0][number], slot[1][number]))


def _results(result: Any, num_operands: int, count: int) -> Any:
    element = _element(num_operands, count - 1)
    last = device_function(lambda slot, top, number: (result(element(slot), top, number),))
    if count == 1:
        return last
    rest = _results(result, num_operands, count - 1)
    return device_function(lambda slot, top, number: rest(slot, top, number) + last(slot, top, number))


def _added(add: Any, term: Any, num_operands: int, count: int) -> Any:
    element = _element(num_operands, count - 1)
    last = device_function(lambda state, slot, top: add(state, term(element(slot), top)))
    if count == 1:
        return last
    rest = _added(add, term, num_operands, count - 1)
    return device_function(lambda state, slot, top: last(rest(state, slot, top), slot, top))


def _highest(count: int) -> Any:
    number = count - 1

    def last(top, slot):
        x = slot[0][number]
        return x if x > top else top

    one = device_function(last)
    if count == 1:
        return one
    rest = _highest(count - 1)
    return device_function(lambda top, slot: one(rest(top, slot), slot))


def _kept(keep: Callable[..., Any] | None, elements: int) -> Any:
    if keep is None:
        return device_function(lambda slot, top: slot)
    function = device_function(keep)

    def of(count: int) -> Any:
        if count == 1:
            return device_function(lambda pack, top: function((pack[0],), top))
        half, rest = count // 2, of(count // 2)
        return device_function(lambda pack, top: rest(pack[:half], top) + rest(pack[half:], top))

    pack = of(elements)
    return device_function(lambda slot, top: (pack(slot[0], top),))


def _each_slot(parts: _Parts, elements: int, row_threads: int, count: int) -> tuple[Any, Any, Any, Any, Any]:
    """The functions of the parts for the slots that a thread has of a row, `row_threads` apart from slot i on."""
    read, highest, keep, add, write, *_ = parts
    one = (
        device_function(lambda begins, i, cols: (read(begins, i, cols),)),
        device_function(lambda top, slots: highest(top, slots[0])),
        device_function(lambda slots, i, cols, top: (keep(slots[0], top),) if i * elements < cols else (slots[0],)),
        device_function(lambda state, slots, i, cols, top: add(state, slots[0], top) if i * elements < cols else state),
        device_function(lambda dst, i, cols, slots, top, number: write(dst, i, cols, slots[0], top, number)),
    )
    if count == 1:
        return one
    half = count // 2
    step = half * row_threads
    rest_read, rest_highest, rest_keep, rest_add, rest_write = _each_slot(parts, elements, row_threads, half)

    def write_both(dst, i, cols, slots, top, number):
        rest_write(dst, i, cols, slots[:half], top, number)
        rest_write(dst, i + step, cols, slots[half:], top, number)

    return (
        device_function(lambda begins, i, cols: rest_read(begins, i, cols) + rest_read(begins, i + step, cols)),
        device_function(lambda top, slots: rest_highest(rest_highest(top, slots[:half]), slots[half:])),
        device_function(
            lambda slots, i, cols, top: (
                rest_keep(slots[:half], i, cols, top) + rest_keep(slots[half:], i + step, cols, top)
            )
        ),
        device_function(
            lambda state, slots, i, cols, top: rest_add(
                rest_add(state, slots[:half], i, cols, top), slots[half:], i + step, cols, top
            )
        ),
        device_function(write_both),
    )


def _shared(num_operands: int, elements: int) -> tuple[Any, Any]:
    """put(memory, i, packs, slot) and get(memory, i, packs): an array of `packs` numbers for each element of a pack.

    Places are unsigned where they are used: Numba lets negative ones count from the end, which takes instructions.
    """

    def of(operand: int, number: int) -> tuple[Any, Any]:
        plane = operand * elements + number

        def put_last(memory, i, packs, slot):
            memory[np.uint64(plane * packs + i)] = slot[operand][number]

        last_get = device_function(lambda memory, i, packs: (memory[np.uint64(plane * packs + i)],))
        last_put = device_function(put_last)
        if number == 0:
            return last_put, last_get
        rest_put, rest_get = of(operand, number - 1)

        def put(memory, i, packs, slot):
            rest_put(memory, i, packs, slot)
            last_put(memory, i, packs, slot)

        return (
            device_function(put),
            device_function(lambda memory, i, packs: rest_get(memory, i, packs) + last_get(memory, i, packs)),
        )

    put0, get0 = of(0, elements - 1)
    if num_operands == 1:
        return put0, device_function(lambda memory, i, packs: (get0(memory, i, packs),))
    put1, get1 = of(1, elements - 1)

    def put(memory, i, packs, slot):
        put0(memory, i, packs, slot)
        put1(memory, i, packs, slot)

    return device_function(put), device_function(
        lambda memory, i, packs: (get0(memory, i, packs), get1(memory, i, packs))
    )
