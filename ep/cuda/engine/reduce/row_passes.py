"""Passes over a row in memory, or over a part of it: its maximum, and the sum of the terms below this maximum."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, Final, NamedTuple

import numpy as np

from ep.common.functor.math_library import ScalarType
from ep.common.functor.reduction import SUM, States, states
from ep.cuda.compile.arithmetic import storage_arithmetic
from ep.cuda.compile.kernel_words import Words
from ep.cuda.compile.launch_config import BLOCK_THREADS, PACK_BYTES
from ep.cuda.compile.math_library import cuda_math_library, higher
from ep.cuda.compile.numba_cuda import device_function, next_index
from ep.cuda.engine.reduce.merge import merger
from ep.cuda.engine.reduce.row_plan import sums_are_scaled
from ep.cuda.engine.reduce.row_slots import Functions, ThreadTile, added, highest_in, kept, reader, writer
from ep.include.data_type import DataType


class RowFunction(NamedTuple):
    """The computation of a row, by functions that the engine compiles. `e`: a tuple of an element of each operand.

    from_maximum: whether `top` is the largest element of the row, of the one operand; else it is 0.
    keep: (e, top) -> the value that is kept in its place; None if it is kept itself. term: (kept e, top) -> the term of
    the sum. scale: (sum, its rounding error) -> a number for the row. result: (kept e, top, number) -> an element.
    largest_is_one: whether the term of the largest element must be exactly 1.
    """

    name: str
    num_operands: int
    from_maximum: bool
    keep: Callable[..., Any] | None
    term: Callable[..., Any]
    scale: Callable[..., Any]
    result: Callable[..., Any]
    largest_is_one: bool = False


@cache
def row_sums(data_type: DataType) -> States:
    """Return the sums of terms: in float64, with their rounding errors for float64 data."""
    return states(SUM, cuda_math_library(np.float64), compensated=data_type is DataType.kDouble)


_UNDER_WAY: Final = 2 * PACK_BYTES
"""Bytes of a row that a thread loads at a time, unless that takes more than two packs and more than four elements."""


def thread_tile(
    function: RowFunction, data_type: DataType, elements: int, aligned: bool, row_threads: int, slots: int = 0
) -> ThreadTile:
    """Return the tile of a thread; slots: 0 for as many as a row in memory is read by."""
    slot_bytes = function.num_operands * elements * data_type.itemsize
    slots = slots or min(max(_UNDER_WAY // slot_bytes, 1), max(4 // elements, 2))
    return ThreadTile(function.num_operands, data_type, elements, aligned, row_threads, slots)


def functions_of(function: RowFunction, tile: ThreadTile) -> Functions:
    """Return the functions of a kernel whose threads take such tiles."""
    data_type, row_threads = tile.data_type, tile.row_threads
    scalar_type = storage_arithmetic(data_type)
    block_threads = max(row_threads, BLOCK_THREADS)
    sums = row_sums(data_type)

    larger = higher(scalar_type)
    larger_state = device_function(lambda a, b: (larger(a[0], b[0]),))  # NaN comes to all of a row by its sum

    def merged(merge: Any, num_parts: int, of: ScalarType) -> Any:
        return merger(merge, num_parts, of, row_threads, to_all=True, block_threads=block_threads)

    fill = scalar_type(-np.inf if function.from_maximum else 0)
    return Functions(
        step=row_threads * tile.slots,
        read=reader(tile, fill),
        fill=fill,
        highest=highest_in(tile),
        keep=kept(tile, function.keep),
        add=added(tile, sums.add, device_function(function.term)),
        write=writer(tile, device_function(function.result)),
        scale=device_function(function.scale),
        sums=sums,
        highest_of_row=merged(larger_state, 1, scalar_type),
        sum_of_row=merged(sums.merge, sums.num_parts, np.float64),
        lowest=scalar_type(np.finfo(scalar_type).min if function.from_maximum else 0),
    )


def maximum_and_sum(function: RowFunction, data_type: DataType, functions: Functions) -> Any:
    """(begins, i, end, thread) -> the maximum of the block's packs, and the sum of the thread's below it.

    Those of the thread are the ones of its tiles from slot i on.
    """
    if function.from_maximum and sums_are_scaled(data_type):
        return _at_once(functions, 0 if function.largest_is_one else _ABOVE)
    below = sum_below(functions)
    if not function.from_maximum:
        lowest = functions.lowest
        return device_function(lambda begins, i, end, thread: (lowest, below(begins, i, end, lowest)))
    highest, highest_of_row = maximum(functions), functions.highest_of_row

    def maximum_then_sum(begins: Words, i: int, end: int, thread: int) -> Any:
        top = highest_of_row((highest(begins, i, end),), thread)[0]
        return top, below(begins, i, end, top)

    return device_function(maximum_then_sum)


def maximum(functions: Functions) -> Any:
    """(begins, i, end) -> the maximum of the thread's packs."""
    read, highest, lowest, step = functions.read, functions.highest, functions.lowest, functions.step

    def highest_of_thread(begins: Words, i: int, end: int) -> Any:
        top = lowest
        while i < end:
            top = highest(top, read(begins, i, end))
            i = next_index(i, step)
        return top

    return device_function(highest_of_thread)


def sum_below(functions: Functions) -> Any:
    """(begins, i, end, top) -> the sum of the thread's packs; `top` is the maximum."""
    read, keep, add, empty, step = functions.read, functions.keep, functions.add, functions.sums.empty, functions.step

    def sum_of_thread(begins: Words, i: int, end: int, top: Any) -> Any:
        state = empty()
        while i < end:
            state = add(state, keep(read(begins, i, end), i, end, top), i, end, top)
            i = next_index(i, step)
        return state

    return device_function(sum_of_thread)


def scaled() -> Any:
    """(state, top, new top) -> the sum below a larger maximum, scaled in float64."""
    exp = cuda_math_library(np.float64).exp
    return device_function(lambda state, top, new_top: (state[0] * exp(np.float64(top) - np.float64(new_top)),))


_ABOVE: Final = 8
"""By how much a maximum may exceed the number that a sum is below: few rows have more, and e^8 is not large."""


def _at_once(functions: Functions, most_above: int) -> Any:
    """Return the maximum and the sum, with one read.

    A thread adds up what is below a maximum of what it read so far. Where the maximum exceeds that by more than
    `most_above`, its sum is scaled, which takes long, and the exponentials are of differences from the new one.
    """
    read, highest, keep, add = functions.read, functions.highest, functions.keep, functions.add
    empty, lowest, highest_of_row = functions.sums.empty, functions.lowest, functions.highest_of_row
    scale, step, above = scaled(), functions.step, type(lowest)(most_above)

    def maximum_with_sum(begins: Words, i: int, end: int, thread: int) -> Any:
        top, base, state = lowest, lowest, empty()
        while i < end:
            packs = read(begins, i, end)
            top = highest(top, packs)
            if top > base + above:
                state, base = scale(state, base, top), top
            state = add(state, keep(packs, i, end, base), i, end, base)
            i = next_index(i, step)
        row_top = highest_of_row((top,), thread)[0]
        return row_top, scale(state, base, row_top)

    return device_function(maximum_with_sum)
