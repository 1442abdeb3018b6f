"""OneHot: a kernel for each type of indices and size of elements, which writes out in one pass."""

from __future__ import annotations

from functools import cache
from typing import Any

from ep.common.loops import unrolled, written_out
from ep.cuda.compile.arithmetic import storage_arithmetic
from ep.cuda.compile.compiler import KernelSource
from ep.cuda.compile.index_math import index_math
from ep.cuda.compile.index_range import place_in_range
from ep.cuda.compile.memory import loader, storer, value_reader
from ep.cuda.compile.numba_cuda import device_function, next_index, num_threads, thread_index
from ep.cuda.engine.map.one_hot_plan import OneHotWords
from ep.include.data_type import DataType


@cache
def kernel(indices_type: DataType, unit: DataType, elements: int, in_rows: bool, bits: int) -> KernelSource:
    """Return the kernel that writes rows of `unit` elements, in packs of `elements`.

    in_rows: whether a row is a whole number of packs.
    """
    read_value, load_index, place_of = value_reader(storage_arithmetic(unit)), loader(indices_type, 1), place_in_range()
    store, store_one = storer(unit, elements), storer(unit, 1, aligned=False)
    narrow, quotient, _, remainder, *_, widen = index_math(bits)

    @device_function
    def distance(n: int, words: OneHotWords) -> Any:
        """Return the distance from element n of out to the element of its row's index.

        It is another number if there is no such element.
        """
        position = narrow(n)
        row = quotient(position, narrow(words.depth.multiplier), narrow(words.depth.shift))
        index = load_index(words.indices, widen(row))[0]
        place, valid = place_of(index, words.low, words.num_valid)
        column = widen(remainder(position, row, narrow(words.depth.value)))
        return place + words.first - column if valid else -1

    one = _parts(distance, 1)
    pack = _one_row(distance, elements) if in_rows else _parts(distance, elements)

    def one_hot(words: OneHotWords) -> None:
        out, packs, count = words.out, words.packs, words.num_elements
        on, off = read_value(words.on[0], words.on[1]), read_value(words.off[0], words.off[1])
        first, step = thread_index(), num_threads()
        i = first
        while i < packs:
            store(out, i, pack(i * elements, words, on, off))
            i = next_index(i, step)
        i = packs * elements + first
        while i < count:
            store_one(out, i, one(i, words, on, off))
            i = next_index(i, step)

    return KernelSource(f"one_hot.{indices_type.name}.{unit.name}.{elements}.{in_rows:d}.{bits}", one_hot, (2, 2))


def _one_row(distance: Any, count: int) -> Any:
    """(n, words, on, off) -> the pack of elements n, n + 1, ... of out, all of one row."""

    @written_out(device_function)
    def of_row(n: int, words: OneHotWords, on: Any, off: Any) -> Any:
        place = distance(n, words)
        return tuple(on if place == k else off for k in unrolled(range(count)))

    return of_row


def _parts(distance: Any, count: int) -> Any:
    """(n, words, on, off) -> the pack of elements n, n + 1, ... of out, each by the index of its row."""

    @written_out(device_function)
    def of_rows(n: int, words: OneHotWords, on: Any, off: Any) -> Any:
        return tuple(on if distance(n + k, words) == 0 else off for k in unrolled(range(count)))

    return of_rows
