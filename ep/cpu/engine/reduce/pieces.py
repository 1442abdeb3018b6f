"""The fold of rows that are computed piece by piece: of a row, in the order of `row.py`, or of columns."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import zip_longest
from typing import Any, NamedTuple

from ep.common.native.emitted import emitted
from ep.cpu.compile.vectors import PIECE, WORD, joined, lanes_below, lanes_of, load, store, stored_bits, taken
from ep.cpu.engine.reduce.fold import fold_of
from ep.cpu.engine.reduce.row import rest_of_row
from ep.cpu.engine.reduce.vectors import Lanes, combined, folded, identity, widths_of
from ep.include.data_type import DataType


class PieceFolder(NamedTuple):
    """The functions that fold a row of at least `PIECE` elements. carried: the address of `PIECE` values.

    Columns are folded a piece at a time, one row after the other, between `begin_columns` and `end_columns`.
    """

    start: Any
    """start(carried): prepares for the first piece."""
    add: Any
    """add(carried, piece): folds the `PIECE` elements at `piece`."""
    put_in_order: Any
    """put_in_order(carried): call it after pieces whose elements with even places came before those with odd ones."""
    add_rest: Any
    """add_rest(carried, piece, count): folds what is left of `count` elements; piece: the last `PIECE` of them."""
    finish: Any
    """finish(out, carried): writes the value of the row."""
    begin_columns: Any
    """begin_columns(carried, sums): reads the sums of the columns of a piece."""
    end_columns: Any
    """end_columns(carried, sums): writes them."""
    begin_rest: Any
    """begin_rest(carried, sums, count): reads those of fewer columns."""
    end_rest: Any
    """end_rest(carried, sums, count): writes them."""


@cache
def piece_storer(width: int) -> Any:
    """Return a function store(address, piece) that writes the `width` elements of float32 at `piece` to an address."""

    @emitted()
    def store_piece(builder: Any, address: Any, piece: Any) -> None:
        store(builder, load(builder, piece, stored_bits(DataType.kFloat, width)), address)

    return store_piece


@cache
def piece_folder(of: Lanes, width: int = PIECE) -> PieceFolder:
    """Return the functions for sums in float64 of narrower numbers. A value has the same bits as by `row_folder`.

    width: the elements of a piece; less than `PIECE` for columns alone.
    """
    assert widths_of(of, of.parts)[0] == PIECE
    assert not of.chained

    def size_of(builder: Any) -> int:
        return fold_of(builder, of, by_lanes=False, computed=True).size_of(width)

    def kept(builder: Any, carried: Any, masks: Sequence[Any] = ()) -> list[Any]:
        size = size_of(builder)
        places = zip_longest(range(0, width, size), masks)
        return [load(builder, carried, of.vector(size), WORD(skip), mask) for skip, mask in places]

    def keep(builder: Any, carried: Any, values: Any, masks: Sequence[Any] = ()) -> None:
        for number, (value, mask) in enumerate(zip_longest(values, masks)):
            store(builder, value, carried, WORD(number * value.type.count), mask)

    @emitted()
    def start(builder: Any, carried: Any) -> None:
        size = size_of(builder)
        keep(builder, carried, [identity(of, of.vector(size))] * (width // size))

    @emitted()
    def add(builder: Any, carried: Any, piece: Any) -> None:
        fold = fold_of(builder, of, by_lanes=False, computed=True)
        keep(builder, carried, fold.more(tuple(kept(builder, carried)), fold.read(piece, WORD(0), width, None)))

    @emitted()
    def put_in_order(builder: Any, carried: Any) -> None:
        values = kept(builder, carried)
        value = joined(builder, values)
        value = taken(builder, [lane // 2 + lane % 2 * width // 2 for lane in range(width)], value)
        keep(
            builder,
            carried,
            [lanes_of(builder, value, skip, size_of(builder)) for skip in range(0, width, size_of(builder))],
        )

    @emitted()
    def add_rest(builder: Any, carried: Any, piece: Any, count: Any) -> None:
        rest = rest_of_row(builder, of, width, size_of(builder), piece, WORD(0), count, None)
        values = zip(kept(builder, carried), rest, strict=True)
        keep(builder, carried, [combined(builder, of, a, b) for a, b in values])

    @emitted()
    def finish(builder: Any, out: Any, carried: Any) -> None:
        store(builder, folded(builder, of, kept(builder, carried), of.parts), out)

    def masks(builder: Any, count: Any) -> list[Any]:
        """Return the masks, for each carried vector, of the lanes before `count`."""
        size = size_of(builder)
        return [lanes_below(builder, count, size, skip) for skip in range(0, width, size)]

    @emitted()
    def begin_columns(builder: Any, carried: Any, sums: Any) -> None:
        keep(builder, carried, kept(builder, sums))

    @emitted()
    def end_columns(builder: Any, carried: Any, sums: Any) -> None:
        keep(builder, sums, kept(builder, carried))

    @emitted()
    def begin_rest(builder: Any, carried: Any, sums: Any, count: Any) -> None:
        keep(builder, carried, kept(builder, sums, masks(builder, count)))

    @emitted()
    def end_rest(builder: Any, carried: Any, sums: Any, count: Any) -> None:
        keep(builder, sums, kept(builder, carried), masks(builder, count))

    return PieceFolder(start, add, put_in_order, add_rest, finish, begin_columns, end_columns, begin_rest, end_rest)
