"""ConstantPad: kernels that write each unit of 1 to 16 bytes of dst once, from src or with the value, for all types."""

from __future__ import annotations

from functools import cache
from typing import Any

from ep.common.loops import unrolled, written_out
from ep.cuda.compile.byte_words import join, load_any
from ep.cuda.compile.compiler import KernelSource
from ep.cuda.compile.index_math import index_math
from ep.cuda.compile.launch_config import LONG_ROW, WORD_BYTES, units_at_once
from ep.cuda.compile.memory import loader, storer, unit_type, value_reader
from ep.cuda.compile.numba_cuda import device_function, next_index, num_threads, thread_index
from ep.cuda.compile.walk_words import num_box_words

_OF_AXIS = 6  # the words of an axis that is not the outermost


@cache
def kernel(num_axes: int, unit: int, pack_units: int, bits: int) -> KernelSource:
    """Return the kernel (src, dst, packs, count, even, odd, words) that writes units [0, count) of dst.

    src: the address of the copied box.
    pack_units: how many units a thread writes at once, in the first `packs` packs.
    even, odd: the value's bytes for units of even and of odd number; for units of 16 bytes its two halves.
    words: those of `plan.region_words`.
    """
    read, store = _unit_reader(num_axes, unit, bits), storer(*unit_type(unit))
    at_once = units_at_once(unit, pack_units)
    if pack_units == 1:
        write_several = _several_writer(read, store, at_once)

        def pad(src, dst, packs, count, even, odd, words):
            i, step = thread_index(), num_threads()
            while i + (at_once - 1) * step < count:
                write_several(src, dst, i, step, even, odd, words)
                i = next_index(i, at_once * step)
            while i < count:
                store(dst, i, read(src, i, even, odd, words))
                i = next_index(i, step)

    else:
        read_word, store_word = _word_reader(num_axes, bits), storer(*unit_type(unit * pack_units))
        write_words = _several_writer(read_word, store_word, at_once)

        def pad(src, dst, packs, count, even, odd, words):
            first, step = thread_index(), num_threads()
            i = first
            while i + (at_once - 1) * step < packs:
                write_words(src, dst, i, step, even, odd, words)
                i = next_index(i, at_once * step)
            while i < packs:
                store_word(dst, i, read_word(src, i, even, odd, words))
                i = next_index(i, step)
            i = packs * pack_units + first
            while i < count:
                store(dst, i, read(src, i, even, odd, words))
                i = next_index(i, step)

    return KernelSource(f"pad.{num_axes}.{unit}.{pack_units}.{bits}", pad, 6, num_box_words(num_axes))


def _several_writer(read: Any, store: Any, count: int) -> Any:
    """write(src, dst, i, step, even, odd, words): `count` units or words, `step` apart from number i on."""

    @written_out(device_function)
    def write(src, dst, i, step, even, odd, words):
        several = tuple(read(src, i + k * step, even, odd, words) for k in unrolled(range(count)))
        for k in unrolled(range(count)):
            store(dst, i + k * step, several[k])

    return write


@cache
def _filler(unit: int) -> Any:
    """fill(n, even, odd): unit `n` of padding."""
    data_type, _ = unit_type(unit)
    value = value_reader(data_type.dtype.type)
    if unit == 16:
        return device_function(lambda n, even, odd: (value(even, 0), value(odd, 0)))
    return device_function(lambda n, even, odd: (value(odd if n & 1 else even, 0),))


@cache
def _unit_reader(num_axes: int, unit: int, bits: int) -> Any:
    """read(src, n, even, odd, words): unit `n` of dst, from src or of padding."""
    load, locate, fill = loader(*unit_type(unit)), _locate(num_axes, bits), _filler(unit)
    math = index_math(bits)
    narrow, widen = math.narrow, math.widen

    def read(src, n, even, odd, words):
        offset, inside = locate(narrow(n), narrow(0), True, words)
        return load(src, widen(offset)) if inside else fill(n, even, odd)

    return device_function(read)


