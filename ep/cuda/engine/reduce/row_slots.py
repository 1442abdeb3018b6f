"""The elements of a row that a thread processes at once: their reads, folds, and writes.

A *slot* is a pack of each operand. A thread processes a *tile* of several slots, at such a distance that all threads of
the row together read adjacent packs: their loads are in flight at the same time.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple

import numpy as np

from ep.common.functor.reduction import States
from ep.common.loops import unrolled, written_out
from ep.cuda.compile.arithmetic import storage_arithmetic
from ep.cuda.compile.kernel_words import Words
from ep.cuda.compile.math_library import higher
from ep.cuda.compile.memory import SHARED, loader, storer
from ep.cuda.compile.numba_cuda import device_function, shared_address
from ep.include.data_type import DataType

_GUARDED: Final = 4
"""From this many elements on, a slot that does not exist is not computed: with fewer, a branch would cost more. What
such a slot has instead of elements does not count."""


class Functions(NamedTuple):
    """The functions of a kernel, of tiles: slots i, i + the threads of the row, ... of those before `end`.

    step: from the first slot of a tile to that of the next. read(begins, i, end): a tile; where there is no slot, there
    are numbers that do not count: `fill`. highest(top, tile): the larger one of `top` and the elements.
    keep(tile, i, end, top), add(state, tile, i, end, top): of slots that are kept.
    write(dst, i, end, tile, top, number).
    """

    step: int
    read: Any
    fill: Any
    highest: Any
    keep: Any
    add: Any
    write: Any
    scale: Any
    sums: States
    highest_of_row: Any
    sum_of_row: Any
    lowest: Any


class ThreadTile(NamedTuple):
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
    """(operands, begin) -> the address of each operand's row, which begins at this byte offset."""

    @written_out(device_function)
    def begins(operands: Words, begin: int) -> Any:
        return tuple(operands[k] + begin for k in unrolled(range(num_operands)))

    return begins


def slot_counter(tile: ThreadTile) -> Any:
    """(i, end) -> the slots of a tile that are before `end`; 0 or less if there is none.

    Each slot is compared with it by one instruction of 32 bits.
    """
    row_threads, slots = tile.row_threads, tile.slots
    shift = row_threads.bit_length() - 1
    return device_function(lambda i, end: np.int32(min((end - i + (row_threads - 1)) >> shift, slots)))


def reader(tile: ThreadTile, fill: Any) -> Any:
    num_operands, data_type, elements, aligned, row_threads, slots = tile
    load, fills, slots_of = loader(data_type, elements, aligned), (fill,) * elements, slot_counter(tile)
    size, pack = elements * data_type.itemsize, device_function(lambda at, there_is: load(at, 0) if there_is else fills)

    @written_out(device_function)
    def firsts_of(begins: Words, i: int) -> Any:
        return tuple(begins[k] + i * size for k in unrolled(range(num_operands)))

    @written_out(device_function)
    def read_slot(firsts: Words, offset: int, there_is: bool) -> Any:
        return tuple(pack(firsts[k] + offset, there_is) for k in unrolled(range(num_operands)))

    @written_out(device_function)
    def read(begins: Words, i: int, end: int) -> Any:  # a sum: Numba takes no display of more than 30 elements
        count, firsts = slots_of(i, end), firsts_of(begins, i)
        return sum(((read_slot(firsts, k * row_threads * size, k < count),) for k in unrolled(range(slots))), ())

    return read


def highest_in(tile: ThreadTile) -> Any:
    elements, slots, larger = tile.elements, tile.slots, higher(storage_arithmetic(tile.data_type))

    @written_out(device_function)
    def highest(top: Any, packs: Any) -> Any:
        for k in unrolled(range(slots)):
            for n in unrolled(range(elements)):
                top = larger(top, packs[k][0][n])
        return top

    return highest


