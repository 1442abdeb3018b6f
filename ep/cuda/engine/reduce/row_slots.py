"""The elements of a row that a thread has at once: read, folded, and written.

A *slot* is a pack of each operand. A thread has one after the other, or several in its registers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ep.common.functor.reduction import States
from ep.common.loops import unrolled, written_out
from ep.cuda.compile.memory import loader, storer
from ep.cuda.compile.numba_cuda import device_function
from ep.include.data_type import DataType


class Functions(NamedTuple):
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


def row_begins(num_operands: int) -> Any:
    """(words, begin) -> where each operand's row is, which begins this many bytes into it."""

    @written_out(device_function)
    def begins(words, begin):
        return tuple(words[k] + begin for k in unrolled(range(num_operands)))

    return begins


def reader(num_operands: int, data_type: DataType, elements: int, aligned: bool, fill: Any) -> Any:
    load, load_one, fills = loader(data_type, elements), loader(data_type, 1), (fill,) * elements

    @device_function
    def whole_pack(begin, i, cols):
        return load(begin, i) if i * elements < cols else fills

    @written_out(device_function)
    def each_element(begin, i, cols):
        n = i * elements
        return tuple(load_one(begin, n + k)[0] if n + k < cols else fill for k in unrolled(range(elements)))

    pack = whole_pack if aligned else each_element

    @written_out(device_function)
    def read(begins, i, cols):
        return tuple(pack(begins[k], i, cols) for k in unrolled(range(num_operands)))

    return read


def writer(result: Any, num_operands: int, data_type: DataType, elements: int, aligned: bool) -> Any:
    store, store_one = storer(data_type, elements), storer(data_type, 1)

    @written_out(device_function)
    def results(slot, top, number):
        return tuple(
            result(tuple(slot[j][k] for j in unrolled(range(num_operands))), top, number)
            for k in unrolled(range(elements))
        )

    @device_function
    def write_pack(dst, i, cols, slot, top, number):
        if i * elements < cols:
            store(dst, i, results(slot, top, number))

    @written_out(device_function)
    def write_each(dst, i, cols, slot, top, number):
        if i * elements < cols:
            n, pack = i * elements, results(slot, top, number)
            for k in unrolled(range(elements)):
                if n + k < cols:
                    store_one(dst, n + k, (pack[k],))

    return write_pack if aligned else write_each


def added(add: Any, term: Any, num_operands: int, elements: int) -> Any:
    @written_out(device_function)
    def add_pack(state, slot, top):
        for k in unrolled(range(elements)):
            state = add(state, term(tuple(slot[j][k] for j in unrolled(range(num_operands))), top))
        return state

    return add_pack


def highest_in(elements: int) -> Any:
    @written_out(device_function)
    def highest(top, slot):
        for k in unrolled(range(elements)):
            x = slot[0][k]
            top = x if x > top else top
        return top

    return highest


def kept(keep: Callable[..., Any] | None, elements: int) -> Any:
    if keep is None:
        return device_function(lambda slot, top: slot)
    function = device_function(keep)

    @written_out(device_function)
    def keep_pack(slot, top):
        return (tuple(function((slot[0][k],), top)[0] for k in unrolled(range(elements))),)

    return keep_pack


def each_slot(functions: Functions, elements: int, row_threads: int, count: int) -> tuple[Any, Any, Any, Any, Any]:
    """Return the functions for the slots that a thread has of a row, `row_threads` apart from slot i on."""
    read, highest, keep, add, write, *_ = functions

    @written_out(device_function)
    def read_each(begins, i, cols):
        return tuple(read(begins, i + k * row_threads, cols) for k in unrolled(range(count)))

    @written_out(device_function)
    def highest_of(top, slots):
        for k in unrolled(range(count)):
            top = highest(top, slots[k])
        return top

    @written_out(device_function)
    def keep_each(slots, i, cols, top):
        return tuple(
            keep(slots[k], top) if (i + k * row_threads) * elements < cols else slots[k] for k in unrolled(range(count))
        )

    @written_out(device_function)
    def add_each(state, slots, i, cols, top):
        for k in unrolled(range(count)):
            if (i + k * row_threads) * elements < cols:
                state = add(state, slots[k], top)
        return state

    @written_out(device_function)
    def write_each(dst, i, cols, slots, top, number):
        for k in unrolled(range(count)):
            write(dst, i + k * row_threads, cols, slots[k], top, number)

    return read_each, highest_of, keep_each, add_each, write_each


def shared_slots(num_operands: int, elements: int) -> tuple[Any, Any]:
    """put(memory, i, packs, slot) and get(memory, i, packs): an array of `packs` numbers for each element of a pack.

    Places are unsigned where they are used: Numba lets negative ones count from the end, which takes instructions.
    """

    @written_out(device_function)
    def put(memory, i, packs, slot):
        for operand in unrolled(range(num_operands)):
            for k in unrolled(range(elements)):
                memory[np.uint64((operand * elements + k) * packs + i)] = slot[operand][k]

    @written_out(device_function)
    def get(memory, i, packs):
        return tuple(
            tuple(memory[np.uint64((operand * elements + k) * packs + i)] for k in unrolled(range(elements)))
            for operand in unrolled(range(num_operands))
        )

    return put, get
