"""ConstantPad: kernels that write each unit of 1 to 16 bytes of dst once, from src or with the value, for all types."""

from __future__ import annotations

from functools import cache
from typing import Any

from ep.common.loops import unrolled, written_out
from ep.cuda.compile.compiler import KernelSource
from ep.cuda.compile.index_math import index_math
from ep.cuda.compile.launch_config import units_at_once
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
    data_type, elements = unit_type(unit)
    read, fill = _reader(num_axes, unit, bits), _filler(unit)
    store = storer(data_type, elements)
    if pack_units == 1:
        at_once = units_at_once(unit, pack_units)
        write_several = _several_writer(read, fill, store, at_once)

        def pad(src, dst, packs, count, even, odd, words):
            i, step = thread_index(), num_threads()
            while i + (at_once - 1) * step < count:
                write_several(src, dst, i, step, even, odd, words)
                i = next_index(i, at_once * step)
            while i < count:
                store(dst, i, read(src, i, fill(i, even, odd), words))
                i = next_index(i, step)

    else:
        write = _pack_writer(num_axes, unit, pack_units, bits)

        def pad(src, dst, packs, count, even, odd, words):
            first, step = thread_index(), num_threads()
            i = first
            while i < packs:
                write(src, dst, i, even, odd, words)
                i = next_index(i, step)
            i = packs * pack_units + first
            while i < count:
                store(dst, i, read(src, i, fill(i, even, odd), words))
                i = next_index(i, step)

    return KernelSource(f"pad.{num_axes}.{unit}.{pack_units}.{bits}", pad, 6, num_box_words(num_axes))


def _several_writer(read: Any, fill: Any, store: Any, count: int) -> Any:
    """write(src, dst, i, step, even, odd, words): `count` units, `step` apart from unit i on."""

    @written_out(device_function)
    def write(src, dst, i, step, even, odd, words):
        units = tuple(read(src, i + k * step, fill(i + k * step, even, odd), words) for k in unrolled(range(count)))
        for k in unrolled(range(count)):
            store(dst, i + k * step, units[k])

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
def _reader(num_axes: int, unit: int, bits: int) -> Any:
    """read(src, n, value, words): the unit of src that becomes unit `n` of dst, `value` if there is none."""
    load, locate = loader(*unit_type(unit)), _locate(num_axes, bits)
    math = index_math(bits)
    narrow, widen = math.narrow, math.widen

    def read(src, n, value, words):
        offset, inside = locate(narrow(n), narrow(0), True, words)
        return load(src, widen(offset)) if inside else value

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
def _pack_writer(num_axes: int, unit: int, pack_units: int, bits: int) -> Any:
    """write(src, dst, i, even, odd, words): pack `i` of dst; one division for the whole pack if it is in one row."""
    data_type, elements = unit_type(unit)
    narrow, quotient, _, remainder, minus, is_below, _ = index_math(bits)
    store, store_one = storer(data_type, elements * pack_units), storer(data_type, elements)
    read, fill, read_row = _reader(num_axes, unit, bits), _filler(unit), _row_reader(unit, pack_units, bits)
    if num_axes == 1:

        def write_row(src, dst, i, even, odd, words):
            begin, size = minus(narrow(i * pack_units), narrow(words[1])), narrow(words[2])
            store(dst, i, read_row(src, begin, size, narrow(0), True, fill(0, even, odd), fill(1, even, odd)))

        return device_function(write_row)
    locate_row = _locate(num_axes - 1, bits)
    to_last = -(pack_units - 1)

    def write(src, dst, i, even, odd, words):
        first, columns = i * pack_units, narrow(words[3])
        row = quotient(narrow(first), narrow(words[4]), narrow(words[5]))
        column = remainder(narrow(first), row, columns)
        if is_below(minus(column, narrow(to_last)), columns):
            offset, inside = locate_row(row, narrow(0), True, words[_OF_AXIS:])
            begin, size = minus(column, narrow(words[1])), narrow(words[2])
            store(dst, i, read_row(src, begin, size, offset, inside, fill(0, even, odd), fill(1, even, odd)))
        else:
            for n in range(first, first + pack_units):
                store_one(dst, n, read(src, n, fill(n, even, odd), words))

    return device_function(write)


@cache
def _row_reader(unit: int, count: int, bits: int) -> Any:
    """read(src, begin, size, offset, inside, even, odd): units [begin, begin + count) of a row of the box, as one pack.

    The row has `size` units from `offset` on, none if it is not `inside`; missing units are the value.
    """
    load = loader(*unit_type(unit))
    narrow, _, multiply_add, _, minus, is_below, widen = index_math(bits)

    @device_function
    def unit_at(src, place, size, offset, inside, value):
        return load(src, widen(multiply_add(place, narrow(1), offset))) if inside & is_below(place, size) else value

    @written_out(device_function)
    def read(src, begin, size, offset, inside, even, odd):
        return sum(
            (
                unit_at(src, minus(begin, narrow(-k)), size, offset, inside, odd if k % 2 else even)
                for k in unrolled(range(count))
            ),
            (),
        )

    return read
