"""ConstantPad: kernels that write each unit of 1 to 16 bytes of dst once, from src or with the value, for all types."""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

from ep.common.loops import unrolled, written_out
from ep.cuda.compile.byte_permute import join, load_any
from ep.cuda.compile.compiler import KernelSource
from ep.cuda.compile.index_math import index_math
from ep.cuda.compile.kernel_words import Words, num_box_words
from ep.cuda.compile.launch_config import LONG_ROW, WORD_BYTES, units_at_once
from ep.cuda.compile.memory import loader, storer, unit_type, value_reader
from ep.cuda.compile.numba_cuda import device_function, next_index, num_threads, thread_index

_OF_AXIS = 6  # the words of an axis that is not the outermost


class _Row(NamedTuple):
    """A row of the box: the place of a word in it, its size, and its offset in src."""

    begin: Any
    size: Any
    offset: Any


@cache
def kernel(num_axes: int, unit: int, pack_units: int, bits: int) -> KernelSource:
    """Return the kernel (src, dst, packs, count, even, odd, words) that writes units [0, count) of dst.

    src: the address of the copied box.
    pack_units: how many units a thread writes at once, in the first `packs` packs.
    even, odd: the value's bytes for units of even and of odd number; for units of 16 bytes its two halves.
    words: those of `region_words`.
    """
    read, store = _unit_reader(num_axes, unit, bits), storer(*unit_type(unit))
    at_once = units_at_once(unit, pack_units)
    if pack_units == 1:
        write_several = _several_writer(read, store, at_once)

        def pad(src: int, dst: int, packs: int, count: int, even: int, odd: int, words: Words) -> None:
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

        def pad(src: int, dst: int, packs: int, count: int, even: int, odd: int, words: Words) -> None:
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

    return KernelSource(f"pad.{num_axes}.{unit}.{pack_units}.{bits}", pad, (num_box_words(num_axes),))


def _several_writer(read: Any, store: Any, count: int) -> Any:
    """write(src, dst, i, step, even, odd, words): `count` units or words, `step` apart from number i on."""

    @written_out(device_function)
    def write(src: int, dst: int, i: int, step: int, even: int, odd: int, words: Words) -> None:
        several = tuple(read(src, i + k * step, even, odd, words) for k in unrolled(range(count)))
        for k in unrolled(range(count)):
            store(dst, i + k * step, several[k])

    return write


@cache
def _filler(unit: int) -> Any:
    """fill(n, even, odd): unit `n` of padding."""
    data_type, _ = unit_type(unit)
    scalar_type: Any = data_type.dtype.type
    value = value_reader(scalar_type)
    if unit == 16:
        return device_function(lambda n, even, odd: (value(even, 0), value(odd, 0)))
    return device_function(lambda n, even, odd: (value(odd if n & 1 else even, 0),))


@cache
def _unit_reader(num_axes: int, unit: int, bits: int) -> Any:
    """read(src, n, even, odd, words): unit `n` of dst, from src or of padding."""
    load, locate, fill = loader(*unit_type(unit)), _locate(num_axes, bits), _filler(unit)
    math = index_math(bits)
    narrow, widen = math.narrow, math.widen

    def read(src: int, n: int, even: int, odd: int, words: Words) -> Any:
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
    def along(place: int, offset: int, inside: bool, stride: int, begin: int, size: int) -> Any:
        place = minus(place, narrow(begin))
        here = inside & is_below(place, narrow(size))
        return multiply_add(place if here else narrow(0), narrow(stride), offset), here

    @written_out(device_function)
    def locate(n: int, offset: int, inside: bool, words: Words) -> Any:
        for axis in unrolled(range(0, outermost, _OF_AXIS)):
            stride, begin, size, dim, multiplier, shift = words[axis : axis + _OF_AXIS]
            row = quotient(n, narrow(multiplier), narrow(shift))
            place, n = remainder(n, row, narrow(dim)), row
            offset, inside = along(place, offset, inside, stride, begin, size)
        stride, begin, size = words[outermost : outermost + 3]
        return along(n, offset, inside, stride, begin, size)

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
    def byte_of_row(src: int, place: int, size: int, value: Any) -> Any:
        return load(src, widen(place))[0] if is_below(place, size) else value[0]

    @written_out(device_function)
    def read_row(src: int, begin: int, size: int, even: Any, odd: Any) -> Any:
        return join(
            *(
                byte_of_row(src, minus(begin, narrow(-k)), size, odd if k % 2 else even)
                for k in unrolled(range(WORD_BYTES))
            )
        )

    if num_axes == 1:

        def read_vector(src: int, i: int, even: int, odd: int, words: Words) -> Any:
            _, first, count = words
            begin, size = minus(narrow(WORD_BYTES * i), narrow(first)), narrow(count)
            if count > 10 and is_below(minus(begin, narrow(3)), minus(size, narrow(10))):
                return (load_any(src + widen(begin)),)
            return (read_row(src, begin, size, fill(0, even, odd), fill(1, even, odd)),)

        return device_function(read_vector)
    locate_row = _locate(num_axes - 1, bits)

    @device_function
    def byte_of_rows(src: int, k: int, row: _Row, next_row: _Row, value: Any) -> Any:
        place, next_place = minus(row.begin, narrow(-k)), minus(next_row.begin, narrow(-k))
        here = is_below(place, row.size)
        if here or is_below(next_place, next_row.size):
            offset, place = (row.offset, place) if here else (next_row.offset, next_place)
            return load(src, widen(multiply_add(place, narrow(1), offset)))[0]
        return value[0]

    @written_out(device_function)
    def read_rows(src: int, row: _Row, next_row: _Row, even: Any, odd: Any) -> Any:
        return join(*(byte_of_rows(src, k, row, next_row, odd if k % 2 else even) for k in unrolled(range(WORD_BYTES))))

    def read(src: int, i: int, even: int, odd: int, words: Words) -> Any:
        _, start, count, dim, multiplier, shift = words[:_OF_AXIS]
        outer, first, columns, size = words[_OF_AXIS:], narrow(WORD_BYTES * i), narrow(dim), narrow(count)
        row = quotient(first, narrow(multiplier), narrow(shift))
        begin = minus(remainder(first, row, columns), narrow(start))
        offset, inside = locate_row(row, narrow(0), True, outer)
        long_row = dim >= LONG_ROW and count > 10  # the same for all threads
        if long_row and inside and is_below(minus(begin, narrow(3)), minus(size, narrow(10))):
            return (load_any(src + widen(multiply_add(begin, narrow(1), offset))),)
        next_offset, next_inside = locate_row(minus(row, narrow(-1)), narrow(0), True, outer)
        size, next_size = size if inside else narrow(0), size if next_inside else narrow(0)
        next_begin = minus(begin, columns)
        values = fill(0, even, odd), fill(1, even, odd)
        here, there = _Row(begin, size, offset), _Row(next_begin, next_size, next_offset)
        return (read_rows(src, here, there, values[0], values[1]),)

    return device_function(read)
