"""Blocks of products of 8-bit integers with sums of 32 bits, in tiles of groups along k.

Tiles of some rows read b in place: the units that interleave it are not those that multiply. For many rows, and if b is
windows of an array, pieces of a strip of columns are packed, which stay in L1. Rows of a are read in place, too, or
copied if they end within a group, if they are widened, or if their sums are needed.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Final

from ep.cpu.compile.jit import jit, separate
from ep.cpu.compile.memory import release
from ep.cpu.compile.vector import convert, elements, load, store, sum_in_any_order, vector
from ep.cpu.engine.product.byte_tiles import byte_tile, group, piece_packer, shifts_b, sums_writer
from ep.cpu.engine.product.mapped import map_block
from ep.cpu.engine.product.memory import allocate_for
from ep.cpu.engine.product.state import ProductBlock, ProductLaunch
from ep.cpu.engine.product.types import Types
from ep.cpu.engine.product.window_packing import windows_packer
from ep.include.data_type import DataType

FEW, SOME, MANY = range(3)
"""The forms of blocks, by their rows: with low tiles, with others that read b in place, and with packed pieces."""
_LOW_ROWS: Final = 4  # of a low tile
_SOME_ROWS: Final = 24
_RUN: Final = 4
"""The strips of a run, which are multiplied piece by piece one after the other: so rows of b are read in long runs."""
_PIECE: Final = 128  # groups along k, whose rows of b stay near for all rows of a
_PACKED: Final = 64  # groups of a packed piece: 16 KiB with AVX-512
_AHEAD: Final = 16  # rows of b, for a row of a that needs no pieces
_LINE: Final = 64  # bytes
_WIDE: Final = 4  # bytes of a sum
_SIGN: Final = 128


def form_of(rows: int) -> int:
    """Return the form of blocks of so many rows."""
    return FEW if rows <= _LOW_ROWS else SOME if rows <= _SOME_ROWS else MANY


@cache
def byte_multiplier(types: Types, form: int, step: int = 0) -> Any:
    """Return a function (launch, block, a, b, c) for blocks of a form, or with fewer rows.

    step: if b is windows of an array, that of `windows_packer`, and the form is the last one; else 0.
    Neither operand is transposed, alpha is 1 and beta is 0, and one product is summed.
    """
    size, unit, _ = group()
    width, unit_bytes = group().columns, unit.itemsize
    keeps_a = size == 4 and not shifts_b(types)  # as bytes, whose sums are not needed
    few, packs_b = form == FEW, form == MANY
    most_rows = _LOW_ROWS if few else group().rows
    low_rows = 1 if few else min(_LOW_ROWS, most_rows)
    tile, low_tile = (_tile(types, rows, packed=packs_b) for rows in (most_rows, low_rows))
    run, piece = (1, _PACKED) if packs_b else (_RUN, _PIECE)
    run_columns, b_bytes = run * width, _PACKED * width * _WIDE if packs_b else 0
    wide_tile = _tile(types, 1, _RUN) if few else low_tile
    pack_a, pack_b, write = _rows_packer(types), piece_packer(types), sums_writer()
    # a row of a strip is two vectors of bytes, so that parts of rows of an image take one
    pack_windows: Any = windows_packer(types.b, width // 2, step, 2, types.b) if step else None
    rows_bytes = _PACKED * size * width if step else 0

    @jit
    def multiply(launch: ProductLaunch, block: ProductBlock, a: int, b: int, c: int) -> None:
        words, partial = launch.product, block.partial
        rows, columns = block.rows, block.columns
        n, k, begin = words.n, words.k, block.first
        depth = block.last - begin
        groups = (depth + size - 1) // size
        maps = partial == 0 and launch.map != 0
        is_apart, packs_a = maps and launch.apart != 0, not keeps_a or depth % size != 0
        a_step = groups * size * unit_bytes if packs_a else k
        # the sizes of parts of the memory are whole lines
        a_bytes = (rows * a_step + _LINE - 1) // _LINE * _LINE if packs_a else 0
        starts_bytes = (rows * _WIDE + _LINE - 1) // _LINE * _LINE
        sums_bytes = rows * run_columns * _WIDE
        values_bytes = _WIDE * rows * columns if is_apart else 0
        memory = allocate_for(launch, _LINE + b_bytes + rows_bytes + a_bytes + starts_bytes + sums_bytes + values_bytes)
        if memory == 0:
            return
        packed_b = (memory + _LINE - 1) // _LINE * _LINE
        window_rows = packed_b + b_bytes
        sums = window_rows + rows_bytes
        packed_a = sums + sums_bytes
        starts = packed_a + a_bytes
        to, to_step = partial if partial != 0 else c, n
        if is_apart:
            to, to_step = starts + starts_bytes, columns
        from_a, from_b = a + block.first_row * k + begin, b + block.first_column + begin * n
        if packs_a:
            pack_a(from_a, k, rows, depth, packed_a, a_step, starts)
            from_a = packed_a
        for column in range(0, columns, run_columns):
            run_end = min(column + run_columns, columns)
            if few and rows == 1 and run_end - column == run_columns:
                of_b = from_b + column
                wide_tile(
                    *(groups, depth, from_a, a_step, of_b, n, sums, run_columns, 1, run_columns, starts),
                    of_b + _AHEAD * n,
                )
                write(sums, run_columns, 1, run_columns, to + column * _WIDE, to_step)
                continue
            for first in range(0, groups, piece):
                count, left_depth = min(piece, groups - first), depth - first * size
                for strip in range(column, run_end, width):
                    left, of_b = min(width, run_end - strip), from_b + strip + first * size * n
                    # the next piece, or the first one of the next run
                    later = of_b + piece * size * n if first + piece < groups else from_b + strip + run_columns
                    if step:
                        packed_depth, at = min(left_depth, piece * size), begin + first * size
                        pack_windows(words, b, at, block.first_column + strip, left, packed_depth, window_rows)
                        pack_b(window_rows, width, packed_depth, width, count, packed_b, window_rows)
                        of_b = packed_b
                    elif packs_b:
                        pack_b(of_b, n, left_depth, left, count, packed_b, later)
                        of_b = packed_b
                    row = 0
                    while row < rows:
                        from_row = from_a + row * a_step + first * size * unit_bytes
                        of_tile, rest = sums + (row * run_columns + strip - column) * _WIDE, rows - row
                        start = starts + row * _WIDE if first == 0 else 0
                        if rest > low_rows:
                            tile(
                                *(count, left_depth, from_row, a_step, of_b, n, of_tile, run_columns),
                                *(rest, left, start, later),
                            )
                            row += most_rows
                        else:
                            low_tile(
                                *(count, left_depth, from_row, a_step, of_b, n, of_tile, run_columns),
                                *(rest, left, start, later),
                            )
                            row += low_rows
            write(sums, run_columns, rows, run_end - column, to + column * _WIDE, to_step)
        if maps:
            map_block(launch, block, to, to_step, 0, rows)
        release(memory)

    return multiply


def _tile(types: Types, rows: int, strips: int = 1, *, packed: bool = False) -> Any:
    """Return the function of `byte_tile` as one of its own, which has all registers."""
    tile = byte_tile(types, rows, strips, packed=packed)

    @separate
    def multiply(
        groups: int, depth: int, a: int, a_step: int, b: int, b_step: int, sums: int, sums_step: int, num_rows: int,
        num_columns: int, starts: int, later: int,
    ) -> None:  # fmt: skip
        tile(groups, depth, a, a_step, b, b_step, sums, sums_step, num_rows, num_columns, starts, later)

    return multiply


def _rows_packer(types: Types) -> Any:
    """Return a function (src, step, rows, depth, dst, dst_step, starts) that copies rows of a as units of groups.

    depth: the elements of a row; the rest of dst_step bytes is 0. starts: receives what the sums of each row begin with
    in the place of what 128 that is added to b, or subtracted from it, adds to them.
    """
    _, unit, lanes = group()
    Stored, Units, Sums = vector(types.a, lanes), vector(unit, lanes), vector(DataType.kUInt32, lanes)
    Elements, Numbers = elements(types.a), elements(DataType.kUInt32)
    shifts, factor = shifts_b(types), -_SIGN if types.b is DataType.kInt8 else _SIGN
    Single, One, Sum = vector(types.a, 1), vector(unit, 1), vector(DataType.kUInt32, 1)

    @separate
    def pack(src: int, step: int, rows: int, depth: int, dst: int, dst_step: int, starts: int) -> None:
        of_starts = Numbers.at(starts)
        for row in range(rows):
            source, target, index = Elements.at(src)[row * step :], dst + row * dst_step, 0
            totals, rest = Sums.zero(), Sum.zero()
            store(target + dst_step - _WIDE, 0, Sum.zero())
            while index < depth - (lanes - 1):
                x = load(Stored, source, index)
                store(target, index, convert(Units, x))
                totals = totals + convert(Sums, x)
                index += lanes
            while index < depth:
                one = load(Single, source, index)
                store(target, index, convert(One, one))
                rest = rest + convert(Sum, one)
                index += 1
            if shifts:
                of_starts[row] = (sum_in_any_order(totals) + rest[0]) * factor

    return pack
