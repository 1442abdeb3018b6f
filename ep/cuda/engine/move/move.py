"""Kernels that move data by a walk over its axes, in units of 1 to 16 bytes, for all data types."""

from __future__ import annotations

from functools import cache
from typing import Any

from ep.common.loops import unrolled, written_out
from ep.cuda.compile.byte_permute import join, load_any, repeat
from ep.cuda.compile.compiler import KernelSource
from ep.cuda.compile.form import Form, current_form, thread_range
from ep.cuda.compile.index_math import index_math
from ep.cuda.compile.kernel_words import Words, num_walk_words
from ep.cuda.compile.launch_config import LONG_ROW, PACK_BYTES, WORD_BYTES, units_at_once
from ep.cuda.compile.memory import loader, storer, unit_type
from ep.cuda.compile.numba_cuda import device_function, next_index
from ep.cuda.compile.walk import walk


def kernel(num_axes: int, unit: int, pack_units: int, bits: int) -> KernelSource:
    """Return the kernel of a walk over `num_axes` axes, in units of `unit` bytes.

    pack_units: the number of units that a thread writes at once, 0 if dst is not written in the order of the walk.
    """
    form = current_form()
    return _packs(num_axes, unit, pack_units, bits, form) if pack_units else _strided(num_axes, unit, bits, form)


@cache
def _packs(num_axes: int, unit: int, pack_units: int, bits: int, form: Form) -> KernelSource:
    """(src, dst, packs, count, words): unit n of dst is the one of src at the walk's offset of n, for n < count."""
    data_type, elements = unit_type(unit)
    read, read_one = _reader(num_axes, unit, pack_units, bits), _reader(num_axes, unit, 1, bits)
    store = storer(*unit_type(unit * pack_units), streams=form.streams)
    store_one = storer(data_type, elements, streams=form.streams)
    range_of = thread_range(form.one_pass)
    at_once = units_at_once(unit, pack_units)
    move_several = _mover(read, store, pack_units, at_once)

    def move(src: int, dst: int, packs: int, count: int, words: Words) -> None:
        i, step, end = range_of(packs)
        while i + (at_once - 1) * step < end:
            move_several(src, dst, i, step, words)
            i = next_index(i, at_once * step)
        while i < end:
            store(dst, i, read(src, i * pack_units, words))
            i = next_index(i, step)
        begin = packs * pack_units
        first, step, end = range_of(count - begin)
        i, end = begin + first, begin + end
        while i < end:
            store_one(dst, i, read_one(src, i, words))
            i = next_index(i, step)

    name, num_words = f"move.{num_axes}.{unit}.{pack_units}.{bits}{form.suffix}", num_walk_words(num_axes, 2)
    return KernelSource(name, move, (num_words,), items_per_thread=form.items_per_thread)


def _mover(read: Any, store: Any, pack_units: int, count: int) -> Any:
    """move(src, dst, i, step, words): `count` packs, `step` apart from pack i on, loaded at a time."""

    @written_out(device_function)
    def move(src: int, dst: int, i: int, step: int, words: Words) -> None:
        packs = tuple(read(src, (i + k * step) * pack_units, words) for k in unrolled(range(count)))
        for k in unrolled(range(count)):
            store(dst, i + k * step, packs[k])

    return move


