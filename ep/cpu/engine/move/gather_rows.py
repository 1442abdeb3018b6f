"""The movers of Gather: each looks up the rows for indices of one type, and moves rows of one size class.

Data is moved by size, so a mover serves all data types. A row of up to 128 bytes is one or two units of 1 to 64 bytes:
the loop has so few instructions that the processor overlaps the memory accesses of many rows.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import Any, NamedTuple

from llvmlite import ir

from ep.common.native.emitted import emitted
from ep.common.native.on_demand import cgutils, types
from ep.cpu.compile.code import Code
from ep.cpu.compile.compiler import compile_written
from ep.cpu.compile.memory import set_bytes, unit_functions
from ep.cpu.compile.vectors import BIT, L1_CACHE, L2_CACHE, WORD, counted, least, load, splat, stored_bits
from ep.cpu.engine.move.gather_walk import GatherContext
from ep.cpu.engine.move.size_class import ANY_SIZE
from ep.cpu.lines.fetch import fetch
from ep.cpu.lines.inline_copy import copy_bytes
from ep.cpu.lines.sizes import LEAST_STREAMED_ROW
from ep.cpu.lines.streaming import stream_row
from ep.include.data_type import DataType

_AHEAD = 64  # prefetch distance, in rows
_AHEAD_BYTES = 2**15  # the most bytes that are prefetched ahead: a part of L2
_SHORT = 16  # the most bytes of a row for which indices are checked in blocks
_VECTOR = 32  # bytes that are moved at once: those of 64 mostly span two lines, and take longer then
_BLOCK = 16  # rows
_CACHED = 2**22  # the most bytes of params that need no prefetch; a last-level cache that is shared holds few more
_LONGEST_FETCHED = 4096  # the most bytes of a row that are prefetched: the processor fetches the rest itself

Move = Callable[[Any, Any, Any], None]
"""`move(i, row, valid)` writes the code that moves a row of params to row `i` of out; zeros if it is not valid."""


@cache
def mover(indices_type: DataType, of_class: int) -> int:
    """Return the address of a task (context, params, indices, out, count, width, later) that moves rows to `out`.

    context: that of the walk. count: the number of rows. width: the number of bytes of a row to move; less than the row
        only if rows are cut. later: the number of indices behind these whose rows may be prefetched.
    """
    move_rows = _move_bytes if of_class == ANY_SIZE else partial(_move_units, of_class)
    return compile_written(f"gather.{indices_type.name}.{of_class}", partial(_mover, indices_type, move_rows), 7)


@cache
def row_finder(indices_type: DataType) -> Any:
    """Return a function find(indices, i, low, num_valid, first_row): the row of index `i`, and whether it is valid."""

    @emitted(lambda: types.Tuple((types.int64, types.boolean)))
    def find(builder: Any, indices: Any, i: Any, low: Any, num_valid: Any, first_row: Any) -> Any:
        found = _Indices(builder, indices_type, indices, low, num_valid, first_row).row(i)
        return cgutils.pack_struct(builder, found)

    return find


class _Indices(NamedTuple):
    """The indices of a call of a mover, as LLVM values: the valid ones are [low, low + num_valid)."""

    builder: Any
    data_type: DataType
    address: Any
    low: Any
    num_valid: Any
    first_row: Any

    def row(self, i: Any) -> tuple[Any, Any]:
        """Return the row of index `i`, and whether it is valid."""
        # one unsigned comparison tests both ends
        row = self.builder.sub(self._load(i), self.low)
        return self.builder.add(row, self.first_row), self.builder.icmp_unsigned("<", row, self.num_valid)

    def are_valid(self, begin: Any) -> Any:
        """Return whether all indices of the block at `begin` are valid."""
        builder = self.builder
        rows = builder.sub(self._load(begin, _BLOCK), splat(builder, self.low, _BLOCK))
        valid = builder.icmp_unsigned("<", rows, splat(builder, self.num_valid, _BLOCK))
        return builder.icmp_signed("==", builder.bitcast(valid, ir.IntType(_BLOCK)), ir.IntType(_BLOCK)(-1))

    def _load(self, i: Any, count: int | None = None) -> Any:
        values = load(self.builder, self.address, stored_bits(self.data_type, count), i)
        if self.data_type.itemsize == WORD.width // 8:
            return values
        extend = self.builder.zext if self.data_type.dtype.kind == "u" else self.builder.sext
        return extend(values, WORD if count is None else ir.VectorType(WORD, count))


class _Call(NamedTuple):
    """A call of a mover, as LLVM values; see `mover`."""

    code: Code
    walk: Any
    indices: _Indices
    params: Any
    out: Any
    count: Any
    width: Any
    later: Any

    def move_each(self, begin: Any, end: Any, move: Move, before: Callable[[Any], None] | None = None) -> Any:
        """Write a loop over indices [begin, end) that moves the row of each; return where it ends, as `counted` does.

        before: `before(i)` is written first.
        """

        def move_index(i: Any, _: Any) -> None:
            if before:
                before(i)
            move(i, *self.indices.row(i))

        return counted(self.code.builder, begin, end, 1, [], move_index)

    def move_block(self, begin: Any, move: Move) -> None:
        """Write the same loop over the block of indices at `begin`. LLVM unrolls it."""
        builder = self.code.builder

        def move_index(place: Any, _: Any) -> None:
            i = builder.add(begin, place)
            move(i, *self.indices.row(i))

        counted(builder, WORD(0), WORD(_BLOCK), 1, [], move_index)

    def num_fetching(self, ahead: Any) -> Any:
        """Return the number of rows, the first ones, for which the row `ahead` indices behind is prefetched."""
        builder = self.code.builder
        large = builder.icmp_signed(">", self.walk.params_bytes, WORD(_CACHED))
        most = least(builder, builder.sub(builder.add(self.count, self.later), ahead), self.count)
        return builder.select(large, most, WORD(0))

    def fetch(self, i: Any, size: Any, cache_level: int, most: int | None = None) -> None:
        """Prefetch the row of index `i`. size: its bytes. most: as for `fetch`."""
        builder = self.code.builder
        row, _ = self.indices.row(i)
        fetch(builder, builder.add(self.params, builder.mul(row, size)), size, cache_level, most)


def _mover(
    indices_type: DataType, move_rows: Callable[[_Call], None], code: Code, context: Any, params: Any, *given: Any
) -> None:
    """Write a mover; `move_rows` writes what depends on the size of rows."""
    indices, out, count, width, later = given
    walk = code.pointer(GatherContext, context)
    found = _Indices(code.builder, indices_type, indices, walk.low, walk.num_valid, walk.first_row)
    move_rows(_Call(code, walk, found, params, out, count, width, later))


def _move_units(of_class: int, rows: _Call) -> None:
    """Move rows of up to 128 bytes, each in one or two units."""
    builder, (bits, in_two) = rows.code.builder, ((of_class + 1) // 2, of_class % 2)
    unit = 2 ** (bits - in_two)
    part = min(unit, _VECTOR)
    copy_unit, copy_unit_or_zero = unit_functions(part)

    def move_one(i: Any, row: Any, valid: Any) -> None:
        copy_unit_or_zero.write(builder, rows.out, i, rows.params, row, valid)

    def move_parts(i: Any, row: Any, valid: Any) -> None:  # those of two units may overlap
        units = (WORD(0), builder.sub(rows.width, WORD(unit))) if in_two else (WORD(0),)
        parts = [builder.add(begin, WORD(skip)) for begin in units for skip in range(0, unit, part)]
        dst, src = (builder.add(to, builder.mul(n, rows.width)) for to, n in ((rows.out, i), (rows.params, row)))
        with builder.if_else(valid) as (there, missing):
            for branch, (copy, *arguments) in ((there, (copy_unit,)), (missing, (copy_unit_or_zero, BIT(0)))):
                with branch:
                    for at in parts:
                        to, source = builder.add(dst, at), builder.add(src, at)
                        copy.write(builder, to, WORD(0), source, WORD(0), *arguments)

    move, size = move_one if unit == part and not in_two else move_parts, rows.width if in_two else WORD(unit)
    # long rows are prefetched into L2: L1 has buffers for only a few lines in flight
    cache_level, ahead = L1_CACHE if bits <= 4 else L2_CACHE, WORD(_AHEAD)

    def fetch_later(i: Any) -> None:
        rows.fetch(builder.add(i, ahead), size, cache_level, 2**bits)

    fetched, _ = rows.move_each(WORD(0), rows.num_fetching(ahead), move, fetch_later)
    if unit > _SHORT or in_two:
        rows.move_each(fetched, rows.count, move)
        return

    def move_valid(i: Any, row: Any, _: Any) -> None:
        copy_unit.write(builder, rows.out, i, rows.params, row)

    def block(begin: Any, _: Any) -> None:
        with builder.if_else(rows.indices.are_valid(begin)) as (all_valid, some):
            with all_valid:
                rows.move_block(begin, move_valid)
            with some:
                rows.move_block(begin, move)

    blocks = builder.and_(builder.sub(rows.count, fetched), WORD(-_BLOCK))
    last, _ = counted(builder, fetched, builder.add(fetched, blocks), _BLOCK, [], block)
    rows.move_each(last, rows.count, move)


def _move_bytes(rows: _Call) -> None:
    """Move rows of any size, or parts of them."""
    builder, size = rows.code.builder, rows.walk.row_bytes
    ahead = least(builder, WORD(_AHEAD), builder.sdiv(WORD(_AHEAD_BYTES), size))
    short = builder.icmp_signed("<=", size, WORD(_LONGEST_FETCHED))
    fetching = builder.select(short, rows.num_fetching(ahead), WORD(0))
    # the walk streams shorter rows
    long = builder.icmp_signed(">=", size, WORD(LEAST_STREAMED_ROW))
    streamed = builder.and_(long, builder.icmp_signed("!=", rows.walk.streamed, WORD(0)))

    def fetch_later(i: Any) -> None:
        with builder.if_then(builder.icmp_signed("<", i, fetching)):
            rows.fetch(builder.add(i, ahead), size, L2_CACHE)

    def move(i: Any, row: Any, valid: Any) -> None:
        dst, src = (builder.add(base, builder.mul(at, size)) for base, at in ((rows.out, i), (rows.params, row)))
        with builder.if_else(valid) as (there, missing):
            with missing:
                set_bytes.write(builder, dst, rows.width, WORD(0))
            with there, builder.if_else(streamed) as (past_caches, ordinary):
                with past_caches:
                    rows.code.call_words(stream_row, dst, src, rows.width)
                with ordinary:
                    copy_bytes.write(builder, dst, src, rows.width)

    rows.move_each(WORD(0), rows.count, move, fetch_later)
