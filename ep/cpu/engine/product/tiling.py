"""Blocks of c in tiles: the package's own product of matrices of real numbers and of integers.

A block is processed in pieces along k, and in pieces of rows whose part of a stays in L2. Each strip of columns is
multiplied by that part, tile by tile. Operands are packed if they are read many times, if b is transposed or ends
within a vector, or if numbers must be widened; otherwise they are read in place. While a strip is multiplied, the next
one is prefetched.
"""

from __future__ import annotations

from functools import cache
from math import gcd
from typing import Any, Final

from ep.common.functor.math_library import Scalar
from ep.common.native.fields import Int64
from ep.cpu.compile.jit import jit, separate
from ep.cpu.compile.memory import loader, release, storer
from ep.cpu.engine.product.mapped import map_block
from ep.cpu.engine.product.memory import allocate_for
from ep.cpu.engine.product.packing import column_packer, row_packer
from ep.cpu.engine.product.parts import LOW, LOWEST, ONE, low_columns
from ep.cpu.engine.product.results import results_narrower
from ep.cpu.engine.product.shape import FEW_STRIPS, VECTORS, lanes_of, tile_shape
from ep.cpu.engine.product.state import ProductBlock, ProductLaunch, ProductState
from ep.cpu.engine.product.strip import strip_for
from ep.cpu.engine.product.tile import FEW_SUMS
from ep.cpu.engine.product.types import Types, arithmetic_of, is_narrow
from ep.cpu.engine.product.walk import offsets
from ep.cpu.threads.parallel import call_task
from ep.include.data_type import DataType

_DEPTH: Final = 384  # the most of k that is processed at once
_HEIGHT: Final = 256  # the most rows of a that are packed at once
_FEW: Final = 8  # the most tiles of rows for which b is read in place, whose rows the tiles also prefetch
_FEW_LOW: Final = 4  # the same if a tile has few sums: counting and prefetches then take more slots than packing b does
_FEW_FAR: Final = 3  # the same if the rows of b are also on different pages
_PAGE: Final = 4096  # bytes
_GROUP: Final = 8  # the most rows that become columns at once
_FETCHED: Final = 4  # the most tiles of rows of a that do not prefetch each other's rows, but b
_FIRST_CACHE: Final = 16384  # bytes of b that stay in L1 while tiles read a and write c: half of the smallest L1
_LINE: Final = 64  # bytes


_low_columns = jit(low_columns)


@jit
def depth_at_once(length: int, narrows: int) -> int:
    """Return how much of `length` sums along k is processed at once: so pieces of k, and bits, are the same everywhere.

    narrows: whether it is even, as pairs of numbers of 16 bits are whole.
    """
    parts = (length + _DEPTH - 1) // _DEPTH
    depth = length if parts == 1 else (length + parts - 1) // parts
    return depth + depth % 2 if narrows else depth


