"""Tiles of products of 8-bit integers with sums of 32 bits, whose instructions add several products to a sum.

With VNNI these are four products of bytes, one of which is unsigned and the other signed. Otherwise they are two
products of numbers of 16 bits, to which bytes are widened. Both are exact. Lanes of b have the elements of four rows,
or two, of a column: rows are interleaved in registers, where they are read or packed.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Final, NamedTuple

from ep.common.loops import unrolled
from ep.common.native.fields import AnyPointer, Int64
from ep.cpu.compile.jit import inlined, separate
from ep.cpu.compile.target import multiplies_quads
from ep.cpu.compile.vector import (
    add_pairs,
    add_quads,
    bitcast,
    convert,
    elements,
    lanes_below,
    load,
    shuffle,
    shuffle_several,
    store,
    vector,
)
from ep.cpu.compile.vectors import L2_CACHE
from ep.cpu.engine.product.packing import row_reader
from ep.cpu.engine.product.shape import lanes_of, num_registers
from ep.cpu.engine.product.types import Types
from ep.cpu.lines.fetch import constant_fetch
from ep.include.data_type import DataType

_SIGN: Final = 128
BYTES_AT_ONCE: Final = 4
"""The multiplications of bytes that take as long as one of float32."""
_SUMS_OF_REGISTERS: Final = {16: 12, 32: 24}
"""The vectors of sums of a tile, by the number of registers."""


class Group(NamedTuple):
    """How elements along k are multiplied together.

    size: their number, which is also that of the vectors of columns of a tile. unit: the type in which they are
    multiplied. lanes: of a vector of sums.
    """

    size: int
    unit: DataType
    lanes: int

    @property
    def columns(self) -> int:
        """The columns of a tile."""
        return self.size * self.lanes

    @property
    def rows(self) -> int:
        """The rows of a tile whose sums fill the registers."""
        return _SUMS_OF_REGISTERS[num_registers()] // self.size


@cache
def group() -> Group:
    """Return the groups of the target processor."""
    lanes = lanes_of(DataType.kUInt32)
    return Group(4, DataType.kUInt8, lanes) if multiplies_quads(lanes) else Group(2, DataType.kUInt16, lanes)


def shifts_b(types: Types) -> bool:
    """Return whether 128 is added to or subtracted from b, so that one operand of VNNI is signed, the other not."""
    return group().size == 4 and types.a is types.b


@cache
def rows_of_b(b: DataType, shifts: bool) -> Any:
    """Return a function (b, step, last, num_columns, into) that reads rows of b as vectors of groups.

    last: the number of the last row that is read; rows behind it are the last one again.
    """
    size, unit, lanes = group()
    columns = size * lanes
    Units, Elements, Sums = vector(unit, columns), elements(b), vector(DataType.kUInt32, lanes)
    interleave, row_of = _interleaver(size, columns), row_reader(b, columns)

    @inlined
    def read(address: int, step: int, last: int, num_columns: int, into: AnyPointer) -> None:
        rows, source = Units.array_on_stack(size), Elements.at(address)
        used, whole = lanes_below(num_columns, columns), num_columns >= columns
        for number in unrolled(range(size)):
            row = convert(Units, row_of(source[min(number, last) * step :], used, whole))
            rows[number] = row ^ _SIGN if shifts else row
        interleave(rows)
        for number in unrolled(range(size)):
            into[number] = bitcast(Sums, rows[number])

    return read


def _interleaver(size: int, columns: int) -> Any:
    """Return a function (rows) that interleaves rows, within parts of 16 bytes of the results.

    Of the four lanes of 32 bits in part p of vector v, lane i is column `4 * size * p + 4 * v + i`.
    """
    one, *others = [_interleaving(width, size, columns) for width in (1, 2)[: size // 2]]

    @inlined
    def interleave_two(rows: AnyPointer) -> None:
        x, y = rows[0], rows[1]
        rows[0], rows[1] = one[0](x, y), one[1](x, y)

    if not others:
        return interleave_two
    (other,) = others

    @inlined
    def interleave_four(rows: AnyPointer) -> None:
        a, b, c, d = rows[0], rows[1], rows[2], rows[3]
        lower, upper, lower_too, upper_too = one[0](a, b), one[1](a, b), one[0](c, d), one[1](c, d)
        rows[0], rows[1] = other[0](lower, lower_too), other[1](lower, lower_too)
        rows[2], rows[3] = other[0](upper, upper_too), other[1](upper, upper_too)

    return interleave_four


def _interleaving(width: int, size: int, columns: int) -> tuple[Any, Any]:
    """Return the functions (x, y) that interleave lower, and upper, halves of parts, `width` elements at a time."""
    part, found = 4 * size, []
    for begin in (0, part // 2):
        runs = [
            first + place + x * columns
            for first in range(begin, columns, part)
            for place in range(0, part // 2, width)
            for x in (0, 1)
        ]
        found.append(shuffle(*(run + number for run in runs for number in range(width))))
    return found[0], found[1]


def _place(column: int, size: int, lanes: int) -> int:
    """Return the lane that has a column, counted from the first vector of a tile's row on."""
    part, rest = divmod(column, 4 * size)
    return rest // 4 * lanes + 4 * part + rest % 4


