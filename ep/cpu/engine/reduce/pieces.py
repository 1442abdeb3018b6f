"""The fold of a row that is computed piece by piece, in the order of additions of `row.py`."""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

from ep.common.native.emitted import emitted
from ep.cpu.compile.vectors import PIECE, WORD, joined, lanes_of, load, store, stored_bits, taken
from ep.cpu.engine.reduce.fold import fold_of
from ep.cpu.engine.reduce.row import rest_of_row
from ep.cpu.engine.reduce.vectors import Lanes, combined, folded, identity, widths_of
from ep.include.data_type import DataType


class PieceFolder(NamedTuple):
    """The functions that fold a row of at least `PIECE` elements. carried: the address of `PIECE` values."""

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


@emitted()
def store_piece(builder: Any, address: Any, piece: Any) -> None:
    """Write the `PIECE` elements of float32 at `piece` to an address."""
    store(builder, load(builder, piece, stored_bits(DataType.kFloat, PIECE)), address)


@cache
def piece_folder(of: Lanes) -> PieceFolder:
    """Return the functions for sums in float64 of narrower numbers. A value has the same bits as by `row_folder`."""
    assert widths_of(of, of.parts)[0] == PIECE
    assert not of.chained

    def size_of(builder: Any) -> int:
        return fold_of(builder, of, by_lanes=False, computed=True).size_of(PIECE)

    def kept(builder: Any, carried: Any) -> list[Any]:
        size = size_of(builder)
        return [load(builder, carried, of.vector(size), WORD(skip)) for skip in range(0, PIECE, size)]

    def keep(builder: Any, carried: Any, values: Any) -> None:
        for number, value in enumerate(values):
            store(builder, value, carried, WORD(number * value.type.count))

    @emitted()
    def start(builder: Any, carried: Any) -> None:
        size = size_of(builder)
        keep(builder, carried, [identity(of, of.vector(size))] * (PIECE // size))

    @emitted()
    def add(builder: Any, carried: Any, piece: Any) -> None:
        fold = fold_of(builder, of, by_lanes=False, computed=True)
        keep(builder, carried, fold.more(tuple(kept(builder, carried)), fold.read(piece, WORD(0), PIECE, None)))

    @emitted()
    def put_in_order(builder: Any, carried: Any) -> None:
        values = kept(builder, carried)
        value = joined(builder, values)
        value = taken(builder, [lane // 2 + lane % 2 * PIECE // 2 for lane in range(PIECE)], value)
        keep(
            builder,
            carried,
            [lanes_of(builder, value, skip, size_of(builder)) for skip in range(0, PIECE, size_of(builder))],
        )

    @emitted()
    def add_rest(builder: Any, carried: Any, piece: Any, count: Any) -> None:
        rest = rest_of_row(builder, of, PIECE, size_of(builder), piece, WORD(0), count, None)
        values = zip(kept(builder, carried), rest, strict=True)
        keep(builder, carried, [combined(builder, of, a, b) for a, b in values])

    @emitted()
    def finish(builder: Any, out: Any, carried: Any) -> None:
        store(builder, folded(builder, of, kept(builder, carried), of.parts), out)

    return PieceFolder(start, add, put_in_order, add_rest, finish)
