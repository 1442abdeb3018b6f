"""Expand: kernels that move units of 1 to 16 bytes, for all data types."""

from __future__ import annotations

from functools import cache
from typing import Any

from ep.cuda.kernels.compiler import Kernel
from ep.cuda.kernels.memory import loader, storer, unit_type
from ep.cuda.kernels.numba_cuda import device_function, next_index, num_threads, thread_index
from ep.cuda.kernels.walk import walk
from ep.cuda.plan import num_walk_words


def kernel(num_axes: int, unit: int, pack_units: int, bits: int) -> Kernel:
    """The kernel of a walk over `num_axes` axes, in units of `unit` bytes.

    pack_units: how many units a thread writes at once, 0 where dst is not written in the order of the walk.
    """
    return _packs(num_axes, unit, pack_units, bits) if pack_units else _strided(num_axes, unit, bits)


@cache
def _packs(num_axes: int, unit: int, pack_units: int, bits: int) -> Kernel:
    """(src, dst, packs, count, words): unit n of dst is the one of src at the walk's offset of n, for n < count."""
    data_type, elements = unit_type(unit)
    read, read_one = _reader(num_axes, unit, pack_units, bits), _reader(num_axes, unit, 1, bits)
    store, store_one = storer(data_type, elements * pack_units), storer(data_type, elements)

    def expand(src, dst, packs, count, words):
        first, step = thread_index(), num_threads()
        i = first
        while pack_units == 1 and i + step < packs:  # two at a time under way
            a, b = read(src, i, words), read(src, i + step, words)
            store(dst, i, a)
            store(dst, i + step, b)
            i = next_index(i, 2 * step)
        while i < packs:
            store(dst, i, read(src, i * pack_units, words))
            i = next_index(i, step)
        i = packs * pack_units + first
        while i < count:
            store_one(dst, i, read_one(src, i, words))
            i = next_index(i, step)

    return Kernel(f"expand.{num_axes}.{unit}.{pack_units}.{bits}", expand, 4, num_walk_words(num_axes, 2))


@cache
def _reader(num_axes: int, unit: int, pack_units: int, bits: int) -> Any:
    """read(src, first, words): the units of src that become units [first, first + pack_units) of dst, as one pack."""
    if pack_units == 1:
        load, offsets = loader(*unit_type(unit)), walk(num_axes, 2, bits)

        def one(src, first, words):
            return load(src, offsets(first, words)[0])

        return device_function(one)
    half = pack_units // 2
    rest = _reader(num_axes, unit, half, bits)

    def both(src, first, words):
        return rest(src, first, words) + rest(src, first + half, words)

    return device_function(both)


@cache
def _strided(num_axes: int, unit: int, bits: int) -> Kernel:
    """(src, dst, count, words): unit n of the walk is read at one of its offsets and written at the other."""
    load, store, offsets = loader(*unit_type(unit)), storer(*unit_type(unit)), walk(num_axes, 2, bits)

    def expand_strided(src, dst, count, words):
        i, step = thread_index(), num_threads()
        while i + step < count:
            from0, to0 = offsets(i, words)
            from1, to1 = offsets(i + step, words)
            unit0, unit1 = load(src, from0), load(src, from1)
            store(dst, to0, unit0)
            store(dst, to1, unit1)
            i = next_index(i, 2 * step)
        if i < count:
            place, to = offsets(i, words)
            store(dst, to, load(src, place))

    return Kernel(f"expand_strided.{num_axes}.{unit}.{bits}", expand_strided, 3, num_walk_words(num_axes, 2))