@cache
def _reader(num_axes: int, unit: int, pack_units: int, bits: int) -> Any:
    """read(src, first, words): the units of src that become units [first, first + pack_units) of dst, as one pack.

    A pack of more than one unit is a word of four bytes, of one row or of two adjacent ones. Two walks find their
    places: `here` for the first byte, and `there`, from which the bytes of the second row are as far as they are from
    the first byte. The word of a row that has three bytes before it and four after it is loaded as a whole.
    """
    load, offsets = loader(*unit_type(unit)), walk(num_axes, 2, bits)
    if pack_units == 1:
        return device_function(lambda src, first, words: load(src, offsets(first, words)[0]))
    narrow, quotient, multiply_add, remainder, minus, is_below, widen = index_math(bits)

    @written_out(device_function)
    def read_row(src: int, place: int, stride: int) -> Any:
        return join(*(load(src, place + k * stride)[0] for k in unrolled(range(WORD_BYTES))))

    if num_axes == 1:
        return device_function(lambda src, first, words: (read_row(src, offsets(first, words)[0], words[0]),))
    begins = walk(num_axes - 1, 2, bits)

    repeated = repeat(bits)

    @device_function
    def read_equal(src: int, here: Any, there: Any, left: int) -> Any:
        byte = load(src, widen(here))[0]
        return repeated(byte, load(src, widen(there))[0] if is_below(left, narrow(4)) else byte, left)

    @written_out(device_function)
    def read_rows(src: int, here: Any, there: Any, left: int, stride: int) -> Any:
        return join(
            load(src, widen(here))[0],
            *(
                load(src, widen(multiply_add(narrow(k), stride, here if is_below(narrow(k), left) else there)))[0]
                for k in unrolled(range(1, WORD_BYTES))
            ),
        )

    def read(src: int, first: int, words: Words) -> Any:
        src_stride, _, size, multiplier, shift = words[:5]  # of the innermost axis
        outer, stride, columns = words[5:], narrow(src_stride), narrow(size)
        row = quotient(narrow(first), narrow(multiplier), narrow(shift))
        column = remainder(narrow(first), row, columns)
        left = minus(columns, column)
        here = multiply_add(column, stride, narrow(begins(widen(row), outer)[0]))
        there = remainder(narrow(begins(widen(minus(row, narrow(-1))), outer)[0]), left, stride)
        if src_stride == 0:
            return (read_equal(src, here, there, left),)
        long_row = src_stride == 1 and size >= LONG_ROW  # the same for all threads
        if long_row and is_below(narrow(2), column) and is_below(narrow(7), left):
            return (load_any(src + widen(here)),)
        return (read_rows(src, here, there, left, stride),)

    return device_function(read)


@cache
def _strided(num_axes: int, unit: int, bits: int, form: Form) -> KernelSource:
    """(src, dst, count, words): unit n of the walk is read at one of its offsets and written at the other."""
    at_once = min(max(PACK_BYTES // unit, 2), 8)  # small units take more of them to keep memory busy
    take, put = _taker(num_axes, unit, bits, at_once), _putter(unit, at_once, form.streams)
    take_one, put_one = _taker(num_axes, unit, bits, 1), _putter(unit, 1, form.streams)
    range_of = thread_range(form.one_pass)

    def move_strided(src: int, dst: int, count: int, words: Words) -> None:
        i, step, end = range_of(count)
        while i + (at_once - 1) * step < end:
            put(dst, take(src, i, step, words))
            i = next_index(i, at_once * step)
        while i < end:
            put_one(dst, take_one(src, i, step, words))
            i = next_index(i, step)

    name, num_words = f"move_strided.{num_axes}.{unit}.{bits}{form.suffix}", num_walk_words(num_axes, 2)
    return KernelSource(name, move_strided, (num_words,), items_per_thread=form.items_per_thread)


@cache
def _taker(num_axes: int, unit: int, bits: int, count: int) -> Any:
    """take(src, i, step, words): `count` units, `step` apart from unit i on, each as its place in dst and its value."""
    load, offsets = loader(*unit_type(unit)), walk(num_axes, 2, bits)

    @written_out(device_function)
    def take(src: int, i: int, step: int, words: Words) -> Any:
        places = tuple(offsets(i + k * step, words) for k in unrolled(range(count)))
        return tuple((places[k][1], load(src, places[k][0])) for k in unrolled(range(count)))

    return take


@cache
def _putter(unit: int, count: int, streams: bool) -> Any:
    """put(dst, taken): write `count` units to their positions."""
    store = storer(*unit_type(unit), streams=streams)

    @written_out(device_function)
    def put(dst: int, taken: Any) -> None:
        for k in unrolled(range(count)):
            store(dst, taken[k][0], taken[k][1])

    return put