@cache
def block_multiplier(types: Types, *, paired: bool = False) -> Any:
    """Return a function (launch, block, a, b, c) that multiplies a block, whose first element in c is at `c`.

    paired: whether pairs of numbers of 16 bits along k are packed and multiplied as one element.
    """
    widens_a, widens_b, narrows = map(is_narrow, types)
    size_a, size_b, arithmetic = types.a.itemsize, types.b.itemsize, types.arithmetic
    wide, lanes, tile_rows = arithmetic.itemsize, lanes_of(arithmetic), tile_shape().rows
    tile_columns = VECTORS * lanes
    has_few_sums = tile_rows * VECTORS <= FEW_SUMS
    load, store_wide = loader(types.c), storer(arithmetic)
    of_strips = ProductState.paired if paired else ProductState.parts + ONE
    pack_a, pack_b = (packer(*one, paired) for one in ((types.a, tile_rows), (types.b, tile_columns)))
    narrow, one, zero = results_narrower(types.c), *map(arithmetic.dtype.type, (1, 0))

    @separate
    def scale(to: int, to_step: int, c: int, c_step: int, rows: int, columns: int, beta: Scalar) -> None:
        for row in range(rows):
            for column in range(columns):
                store_wide(to, row * to_step + column, beta * load(c, row * c_step + column))

    @jit
    def multiply(launch: ProductLaunch, block: ProductBlock, a: int, b: int, c: int) -> None:
        state, words = launch.state, launch.product
        rows, columns = block.rows, block.columns
        first_row, first_column = block.first_row, block.first_column
        begin, end, partial = (
            block.first,
            block.last,
            block.partial,
        )
        m, n, k = words.m, words.n, words.k
        transpose_a = state.transpose_a
        transpose_b = state.transpose_b
        a_row, a_step = (1, m) if transpose_a else (k, 1)
        b_column, b_step = (k, 1) if transpose_b else (1, n)
        alpha = load(launch.alpha, 0)
        beta = load(launch.beta, 0)
        maps = partial == 0 and launch.map != 0
        rounds = narrows or (maps and launch.apart != 0)  # or c has other values
        if partial != 0:
            alpha, beta, rounds = one, zero, False
        factor = Int64.array_on_stack(1)
        store_wide(factor, 0, alpha)
        depth = depth_at_once(end - begin, narrows)
        height = (min(rows, _HEIGHT) + tile_rows - 1) // tile_rows * tile_rows
        low_width = _low_columns(m, lanes, tile_columns, state.low_rows)
        packs_a = widens_a or (low_width == 0 and columns > FEW_STRIPS * tile_columns)
        few, low_step = _FEW, tile_rows if packs_a else a_step
        if has_few_sums:
            few = _FEW_LOW if n * size_b < _PAGE else _FEW_FAR
        is_large = packs_a or n * k * size_b > _FIRST_CACHE  # b does not stay in L1, where it may as well be in place
        packs_b = widens_b or transpose_b != 0 or (is_large and rows > few * tile_rows)
        keeps_b = packs_b and rows > height
        fetches_a = not packs_a and transpose_a == 0 and depth == k and min(rows, height) > _FETCHED * tile_rows
        last_term = block.last_term
        # values that are mapped as soon as they are complete need memory for some of the rows only
        is_once = maps and depth >= end - begin and last_term - block.first_term == 1
        memory, packed_a, packed_b, to, to_step = 0, 0, 0, partial if partial != 0 else c, n
        if packs_a or packs_b or rounds or n % lanes != 0:
            a_bytes = (wide * height * depth + _LINE - 1) // _LINE * _LINE if packs_a else 0
            strips = (columns + tile_columns - 1) // tile_columns if keeps_b else 1
            b_bytes = wide * tile_columns * depth * strips
            kept_rows = height if is_once else rows
            sums_bytes = wide * kept_rows * columns if rounds else 0
            memory = allocate_for(launch, a_bytes + b_bytes + _LINE + sums_bytes)
            if memory == 0:
                return
            packed_a = (memory + _LINE - 1) // _LINE * _LINE
            packed_b = packed_a + a_bytes
            if rounds:
                to, to_step = packed_b + b_bytes, columns
        adds = 0 if beta == 0 else 1
        if adds and (rounds or beta != 1):
            scale(to, to_step, c, n, rows, columns, beta)
        for term in range(block.first_term, last_term):
            a_offset, b_offset = offsets(words.terms, term)
            a_offset, b_offset = a_offset + first_row * a_row, b_offset + first_column * b_column
            for first in range(begin, end, depth):
                length = min(depth, end - first)
                packed_length = (length + 1) // 2 if paired else length
                for row in range(0, rows, height):
                    count = min(height, rows - row)
                    from_a, row_a, step_a = a + (a_offset + row * a_row + first * a_step) * size_a, a_row, a_step
                    if packs_a:
                        for place in range(0, count, tile_rows):
                            source, target = from_a + place * a_row * size_a, packed_a + place * packed_length * wide
                            rows_left = min(tile_rows, count - place)
                            pack_a(transpose_a, source, max(a_row, a_step), rows_left, length, target)
                        from_a, row_a, step_a = packed_a, 1, 0
                    strip_number, column, to_row = 0, 0, to if rounds and is_once else to + row * to_step * wide
                    while column < columns:
                        left, to_c = columns - column, to_row + column * wide
                        from_b, step_b = b + (b_offset + column * b_column + first * b_step) * size_b, b_step
                        low_strip = 0 < low_width <= left
                        is_split = tile_columns < left <= tile_columns + lanes  # one vector alone takes as long as two
                        strip_columns = 2 * lanes if is_split else tile_columns
                        following = column + (low_width if low_strip else strip_columns)
                        packed_strip = packed_b
                        if keeps_b:
                            packed_strip += wide * packed_length * tile_columns * strip_number
                        later, later_step = from_b, 0
                        if fetches_a and column == 0:
                            later = 0
                        elif row > 0:
                            later, later_step = packed_strip + wide * packed_length * tile_columns, wide * tile_columns
                        elif transpose_b == 0:  # the next strip, piece of k, or block
                            later_step = n * size_b
                            if following < columns:
                                later = b + (b_offset + following + first * n) * size_b
                            elif first + depth < end:
                                later = b + (b_offset + (first + depth) * n) * size_b
                            elif first_column + columns < n:
                                later = b + (b_offset + columns) * size_b
                        if low_strip:
                            call_task(
                                *(state.parts[LOW + rows - LOWEST], length, from_a, row_a, low_step, from_b),
                                *(step_b, to_c, to_step, count, low_width, factor, adds, later, later_step),
                            )
                            column = following
                            continue
                        left = min(left, strip_columns)
                        ends = first_column + column + (left + lanes - 1) // lanes * lanes > n
                        if packs_b or ends or (packs_a and left <= (VECTORS - 1) * lanes):
                            if row == 0:
                                pack_b(1 - transpose_b, from_b, max(b_column, b_step), left, length, packed_strip)
                            from_b, step_b = packed_strip, tile_columns
                        strip = strip_for(Int64.at(state + 8 * of_strips), left, lanes)
                        call_task(
                            *(strip, packed_length, from_a, row_a, step_a, from_b, step_b, to_c, to_step),
                            *(count, left, factor, adds, later, later_step),
                        )
                        column, strip_number = following, strip_number + 1
                    if maps and term + 1 == last_term and first + length == end:
                        map_block(launch, block, to_row, to_step, row, count)
                adds = 1
        if narrows and rounds and not maps:
            narrow(c, n, to, rows, columns)
        if memory != 0:
            release(memory)

    return multiply


def packer(data_type: DataType, width: int, paired: bool = False) -> Any:
    """Return a function (in_rows, src, step, count, k, dst) that packs a strip [k, width], `count` of which are in src.

    in_rows: whether the elements of one index along k are a row of src; otherwise, a column.
    paired: whether two elements along k become one of the strip.
    """
    size, wide, group = data_type.itemsize, arithmetic_of(data_type).itemsize, gcd(_GROUP, width)
    pack_rows = row_packer(data_type, width, paired)
    pack_columns = column_packer(data_type, group, tile_shape().vector_bytes // wide, paired)

    @separate
    def pack(in_rows: int, src: int, step: int, count: int, k: int, dst: int) -> None:
        if in_rows:
            pack_rows(src, step, count, k, dst)
        else:
            for first in range(0, count, group):
                place = dst + first * wide
                pack_columns(src + first * step * size, step, min(group, count - first), k, place, width)

    return pack
