"""The reads of an operand that may be broadcast: one way for each `Access`."""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

from ep.common.loops import unrolled, written_out
from ep.cuda.compile.arithmetic import storage_arithmetic
from ep.cuda.compile.memory import loader, value_reader
from ep.cuda.compile.numba_cuda import device_function
from ep.cuda.compile.walk import walk
from ep.cuda.engine.map.access import Access, Variant
from ep.include.data_type import DataType


class Operand(NamedTuple):
    """Functions that read an operand.

    prepare(word0, word1): the part that is the same for all elements, from the two words of the operand.
    pack(prepared, i, words): pack i, in the type of arithmetic; words: those of the walk.
    element(prepared, n, words): element n, as a pack of one.
    """

    prepare: Any
    pack: Any
    element: Any


def all_operands(data_types: tuple[DataType, ...], variant: Variant) -> Operand:
    """The functions that read all operands of a variant: `prepare` for all words, and a tuple of the values read."""
    elements, accesses, num_axes, bits, *_ = variant
    places, num_offsets = variant.offsets()
    operands = tuple(
        operand(access, data_type, elements, position, num_offsets, num_axes, bits)
        for access, data_type, position in zip(accesses, data_types, places[: len(accesses)], strict=True)
    )
    pack, element = _read_by(tuple(one.pack for one in operands)), _read_by(tuple(one.element for one in operands))
    return Operand(_prepared(tuple(one.prepare for one in operands)), pack, element)


# The readers of operands are compiled once for all functors of the same types.


@cache
def _prepared(preparations: tuple[Any, ...]) -> Any:
    """(words) -> the prepared part of each operand, from its two words."""

    @written_out(device_function)
    def prepared(words):
        return tuple(prepare(words[2 * k], words[2 * k + 1]) for k, prepare in unrolled(enumerate(preparations)))

    return prepared


@cache
def _read_by(readers: tuple[Any, ...]) -> Any:
    """(sources, n, walk words) -> the value of each reader for its source."""

    @written_out(device_function)
    def read_all(sources, n, words):
        return tuple(read(sources[k], n, words) for k, read in unrolled(enumerate(readers)))

    return read_all


_address = device_function(lambda address, word1: address)


@cache
def operand(
    access: Access, data_type: DataType, count: int, position: int, num_offsets: int, num_axes: int, bits: int
) -> Operand:
    """Return the functions for packs of `count` elements, at offset `position` of the walk's `num_offsets`."""
    if not access.follows_the_walk:
        return _without_walk(access, data_type, count)
    load, load_one, prepare = loader(data_type, count), loader(data_type, 1, aligned=False), _address
    offsets = walk(num_axes, num_offsets, bits)
    one = device_function(lambda address, n, words: load_one(address, offsets(n, words)[position]))
    if access is Access.PACK:
        return Operand(
            prepare, device_function(lambda address, i, words: load(address, offsets(i, words)[position])), one
        )
    if access is Access.SPREAD:
        spread = _spread(count)
        return Operand(prepare, device_function(lambda address, i, words: spread(one(address, i, words))), one)
    each = _each(one, count)
    return Operand(prepare, device_function(lambda address, i, words: each(address, i * count, words)), one)


@cache
def _without_walk(access: Access, data_type: DataType, count: int) -> Operand:
    """Return the functions of an operand whose reads do not depend on the walk."""
    load, load_one = loader(data_type, count), loader(data_type, 1, aligned=False)
    if access is Access.NUMBER:
        return _constant(value_reader(storage_arithmetic(data_type)), count)
    if access is Access.SINGLE:

        def first(address, word1):
            return load_one(address, 0)[0]

        return _constant(device_function(first), count)
    return Operand(
        _address,
        device_function(lambda address, i, words: load(address, i)),
        device_function(lambda address, n, words: load_one(address, n)),
    )


def _constant(read: Any, count: int) -> Operand:
    """Return an operand of one number for all elements."""
    spread = _spread(count)

    def prepare(word0, word1):
        return (read(word0, word1),)

    return Operand(
        device_function(prepare),
        device_function(lambda number, i, words: spread(number)),
        device_function(lambda number, n, words: number),
    )


@cache
def _spread(count: int) -> Any:
    """Return a pack of `count` times the one element of a pack."""

    @written_out(device_function)
    def spread(pack):
        return tuple(pack[0] for _ in unrolled(range(count)))

    return spread


def _each(one: Any, count: int) -> Any:
    """Return the pack of `count` elements from element `first` on, each read separately."""

    @written_out(device_function)
    def each(address, first, words):
        return tuple(one(address, first + k, words)[0] for k in unrolled(range(count)))

    return each