@cache
def byte_tile(types: Types, rows: int, strips: int = 1, *, packed: bool = False) -> Any:
    """Return a function that adds products to the sums of a tile: up to `rows` rows, `strips` times a group's columns.

    Its arguments are (groups, depth, a, a_step, b, b_step, sums, sums_step, num_rows, num_columns, starts, later).
    groups: the groups along k. depth: the rows of b, of which the last group may lack some.
    a: units, a_step bytes from row to row, and zeros behind the last of k.
    b: rows of bytes, b_step elements from row to row; if `packed`, vectors of groups.
    sums: vectors in the order of groups, sums_step numbers from row to row.
    starts: the address of what the sums of each row begin with, if `shifts_b`, else of anything; 0 if sums are added to
        those that are there.
    later: the address of rows of b that later tiles read, which are prefetched into L2; it is not used if `packed`.
    """
    size, _, lanes = group()
    Sums, Numbers = vector(DataType.kUInt32, lanes), elements(DataType.kUInt32)
    shifts, b_is_signed = shifts_b(types), types.b is DataType.kInt8
    read, width, per_row = rows_of_b(types.b, shifts), size * lanes, size * strips
    b_is_second, in_quads = b_is_signed != shifts, size == 4
    Elements, fetch = elements(types.b), constant_fetch(1, L2_CACHE)

    @inlined
    def step(
        index: int, last: int, places: Int64, b: int, b_step: int, num_columns: int, later: int, totals: AnyPointer
    ) -> None:
        of_b, ahead = Sums.array_on_stack(size), Elements.at(later)[index * size * b_step :]
        from_b = Elements.at(b)[index * size * b_step :]
        for strip in unrolled(range(strips)):
            if packed:
                for place in unrolled(range(size)):
                    of_b[place] = load(Sums, b, (index * size + place) * lanes)
            else:
                for number in unrolled(range(size)):
                    fetch(ahead[number * b_step + strip * width :])
                used = num_columns if strips == 1 else width
                read(from_b[strip * width :], b_step, last, used, of_b)
            for row in unrolled(range(rows)):
                factor = Sums.splat(Numbers.at(places[row])[index])
                for place in unrolled(range(size)):
                    total = totals[row * per_row + strip * size + place]
                    if not in_quads:
                        total = add_pairs(factor, of_b[place], total)
                    elif b_is_second:
                        total = add_quads(factor, of_b[place], total)
                    else:
                        total = add_quads(of_b[place], factor, total)
                    totals[row * per_row + strip * size + place] = total

    @inlined
    def multiply_tile(
        groups: int, depth: int, a: int, a_step: int, b: int, b_step: int, sums: int, sums_step: int, num_rows: int,
        num_columns: int, starts: int, later: int,
    ) -> None:  # fmt: skip
        totals, places, index = Sums.array_on_stack(rows * per_row), Int64.array_on_stack(rows), 0
        for row in unrolled(range(rows)):
            first = min(row, num_rows - 1)
            places[row] = a + first * a_step
            if starts == 0:
                for place in unrolled(range(per_row)):
                    totals[row * per_row + place] = load(Sums, sums, first * sums_step + place * lanes)
            else:
                start = Sums.splat(Numbers.at(starts)[first]) if shifts else Sums.zero()
                for place in unrolled(range(per_row)):
                    totals[row * per_row + place] = start
        whole = groups if packed else min(groups, depth // size)
        while index < whole:
            step(index, size - 1, places, b, b_step, num_columns, later, totals)
            index += 1
        if index < groups:
            step(index, depth - 1 - index * size, places, b, b_step, num_columns, later, totals)
        for row in unrolled(range(rows)):
            if row and row >= num_rows:
                return
            for place in unrolled(range(per_row)):
                store(sums, row * sums_step + place * lanes, totals[row * per_row + place])

    return multiply_tile


@cache
def piece_packer(types: Types) -> Any:
    """Return a function (b, step, depth, columns, groups, dst, later) that packs groups of rows of b for a tile.

    later: the address of rows that are packed later, which are prefetched into L2.
    """
    size, _, lanes = group()
    Sums, Elements, fetch = vector(DataType.kUInt32, lanes), elements(types.b), constant_fetch(1, L2_CACHE)
    read = rows_of_b(types.b, shifts_b(types))

    @inlined
    def pack_group(b: int, step: int, last: int, columns: int, index: int, dst: int, later: int) -> None:
        packed, first = Sums.array_on_stack(size), index * size
        for number in unrolled(range(size)):
            fetch(Elements.at(later)[(first + number) * step :])
        read(Elements.at(b)[first * step :], step, last, columns, packed)
        for place in unrolled(range(size)):
            store(dst, (first + place) * lanes, packed[place])

    @separate
    def pack(b: int, step: int, depth: int, columns: int, groups: int, dst: int, later: int) -> None:
        index, whole = 0, min(groups, depth // size)
        while index < whole:
            pack_group(b, step, size - 1, columns, index, dst, later)
            index += 1
        if index < groups:
            pack_group(b, step, depth - 1 - index * size, columns, index, dst, later)

    return pack


@cache
def sums_writer() -> Any:
    """Return a function (sums, sums_step, rows, columns, c, c_step) that writes sums in the order of columns."""
    size, _, lanes = group()
    Sums, Numbers, width = vector(DataType.kUInt32, lanes), elements(DataType.kUInt32), size * lanes
    in_order = tuple(
        shuffle_several(size, *(_place(column, size, lanes) for column in range(place * lanes, (place + 1) * lanes)))
        for place in range(size)
    )

    @separate
    def write(sums: int, sums_step: int, rows: int, columns: int, c: int, c_step: int) -> None:
        totals = Sums.array_on_stack(size)
        for row in range(rows):
            for column in range(0, columns, width):
                source, to = row * sums_step + column, Numbers.at(c)[row * c_step + column :]
                for place in unrolled(range(size)):
                    totals[place] = load(Sums, sums, source + place * lanes)
                left = columns - column
                for place, put_in_order in unrolled(enumerate(in_order)):
                    total = put_in_order(*(totals[number] for number in unrolled(range(size))))
                    if left >= width:
                        store(to, place * lanes, total)
                    else:
                        store(to, place * lanes, total, lanes_below(left, lanes, place * lanes))

    return write
