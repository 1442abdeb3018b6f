"""The reads of an operand that may be broadcast: one way for each `Access`."""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

from ep.common.loops import unrolled, written_out
from ep.cuda.compile.arithmetic import storage_arithmetic
from ep.cuda.compile.index_range import place_in_range
from ep.cuda.compile.kernel_words import Words
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
    operands = [
        operand(access, data_type, elements, position, num_offsets, num_axes, bits)
        for access, data_type, position in zip(accesses, data_types, places[: len(accesses)], strict=True)
    ]
    for k in variant.chosen:
        is_by_packs = accesses[k] is not Access.EACH
        operands[k : k + 2] = _chosen_rows(operands[k], operands[k + 1], data_types[k], elements, is_by_packs)
    if variant.chosen:
        first = min(variant.chosen)
        operands[:first] = map(_without_next, operands[:first])
    read_by = _read_chosen if variant.chosen else _read_by
    pack, element = read_by(tuple(one.pack for one in operands)), read_by(tuple(one.element for one in operands))
    return Operand(_prepared(tuple(one.prepare for one in operands)), pack, element)


# The readers of operands are compiled once for all functors of the same types.


@cache
def _prepared(preparations: tuple[Any, ...]) -> Any:
    """(words) -> the prepared part of each operand, from its two words."""

    @written_out(device_function)
    def prepared(words: Words) -> Any:
        return tuple(prepare(words[2 * k], words[2 * k + 1]) for k, prepare in unrolled(enumerate(preparations)))

    return prepared


@cache
def _read_by(readers: tuple[Any, ...]) -> Any:
    """(sources, n, walk words) -> the value of each reader for its source."""

    @written_out(device_function)
    def read_all(sources: Any, n: int, words: Words) -> Any:
        return tuple(read(sources[k], n, words) for k, read in unrolled(enumerate(readers)))

    return read_all


@cache
def _read_chosen(readers: tuple[Any, ...]) -> Any:
    """(sources, n, walk words) -> the same; each reader also has the source after its own."""
    last = len(readers) - 1
    with_next = tuple((k, min(k + 1, last), read) for k, read in enumerate(readers))

    @written_out(device_function)
    def read_all(sources: Any, n: int, words: Words) -> Any:
        return tuple(read(sources[k], sources[after], n, words) for k, after, read in unrolled(with_next))

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

        def first(address: int, word1: int) -> Any:
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

    def prepare(word0: int, word1: int) -> Any:
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
    def spread(pack: Any) -> Any:
        return tuple(pack[0] for _ in unrolled(range(count)))

    return spread


def _each(one: Any, count: int) -> Any:
    """Return the pack of `count` elements from element `first` on, each read separately."""

    @written_out(device_function)
    def each(address: int, first: int, words: Words) -> Any:
        return tuple(one(address, first + k, words)[0] for k in unrolled(range(count)))

    return each


@cache
def _without_next(one: Operand) -> Operand:
    """Return an operand whose functions get the next one, too."""
    prepare, pack, element = one
    return Operand(
        prepare,
        device_function(lambda source, after, i, words: pack(source, i, words)),
        device_function(lambda source, after, n, words: element(source, n, words)),
    )


@cache
def _chosen_rows(
    row: Operand, index: Operand, data_type: DataType, count: int, by_packs: bool
) -> tuple[Operand, Operand]:
    """Return the operand of elements of chosen rows, which are 0 where an index is out of range, and that of the
    indices, whose own elements are all 0.

    row: reads an element of the first row. by_packs: whether a pack is in one row. The second words: of rows, the bytes
    from one to the next; of indices, the number of rows.
    """
    zero, place_of = storage_arithmetic(data_type)(0), place_in_range()
    prepare_index, read_index, read, read_one = index.prepare, index.element, row.pack, row.element
    read_pack_index, zeros = index.pack, _spread(count)

    @device_function
    def one(rows: Any, chosen: Any, n: int, words: Words) -> Any:
        place, valid = place_of(read_index(chosen[0], n, words)[0], 0, chosen[1])
        value = read_one(rows[0] + (place if valid else 0) * rows[1], n, words)[0]
        return (value if valid else zero,)

    @device_function
    def pack_of_row(rows: Any, chosen: Any, i: int, words: Words) -> Any:
        place, valid = place_of(read_pack_index(chosen[0], i, words)[0], 0, chosen[1])
        pack = read(rows[0] + (place if valid else 0) * rows[1], i, words)
        return pack if valid else zeros((zero,))

    @written_out(device_function)
    def each(rows: Any, chosen: Any, i: int, words: Words) -> Any:
        return tuple(one(rows, chosen, i * count + k, words)[0] for k in unrolled(range(count)))

    of_rows = Operand(
        device_function(lambda address, row_bytes: (address, row_bytes)), pack_of_row if by_packs else each, one
    )
    of_indices = Operand(
        device_function(lambda word0, num_rows: (prepare_index(word0, 0), num_rows)),
        device_function(lambda indices, after, i, words: zeros((0,))),
        device_function(lambda indices, after, n, words: (0,)),
    )
    return of_rows, of_indices
