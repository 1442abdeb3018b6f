"""Rows of bytes, copied or filled inline: a call of memcpy or memset takes longer than a short row itself.

A row is covered with blocks of one width. If the width does not divide the row, the last block overlaps the one before
it: every size takes few moves and no remainder loop.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

from ep.cpu.compile.vectors import L1_CACHE, L2_CACHE
from ep.cpu.compile.vectors import prefetch as ask_for

_BYTE, _WORD = ir.IntType(8), ir.IntType(64)
_BLOCK = 64  # bytes of a block
_UNROLLED = 4 * _BLOCK
_VECTOR = 32  # bytes of a load or store: unaligned stores of 64 take longer, as each spans two cache lines
_LONG = 8192  # bytes of a row from which memcpy is faster


@intrinsic
def copy_bytes(typing_context: Any, dst: Any, src: Any, size: Any) -> Any:
    """Copy `size` bytes. Source and destination must not overlap, or be the same."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        dst, src, size = args
        with builder.if_else(builder.icmp_signed("<", size, _WORD(_LONG))) as (short, long):
            with short:
                _cover(builder, size, _copier(builder, dst, src))
            with long:
                pointers = [builder.inttoptr(address, _BYTE.as_pointer()) for address in (dst, src)]
                cgutils.raw_memcpy(builder, *pointers, size, 1)
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, types.int64), generate


@intrinsic
def copy_short_row(typing_context: Any, dst: Any, src: Any, size: Any) -> Any:
    """Copy less than 64 bytes."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        dst, src, size = args
        _cover_short(builder, size, _copier(builder, dst, src))
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, types.int64), generate


@cache
def row_filler(unit: int) -> Any:
    """Return a function fill(dst, size, src) that writes copies of the `unit` bytes at `src`, `size` bytes in all."""

    @intrinsic
    def fill_bytes(typing_context: Any, dst: Any, size: Any, src: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            dst, size, src = args
            value = builder.load(_pointer(builder, src, _WORD(0), unit), align=1)

            def move(offset: Any, width: int) -> None:
                copies = ir.Constant(ir.VectorType(ir.IntType(32), width), [i % unit for i in range(width)])
                block = builder.shuffle_vector(value, value, copies)
                builder.store(block, _pointer(builder, dst, offset, width), align=1)

            _cover(builder, size, move, unit)
            return context.get_dummy_value()

        return types.void(types.int64, types.int64, types.int64), generate

    return fill_bytes


def _prefetcher(cache: int) -> Any:
    @intrinsic
    def prefetch(typing_context: Any, address: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            ask_for(builder, builder.inttoptr(args[0], _BYTE.as_pointer()), cache)
            return context.get_dummy_value()

        return types.void(types.int64), generate

    return prefetch


# prefetch the cache line at an address into L1 or L2; the address need not be readable
prefetch, prefetch_second = _prefetcher(L1_CACHE), _prefetcher(L2_CACHE)


def _copier(builder: Any, dst: Any, src: Any) -> Callable[[Any, int], None]:
    """Return a function move(offset, width) that copies a block from `src` to `dst`."""

    def move(offset: Any, width: int) -> None:
        block = builder.load(_pointer(builder, src, offset, width), align=1)
        builder.store(block, _pointer(builder, dst, offset, width), align=1)

    return move


def _cover(builder: Any, size: Any, move: Callable[[Any, int], None], unit: int = 1) -> None:
    """Cover [0, size) by `move(offset, width)`. Offsets are multiples of `unit`, as `size` is."""

    def move_block(offset: Any) -> None:
        for half in range(0, _BLOCK, _VECTOR):
            move(builder.add(offset, _WORD(half)), _VECTOR)

    with builder.if_else(builder.icmp_signed(">=", size, _WORD(_BLOCK))) as (enough, less):
        with enough:
            most = builder.and_(builder.sub(size, _WORD(1)), _WORD(-_UNROLLED))
            with cgutils.for_range_slice(builder, _WORD(0), most, _WORD(_UNROLLED), _WORD) as (offset, _):
                for first in range(0, _UNROLLED, _BLOCK):
                    move_block(builder.add(offset, _WORD(first)))
            last = builder.sub(size, _WORD(_BLOCK))
            with cgutils.for_range_slice(builder, most, last, _WORD(_BLOCK), _WORD) as (offset, _):
                move_block(offset)
            move_block(last)
        with less:
            _cover_short(builder, size, move, unit)


def _cover_short(
    builder: Any, size: Any, move: Callable[[Any, int], None], unit: int = 1, width: int = _VECTOR
) -> None:
    """Cover less than twice `width` bytes."""
    if width < unit:
        return
    with builder.if_else(builder.icmp_signed(">=", size, _WORD(width))) as (enough, less):
        with enough:
            move(_WORD(0), width)
            move(builder.sub(size, _WORD(width)), width)
        with less:
            _cover_short(builder, size, move, unit, width // 2)


def _pointer(builder: Any, address: Any, offset: Any, width: int) -> Any:
    """Return a pointer to a block of `width` bytes."""
    return builder.inttoptr(builder.add(address, offset), ir.VectorType(_BYTE, width).as_pointer())
