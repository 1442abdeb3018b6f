"""The elements of a row that a thread processes at once: their reads, folds, and writes.

A *slot* is a pack of each operand. A thread processes a *turn* of several slots, at such a distance that all threads of
the row together read adjacent packs: their loads are in flight at the same time.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ep.common.functor.reduction import States
from ep.common.loops import unrolled, written_out
from ep.cuda.compile.arithmetic import storage_arithmetic
from ep.cuda.compile.memory import SHARED, loader, storer
from ep.cuda.compile.numba_cuda import device_function, shared_address
from ep.include.data_type import DataType


class Functions(NamedTuple):
    """The functions of a kernel, of turns: slots i, i + the threads of the row, ... of those before `end`.

    step: from the first slot of a turn to that of the next. read(begins, i, end): a turn; where there is no slot, there
    are numbers that do not count. highest(top, turn): the larger one of `top` and the elements.
    keep(turn, i, end, top), add(state, turn, i, end, top): of slots that are kept.
    write(dst, i, end, turn, top, number).
    """

    step: int
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


class Turn(NamedTuple):
    """The elements that a thread processes at once: `slots` slots, `row_threads` apart, each a pack of `elements` of
    each operand.

    aligned: whether packs are aligned to their bytes.
    """

    num_operands: int
    data_type: DataType
    elements: int
    aligned: bool
    row_threads: int
    slots: int


def row_begins(num_operands: int) -> Any:
    """(words, begin) -> the address of each operand's row, which begins at this byte offset."""

    @written_out(device_function)
    def begins(words, begin):
        return tuple(words[k] + begin for k in unrolled(range(num_operands)))

    return begins


def reader(turn: Turn, fill: Any) -> Any:
    num_operands, data_type, elements, aligned, row_threads, slots = turn
    load, fills = loader(data_type, elements, aligned), (fill,) * elements
    pack = device_function(lambda begin, i, end: load(begin, i) if i < end else fills)

    @written_out(device_function)
    def read_slot(begins, i, end):
        return tuple(pack(begins[k], i, end) for k in unrolled(range(num_operands)))

    @written_out(device_function)
    def read(begins, i, end):  # a sum: Numba takes no display of more than 30 elements
        return sum(((read_slot(begins, i + k * row_threads, end),) for k in unrolled(range(slots))), ())

    return read


def highest_in(turn: Turn) -> Any:
    elements, slots = turn.elements, turn.slots

    @written_out(device_function)
    def highest(top, packs):
        for k in unrolled(range(slots)):
            for n in unrolled(range(elements)):
                x = packs[k][0][n]
                top = x if x > top else top
        return top

    return highest


def kept(turn: Turn, keep: Callable[..., Any] | None) -> Any:
    if keep is None:
        return device_function(lambda packs, i, end, top: packs)
    function, elements, row_threads, slots = device_function(keep), turn.elements, turn.row_threads, turn.slots

    @written_out(device_function)
    def keep_slot(slot, top):
        return (tuple(function((slot[0][k],), top)[0] for k in unrolled(range(elements))),)

    keep_one = device_function(lambda slot, i, end, top: keep_slot(slot, top) if i < end else slot)

    @written_out(device_function)
    def keep_each(packs, i, end, top):
        return sum(((keep_one(packs[k], i + k * row_threads, end, top),) for k in unrolled(range(slots))), ())

    return keep_each


def added(turn: Turn, add: Any, term: Any) -> Any:
    num_operands, _, elements, _, row_threads, slots = turn

    @written_out(device_function)
    def add_slot(state, slot, top):
        for k in unrolled(range(elements)):
            state = add(state, term(tuple(slot[j][k] for j in unrolled(range(num_operands))), top))
        return state

    @written_out(device_function)
    def add_each(state, packs, i, end, top):
        for k in unrolled(range(slots)):
            if i + k * row_threads < end:
                state = add_slot(state, packs[k], top)
        return state

    return add_each


def writer(turn: Turn, result: Any) -> Any:
    num_operands, data_type, elements, aligned, row_threads, slots = turn
    store = storer(data_type, elements, aligned)

    @written_out(device_function)
    def results(slot, top, number):
        return tuple(
            result(tuple(slot[j][k] for j in unrolled(range(num_operands))), top, number)
            for k in unrolled(range(elements))
        )

    @written_out(device_function)
    def write(dst, i, end, packs, top, number):
        for k in unrolled(range(slots)):
            if i + k * row_threads < end:
                store(dst, i + k * row_threads, results(packs[k], top, number))

    return write


def loaded_turns(turn: Turn) -> tuple[Any, Any]:
    """put(i, end, packs) and get(i, end): packs in a block's shared memory, in the bytes that they were loaded as."""
    num_operands, data_type, elements, _, row_threads, slots = turn
    address, numbers = shared_address(), (storage_arithmetic(data_type)(0),) * elements
    load, store = loader(data_type, elements, space=SHARED), storer(data_type, elements, space=SHARED)

    @written_out(device_function)
    def put(i, end, packs):
        memory = address()
        for k in unrolled(range(slots)):
            if i + k * row_threads < end:
                for operand in unrolled(range(num_operands)):
                    store(memory, operand * end + i + k * row_threads, packs[k][operand])

    pack = device_function(lambda memory, first, i, end: load(memory, first + i) if i < end else numbers)

    @written_out(device_function)
    def get_slot(memory, i, end):
        return tuple(pack(memory, operand * end, i, end) for operand in unrolled(range(num_operands)))

    @written_out(device_function)
    def get(i, end):
        memory = address()
        return sum(((get_slot(memory, i + k * row_threads, end),) for k in unrolled(range(slots))), ())

    return put, get


def shared_turns(turn: Turn) -> tuple[Any, Any]:
    """put(memory, i, end, packs) and get(memory, i, end): an array of `end` numbers for each element of a slot.

    Positions are converted to unsigned numbers: for signed ones, Numba adds instructions that count from the end.
    """
    num_operands, data_type, elements, _, row_threads, slots = turn
    nothing = ((storage_arithmetic(data_type)(0),) * elements,) * num_operands

    @written_out(device_function)
    def put(memory, i, end, packs):
        for k in unrolled(range(slots)):
            if i + k * row_threads < end:
                for operand in unrolled(range(num_operands)):
                    for n in unrolled(range(elements)):
                        place = (operand * elements + n) * end + i + k * row_threads
                        memory[np.uint64(place)] = packs[k][operand][n]

    @written_out(device_function)
    def get_slot(memory, i, end):
        return tuple(
            tuple(memory[np.uint64((operand * elements + n) * end + i)] for n in unrolled(range(elements)))
            for operand in unrolled(range(num_operands))
        )

    slot_before = device_function(lambda memory, i, end: get_slot(memory, i, end) if i < end else nothing)

    @written_out(device_function)
    def get(memory, i, end):
        return sum(((slot_before(memory, i + k * row_threads, end),) for k in unrolled(range(slots))), ())

    return put, get