@cache
def _locate(num_axes: int, bits: int) -> Any:
    """locate(n, offset, inside, words): `offset` plus the position of unit `n` of dst in the box, and whether it is
    inside."""
    narrow, quotient, multiply_add, remainder, minus, is_below, _ = index_math(bits)

    outermost = _OF_AXIS * (num_axes - 1)

    @device_function
    def along(place, offset, inside, stride, begin, size):
        place = minus(place, narrow(begin))
        here = inside & is_below(place, narrow(size))
        return multiply_add(place if here else narrow(0), narrow(stride), offset), here

    @written_out(device_function)
    def locate(n, offset, inside, words):
        for axis in unrolled(range(0, outermost, _OF_AXIS)):
            row = quotient(n, narrow(words[axis + 4]), narrow(words[axis + 5]))
            place, n = remainder(n, row, narrow(words[axis + 3])), row
            offset, inside = along(place, offset, inside, words[axis], words[axis + 1], words[axis + 2])
        return along(n, offset, inside, words[outermost], words[outermost + 1], words[outermost + 2])

    return locate


@cache
def _word_reader(num_axes: int, bits: int) -> Any:
    """read(src, i, even, odd, words): word `i` of dst, which is four bytes of one row or of two adjacent ones.

    `begin` and `next_begin` are the word's places in the rows of the box, from which a byte's place is below the size
    in at most one of them. A word with three bytes of the box before it and four after it is loaded as a whole.
    """
    load, fill = loader(*unit_type(1)), _filler(1)
    narrow, quotient, multiply_add, remainder, minus, is_below, widen = index_math(bits)

    @device_function
    def byte_of_row(src, place, size, value):
        return load(src, widen(place))[0] if is_below(place, size) else value[0]

    @written_out(device_function)
    def read_row(src, begin, size, even, odd):
        return join(
            *(
                byte_of_row(src, minus(begin, narrow(-k)), size, odd if k % 2 else even)
                for k in unrolled(range(WORD_BYTES))
            )
        )

    if num_axes == 1:

        def read_vector(src, i, even, odd, words):
            begin, size = minus(narrow(WORD_BYTES * i), narrow(words[1])), narrow(words[2])
            if words[2] > 10 and is_below(minus(begin, narrow(3)), minus(size, narrow(10))):
                return (load_any(src + widen(begin)),)
            return (read_row(src, begin, size, fill(0, even, odd), fill(1, even, odd)),)

        return device_function(read_vector)
    locate_row = _locate(num_axes - 1, bits)

    @device_function
    def byte_of_rows(src, place, size, offset, next_place, next_size, next_offset, value):
        here = is_below(place, size)
        if here or is_below(next_place, next_size):
            offset, place = (offset, place) if here else (next_offset, next_place)
            return load(src, widen(multiply_add(place, narrow(1), offset)))[0]
        return value[0]

    @written_out(device_function)
    def read_rows(src, begin, size, offset, next_begin, next_size, next_offset, even, odd):
        return join(
            *(
                byte_of_rows(
                    src,
                    minus(begin, narrow(-k)),
                    size,
                    offset,
                    minus(next_begin, narrow(-k)),
                    next_size,
                    next_offset,
                    odd if k % 2 else even,
                )
                for k in unrolled(range(WORD_BYTES))
            )
        )

    def read(src, i, even, odd, words):
        first, columns, size = narrow(WORD_BYTES * i), narrow(words[3]), narrow(words[2])
        row = quotient(first, narrow(words[4]), narrow(words[5]))
        begin = minus(remainder(first, row, columns), narrow(words[1]))
        offset, inside = locate_row(row, narrow(0), True, words[_OF_AXIS:])
        long_row = words[3] >= LONG_ROW and words[2] > 10  # the same for all threads
        if long_row and inside and is_below(minus(begin, narrow(3)), minus(size, narrow(10))):
            return (load_any(src + widen(multiply_add(begin, narrow(1), offset))),)
        next_offset, next_inside = locate_row(minus(row, narrow(-1)), narrow(0), True, words[_OF_AXIS:])
        size, next_size = size if inside else narrow(0), size if next_inside else narrow(0)
        next_begin = minus(begin, columns)
        values = fill(0, even, odd), fill(1, even, odd)
        return (read_rows(src, begin, size, offset, next_begin, next_size, next_offset, values[0], values[1]),)

    return device_function(read)
