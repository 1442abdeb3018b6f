"""Rows of bytes, copied or filled inline: a call of memcpy or memset takes longer than a short row itself.

A row is covered with blocks of one width. If the width does not divide the row, the last block overlaps the one before
it: every size takes few moves and no remainder loop.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from ep.common.native.emitted import emitted
from ep.cpu.compile.vectors import WORD, copy_memory, counted_at_head, load, store, stored_bits, taken
from ep.include.data_type import DataType

_BLOCK = 64  # bytes of a block
_UNROLLED = 4 * _BLOCK
_VECTOR = 32  # bytes of a load or store: unaligned stores of 64 take longer, as each spans two cache lines
_LONG = 8192  # bytes of a row from which memcpy is faster


@emitted()
def copy_bytes(builder: Any, dst: Any, src: Any, size: Any) -> None:
    """Copy `size` bytes. Source and destination must not overlap, or be the same."""
    with builder.if_else(builder.icmp_signed("<", size, WORD(_LONG))) as (short, long):
        with short:
            _cover(builder, size, _copier(builder, dst, src))
        with long:
            copy_memory(builder, dst, src, size)


@emitted()
def copy_short_row(builder: Any, dst: Any, src: Any, size: Any) -> None:
    """Copy less than 64 bytes."""
    _cover_short(builder, size, _copier(builder, dst, src))


@cache
def row_filler(unit: int) -> Any:
    """Return a function fill(dst, size, src) that writes copies of the `unit` bytes at `src`, `size` bytes in all."""

    @emitted()
    def fill_bytes(builder: Any, dst: Any, size: Any, src: Any) -> None:
        value = load(builder, src, stored_bits(DataType.kUInt8, unit))

        def move(offset: Any, width: int) -> None:
            store(builder, taken(builder, [place % unit for place in range(width)], value), builder.add(dst, offset))

        _cover(builder, size, move, unit)

    return fill_bytes


def _copier(builder: Any, dst: Any, src: Any) -> Callable[[Any, int], None]:
    """Return a function move(offset, width) that copies a block from `src` to `dst`."""

    def move(offset: Any, width: int) -> None:
        store(
            builder,
            load(builder, builder.add(src, offset), stored_bits(DataType.kUInt8, width)),
            builder.add(dst, offset),
        )

    return move


def _cover(builder: Any, size: Any, move: Callable[[Any, int], None], unit: int = 1) -> None:
    """Cover [0, size) by `move(offset, width)`. Offsets are multiples of `unit`, as `size` is."""

    def move_block(offset: Any, _: Any = None) -> None:
        for half in range(0, _BLOCK, _VECTOR):
            move(builder.add(offset, WORD(half)), _VECTOR)

    with builder.if_else(builder.icmp_signed(">=", size, WORD(_BLOCK))) as (enough, less):
        with enough:
            most = builder.and_(builder.sub(size, WORD(1)), WORD(-_UNROLLED))

            def move_blocks(offset: Any, _: Any) -> None:
                for first in range(0, _UNROLLED, _BLOCK):
                    move_block(builder.add(offset, WORD(first)))

            counted_at_head(builder, WORD(0), most, _UNROLLED, [], move_blocks)
            last = builder.sub(size, WORD(_BLOCK))
            counted_at_head(builder, most, last, _BLOCK, [], move_block)
            move_block(last)
        with less:
            _cover_short(builder, size, move, unit)


def _cover_short(
    builder: Any, size: Any, move: Callable[[Any, int], None], unit: int = 1, width: int = _VECTOR
) -> None:
    """Cover less than twice `width` bytes."""
    if width < unit:
        return
    with builder.if_else(builder.icmp_signed(">=", size, WORD(width))) as (enough, less):
        with enough:
            move(WORD(0), width)
            move(builder.sub(size, WORD(width)), width)
        with less:
            _cover_short(builder, size, move, unit, width // 2)
