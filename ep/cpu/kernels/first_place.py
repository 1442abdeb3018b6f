"""ArgSort of one place: the first of the least keys of rows, or of many adjacent columns at a time.

A few long lines are cut into parts. The least key of each part and its place are found, then the first of the least.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Final

from ep.common.functor.math_library import Scalar
from ep.common.native.fields import Int64, address, pointer, word
from ep.common.native.record import Record
from ep.cpu.compile.compiler import compile_task
from ep.cpu.compile.jit import separate
from ep.cpu.compile.memory import loader, storer
from ep.cpu.engine.reduce.sort_plan import COLUMNS, SortLoops
from ep.cpu.kernels.sort_keys import key_numbers, key_reader, least_key
from ep.cpu.threads.scratch import give_back, take, thread_memory
from ep.include.data_type import DataType


class FindContext(Record):
    """The context of the search, which the launcher of ArgSort writes."""

    x = address()
    places = address()
    plan = pointer(SortLoops)
    found = pointer(Int64)  # the least keys of parts, then their places; 0 if there is one part
    merges = word()  # whether they are complete


_BLOCK: Final = 1024  # elements of a row whose least key is found before its place
_SHORT: Final = 32  # elements of a row whose places are compared with their keys
_ROWS: Final = 8  # fewer columns are searched one after the other


@cache
def find_task(bits: DataType, is_float: bool) -> int:
    """Return the address of the task (context, begin, end) over parts of blocks of columns, or over all places
    that parts are merged to."""
    find_in_row, find_in_columns, keys_of = _row(bits, is_float), _columns(bits, is_float), key_numbers(bits)
    load, load_place, store_place = loader(bits), loader(DataType.kInt64), storer(DataType.kInt64)
    key_bytes, memory_bytes = COLUMNS * bits.itemsize, COLUMNS * (bits.itemsize + 8)
    begin_columns, key_of = _first_columns(bits, is_float), key_reader(bits, is_float)

    @separate
    def merge(plan: SortLoops, places: int, found: Int64, begin: int, end: int) -> None:
        """Write the first place of the least key of all parts."""
        inner, parts = plan.inner, plan.parts
        number = plan.outer * parts * inner
        for unit in range(begin, end):
            at = unit // inner * parts * inner + unit % inner
            best, place = found[at], found[number + at]
            for part in range(1, parts):
                key = found[at + part * inner]
                if key < best:
                    best, place = key, found[number + at + part * inner]
            store_place(places, unit, place)

    @separate
    def put(places: int, found: Int64, number: int, to: int, place: int, key: Scalar) -> None:
        """Write a result, or what is found in a part."""
        if found == 0:
            store_place(places, to, place)
        else:
            found[to] = key
            found[number + to] = place

    def find(context: FindContext, begin: int, end: int) -> None:
        x, places, plan, found = context.x, context.places, context.plan, context.found
        if context.merges != 0:
            merge(plan, places, found, begin, end)
            return
        size, inner = plan.size, plan.inner
        columns, blocks, part, parts = plan.columns, plan.blocks, plan.part, plan.parts
        number, is_whole = plan.outer * parts * inner, blocks * parts == 1
        turn, infinity, nan = keys_of(plan)
        block = thread_memory()
        keys = take(block, memory_bytes)
        kept = keys + key_bytes
        for unit in range(begin, end):
            column, of_parts, line, first = 0, unit, unit, 0
            if not is_whole:
                column, of_parts = unit % blocks * columns, unit // blocks
                line, first = of_parts // parts, of_parts % parts * part
            width, count = min(columns, inner - column), min(part, size - first)
            at, to = (line * size + first) * inner + column, of_parts * inner + column
            if width < _ROWS:
                for j in range(width):
                    place = find_in_row(x, at + j, inner, count, turn, infinity, nan)
                    key = key_of(x, at + j + place * inner, turn, infinity, nan)
                    put(places, found, number, to + j, first + place, key)
                continue
            begin_columns(x, at, width, first, keys, kept, turn, infinity, nan)
            for n in range(1, count):
                find_in_columns(x, at + n * inner, width, first + n, keys, kept, turn, infinity, nan)
            for j in range(width):
                put(places, found, number, to + j, load_place(kept, j), load(keys, j))
        give_back(block, keys)

    return compile_task(f"first_place.{bits.name}.{is_float:d}", find)


def _row(bits: DataType, is_float: bool) -> Any:
    """Return a function that returns the first place of the least key of a row."""
    key_of, least_of = key_reader(bits, is_float), least_key(bits, is_float)

    @separate
    def find_in_row(x: int, at: int, step: int, count: int, turn: Scalar, infinity: Scalar, nan: Scalar) -> Scalar:
        best, place = key_of(x, at, turn, infinity, nan), 0
        if count <= _SHORT:
            for n in range(1, count):
                key = key_of(x, at + n * step, turn, infinity, nan)
                if key < best:
                    best, place = key, n
            return place
        for begin in range(0, count, _BLOCK):
            least = least_of(x, at + begin * step, step, min(_BLOCK, count - begin), turn, infinity, nan)
            if least < best:
                best, place = least, begin
        while key_of(x, at + place * step, turn, infinity, nan) != best:
            place += 1
        return place

    return find_in_row


def _first_columns(bits: DataType, is_float: bool) -> Any:
    """Return a function that writes the keys of adjacent elements, all at the place `first`."""
    key_of, store, store_place = key_reader(bits, is_float), storer(bits), storer(DataType.kInt64)

    @separate
    def begin_columns(
        x: int, at: int, width: int, first: int, keys: int, places: int, turn: Scalar, infinity: Scalar, nan: Scalar
    ) -> None:
        for j in range(width):
            store(keys, j, key_of(x, at + j, turn, infinity, nan))
            store_place(places, j, first)

    return begin_columns


def _columns(bits: DataType, is_float: bool) -> Any:
    """Return a function that replaces the least keys of columns, and their places, where an element has a lower key."""
    key_of, store, store_place = key_reader(bits, is_float), storer(bits), storer(DataType.kInt64)
    load, load_place = loader(bits), loader(DataType.kInt64)

    @separate
    def find_in_columns(
        x: int, at: int, width: int, place: int, keys: int, places: int, turn: Scalar, infinity: Scalar, nan: Scalar
    ) -> None:
        for j in range(width):
            key, least, before = key_of(x, at + j, turn, infinity, nan), load(keys, j), load_place(places, j)
            store(keys, j, key if key < least else least)
            store_place(places, j, place if key < least else before)

    return find_in_columns
