"""What a thread takes of a row at once: read, folded, and written.

A *slot* is a pack of each operand. A thread has one after the other, or several in its registers.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from ep.common.functor.reduction import States
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
    """(words, begin) -> where each operand's row is, which begins so many bytes into it."""
    one = device_function(lambda words, begin: (words[0] + begin,))
    return one if num_operands == 1 else device_function(lambda words, begin: (words[0] + begin, words[1] + begin))


def reader(num_operands: int, data_type: DataType, elements: int, aligned: bool, fill: Any) -> Any:
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


def writer(result: Any, num_operands: int, data_type: DataType, elements: int, aligned: bool) -> Any:
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


def added(add: Any, term: Any, num_operands: int, count: int) -> Any:
    element = _element(num_operands, count - 1)
    last = device_function(lambda state, slot, top: add(state, term(element(slot), top)))
    if count == 1:
        return last
    rest = added(add, term, num_operands, count - 1)
    return device_function(lambda state, slot, top: last(rest(state, slot, top), slot, top))


def highest_in(count: int) -> Any:
    number = count - 1

    def last(top, slot):
        x = slot[0][number]
        return x if x > top else top

    one = device_function(last)
    if count == 1:
        return one
    rest = highest_in(count - 1)
    return device_function(lambda top, slot: one(rest(top, slot), slot))


def kept(keep: Callable[..., Any] | None, elements: int) -> Any:
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


def each_slot(functions: Functions, elements: int, row_threads: int, count: int) -> tuple[Any, Any, Any, Any, Any]:
    """The functions for the slots that a thread has of a row, `row_threads` apart from slot i on."""
    read, highest, keep, add, write, *_ = functions
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
    rest_read, rest_highest, rest_keep, rest_add, rest_write = each_slot(functions, elements, row_threads, half)

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


def shared_slots(num_operands: int, elements: int) -> tuple[Any, Any]:
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