def kept(tile: ThreadTile, keep: Callable[..., Any] | None) -> Any:
    if keep is None:
        return device_function(lambda packs, i, end, top: packs)
    function, elements, slots = device_function(keep), tile.elements, tile.slots
    slots_of, is_guarded = slot_counter(tile), tile.elements >= _GUARDED

    @written_out(device_function)
    def keep_slot(slot: Any, top: Any) -> Any:
        return (tuple(function((slot[0][k],), top)[0] for k in unrolled(range(elements))),)

    if is_guarded:
        keep_one = device_function(lambda slot, there_is, top: keep_slot(slot, top) if there_is else slot)
    else:
        keep_one = device_function(lambda slot, there_is, top: keep_slot(slot, top))

    @written_out(device_function)
    def keep_each(packs: Any, i: int, end: int, top: Any) -> Any:
        count = slots_of(i, end)
        return sum(((keep_one(packs[k], k < count, top),) for k in unrolled(range(slots))), ())

    return keep_each


def added(tile: ThreadTile, add: Any, term: Any) -> Any:
    num_operands, _, elements, _, _, slots = tile
    slots_of, always = slot_counter(tile), elements < _GUARDED

    @written_out(device_function)
    def add_slot(state: Any, slot: Any, top: Any) -> Any:
        for k in unrolled(range(elements)):
            state = add(state, term(tuple(slot[j][k] for j in unrolled(range(num_operands))), top))
        return state

    @written_out(device_function)
    def add_each(state: Any, packs: Any, i: int, end: int, top: Any) -> Any:
        count = slots_of(i, end)
        for k in unrolled(range(slots)):
            if always or k < count:
                state = add_slot(state, packs[k], top)
        return state

    return add_each


def writer(tile: ThreadTile, result: Any) -> Any:
    num_operands, data_type, elements, aligned, row_threads, slots = tile
    store, slots_of, size = storer(data_type, elements, aligned), slot_counter(tile), elements * data_type.itemsize

    @written_out(device_function)
    def results(slot: Any, top: Any, number: Any) -> Any:
        return tuple(
            result(tuple(slot[j][k] for j in unrolled(range(num_operands))), top, number)
            for k in unrolled(range(elements))
        )

    @written_out(device_function)
    def write(dst: int, i: int, end: int, packs: Any, top: Any, number: Any) -> None:
        count, at = slots_of(i, end), dst + i * size
        for k in unrolled(range(slots)):
            if k < count:
                store(at + k * row_threads * size, 0, results(packs[k], top, number))

    return write


def shared_tiles(tile: ThreadTile, kept_type: DataType, fill: Any) -> tuple[Any, Any]:
    """put(i, end, packs) and get(i, end): packs in a block's shared memory, of `end` slots in all, with elements of
    `kept_type`."""
    num_operands, _, elements, _, row_threads, slots = tile
    address, fills, slots_of, size = (
        shared_address(),
        (fill,) * elements,
        slot_counter(tile),
        elements * kept_type.itemsize,
    )
    load, store = loader(kept_type, elements, space=SHARED), storer(kept_type, elements, space=SHARED)

    @written_out(device_function)
    def firsts_of(i: int, end: int) -> Any:
        return tuple(address() + (operand * end + i) * size for operand in unrolled(range(num_operands)))

    @written_out(device_function)
    def put(i: int, end: int, packs: Any) -> None:
        count, firsts = slots_of(i, end), firsts_of(i, end)
        for k in unrolled(range(slots)):
            if k < count:
                for operand in unrolled(range(num_operands)):
                    store(firsts[operand] + k * row_threads * size, 0, packs[k][operand])

    pack = device_function(lambda at, there_is: load(at, 0) if there_is else fills)

    @written_out(device_function)
    def get_slot(firsts: Words, offset: int, there_is: bool) -> Any:
        return tuple(pack(firsts[operand] + offset, there_is) for operand in unrolled(range(num_operands)))

    @written_out(device_function)
    def get(i: int, end: int) -> Any:
        count, firsts = slots_of(i, end), firsts_of(i, end)
        return sum(((get_slot(firsts, k * row_threads * size, k < count),) for k in unrolled(range(slots))), ())

    return put, get
