"""ArgSort of several places: each line's keys are sorted by their digits, together with their places.

An element is a word while it is sorted: 32 bits of its key above, its place below. Keys of 64 bits are sorted by their
lower half, then by the upper one. If few places are wanted, elements that cannot be among them are left out; very few
are found by insertion.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Final

import numpy as np

from ep.common.functor.math_library import Scalar
from ep.common.native.fields import Int64, address, pointer, word
from ep.common.native.record import Record
from ep.cpu.compile.compiler import compile_task
from ep.cpu.compile.jit import jit, separate
from ep.cpu.compile.memory import allocate, release, set_bytes, storer
from ep.cpu.engine.reduce.sort_plan import INSERTED, SortLoops
from ep.cpu.kernels.sort_keys import key_numbers, key_reader, least_key
from ep.cpu.threads.scratch import give_back, take, thread_memory
from ep.include.data_type import DataType


class SortContext(Record):
    """The context of the task, which the launcher of ArgSort writes; the task sets `lacks_memory`."""

    x = address()
    places = address()
    plan = pointer(SortLoops)
    lacks_memory = word()


_DIGIT_BITS: Final = 8
_DIGITS: Final = 1 << _DIGIT_BITS
_COUNTER_BYTES: Final = 8 * _DIGITS
_BLOCK: Final = 256  # elements of a line of which the least key is found first
_PLACE_BITS: Final = 2**32 - 1


@cache
def sort_task(bits: DataType, is_float: bool) -> int:
    """Return the address of the task (context, begin, end) over lines."""
    num_digits, is_wide = min(bits.itemsize, 4), bits.itemsize == 8
    key_of, keys_of, sort_words = key_reader(bits, is_float), key_numbers(bits), _sorter(num_digits)
    store_place, least_of = storer(DataType.kInt64), least_key(bits, is_float)

    @separate
    def insert_row(
        x: int, at: int, step: int, size: int, wanted: int, keys: Int64, places: Int64, turn: Scalar, infinity: Scalar,
        nan: Scalar,
    ) -> None:  # fmt: skip
        """Insert elements in the list of the first ones: their keys and their places."""
        filled, last = 0, wanted - 1
        for begin in range(0, size, _BLOCK):
            some = min(_BLOCK, size - begin)
            if filled == wanted and least_of(x, at + begin * step, step, some, turn, infinity, nan) >= keys[last]:
                continue
            for n in range(begin, begin + some):
                key, j = np.int64(key_of(x, at + n * step, turn, infinity, nan)), filled
                if filled < wanted:
                    filled += 1
                elif key < keys[last]:
                    j = last
                else:
                    continue
                while j > 0 and keys[j - 1] > key:
                    keys[j] = keys[j - 1]
                    places[j] = places[j - 1]
                    j -= 1
                keys[j] = key
                places[j] = n

    @jit
    def part_of_wide(key: Scalar, is_lower: int) -> Scalar:
        """Return the lower half of a key as a signed number with the same order, or the upper half."""
        return (key & _PLACE_BITS) - 2**31 if is_lower != 0 else key >> 32

    @jit
    def whole_key(key: Scalar, is_lower: int) -> Scalar:
        return key

    part_of = part_of_wide if is_wide else whole_key

    @separate
    def put_keys(
        words: Int64, x: int, at: int, step: int, count: int, is_lower: int, turn: Scalar, infinity: Scalar, nan: Scalar
    ) -> None:
        """Put 32 bits of the key above each place."""
        for i in range(count):
            place = words[i] & _PLACE_BITS
            key = key_of(x, at + place * step, turn, infinity, nan)
            words[i] = part_of(key, is_lower) << 32 | place

    @separate
    def sort_places(
        words: Int64, other: Int64, x: int, at: int, step: int, count: int, turn: Scalar, infinity: Scalar, nan: Scalar
    ) -> Int64:
        """Sort places by their keys; return the address of the sorted ones."""
        if is_wide:
            put_keys(words, x, at, step, count, 1, turn, infinity, nan)
            sorted_words = sort_words(words, other, count)
            words, other = sorted_words, Int64.at(words + other - sorted_words)
        put_keys(words, x, at, step, count, 0, turn, infinity, nan)
        return sort_words(words, other, count)

    @separate
    def select(
        words: Int64, other: Int64, x: int, at: int, step: int, size: int, wanted: int, kept: int, turn: Scalar,
        infinity: Scalar, nan: Scalar,
    ) -> Int64:  # fmt: skip
        """Sort the first places; return the address of the sorted ones."""
        count, is_bounded, bound = 0, False, key_of(x, at, turn, infinity, nan)
        for begin in range(0, size, _BLOCK):
            some = min(_BLOCK, size - begin)
            if is_bounded and least_of(x, at + begin * step, step, some, turn, infinity, nan) >= bound:
                continue
            for n in range(begin, begin + some):
                if is_bounded and key_of(x, at + n * step, turn, infinity, nan) >= bound:
                    continue
                words[count] = n
                count += 1
                if count == kept:
                    sorted_words = sort_places(words, other, x, at, step, count, turn, infinity, nan)
                    words, other, count = sorted_words, Int64.at(words + other - sorted_words), wanted
                    last = words[wanted - 1] & _PLACE_BITS
                    is_bounded, bound = True, key_of(x, at + last * step, turn, infinity, nan)
        return sort_places(words, other, x, at, step, count, turn, infinity, nan)

    @separate
    def sort_rows(context: SortContext, begin: int, end: int) -> None:
        x, places, plan = context.x, context.places, context.plan
        size, inner = plan.size, plan.inner
        wanted, kept = plan.num_places, plan.kept
        turn, infinity, nan = keys_of(plan)
        memory = Int64.at(allocate(16 * kept))
        if memory == 0:
            context.lacks_memory = 1
            return
        for line in range(begin, end):
            at, to = line // inner * size * inner + line % inner, line // inner * wanted * inner + line % inner
            other = Int64.at(memory + 8 * kept)
            if kept == size:
                for n in range(size):
                    memory[n] = n
                words = sort_places(memory, other, x, at, inner, size, turn, infinity, nan)
            else:
                words = select(memory, other, x, at, inner, size, wanted, kept, turn, infinity, nan)
            for n in range(wanted):
                store_place(places, to + n * inner, words[n] & _PLACE_BITS)
        release(memory)

    def sort(context: SortContext, begin: int, end: int) -> None:
        x, places, plan = context.x, context.places, context.plan
        size, inner = plan.size, plan.inner
        wanted = plan.num_places
        if plan.kept != 0:
            sort_rows(context, begin, end)
            return
        turn, infinity, nan = keys_of(plan)
        block = thread_memory()
        keys = Int64.at(take(block, 16 * INSERTED))
        found = Int64.at(keys + 8 * INSERTED)
        for line in range(begin, end):
            at, to = line // inner * size * inner + line % inner, line // inner * wanted * inner + line % inner
            insert_row(x, at, inner, size, wanted, keys, found, turn, infinity, nan)
            for n in range(wanted):
                store_place(places, to + n * inner, found[n])
        give_back(block, keys)

    return compile_task(f"row_sort.{bits.name}.{is_float:d}", sort)


@cache
def _sorter(num_digits: int) -> Callable[[Int64, Int64, int], Int64]:
    """Return sort(words, other, count): it sorts words by as many bytes above bit 32, stably.

    It returns the address of the sorted words, which is one of the two.
    """
    last = num_digits - 1

    @jit
    def digit_of(word: int, digit: int) -> int:
        """Return a digit; the highest one is signed."""
        found = (word >> (32 + _DIGIT_BITS * digit)) & (_DIGITS - 1)
        return found ^ (_DIGITS // 2) if digit == last else found

    @separate
    def count_digits(words: Int64, count: int, counters: Int64) -> None:
        set_bytes(counters, num_digits * _COUNTER_BYTES, 0)
        for i in range(count):
            word = words[i]
            for digit in range(num_digits):
                counter = digit * _DIGITS + digit_of(word, digit)
                counters[counter] = counters[counter] + 1

    @separate
    def move(words: Int64, other: Int64, count: int, counters: Int64, digit: int) -> bool:
        """Move words to their places by a digit, and return whether they are there: not if all have the same."""
        if counters[digit_of(words[0], digit)] == count:
            return False
        before = 0
        for d in range(_DIGITS):
            number = counters[d]
            counters[d] = before
            before += number
        for i in range(count):
            word = words[i]
            d = digit_of(word, digit)
            place = counters[d]
            other[place] = word
            counters[d] = place + 1
        return True

    @separate
    def sort_words(words: Int64, other: Int64, count: int) -> Int64:
        block = thread_memory()
        counters = Int64.at(take(block, num_digits * _COUNTER_BYTES))
        count_digits(words, count, counters)
        for digit in range(num_digits):
            if move(words, other, count, Int64.at(counters + digit * _COUNTER_BYTES), digit):
                words, other = other, words
        give_back(block, counters)
        return words

    return sort_words
