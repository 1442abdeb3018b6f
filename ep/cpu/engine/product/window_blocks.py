"""Blocks of c in tiles, of products whose b is windows of an array: packing reads them in the array.

A strip of columns is packed in pieces along k that stay in L1, and each piece is multiplied by all rows of a, so the
sums of a strip stay in the caches, too. The numbers of a are packed as far along k as they fit in a part of L2.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Final

from ep.common.native.fields import Int64
from ep.cpu.compile.jit import jit
from ep.cpu.compile.memory import loader, release, storer
from ep.cpu.engine.product.mapped import map_block
from ep.cpu.engine.product.memory import allocate_for
from ep.cpu.engine.product.parts import ONE
from ep.cpu.engine.product.results import results_narrower
from ep.cpu.engine.product.shape import FEW_STRIPS, VECTORS, lanes_of, tile_shape
from ep.cpu.engine.product.state import ProductBlock, ProductLaunch, ProductState
from ep.cpu.engine.product.strip import SUMMED, strip_for
from ep.cpu.engine.product.tiling import depth_at_once, packer
from ep.cpu.engine.product.types import Types, is_narrow
from ep.cpu.engine.product.window_packing import windows_packer
from ep.cpu.threads.parallel import call_task

_SHORT: Final = 32  # the most of k for which writing c takes longer than the products
_MANY: Final = 64  # more rows of c than this are on more pages than the TLB has, unless a tile's rows are written first
_PART: Final = 2  # a takes at most one of so many parts of L2
_LINE: Final = 64  # bytes


@cache
def windows_multiplier(types: Types, step: int, near: int, far: int) -> Any:
    """Return a function (launch, block, a, b, c) that multiplies a block, whose first element in c is at `c`.

    alpha is 1 and beta is 0, and one product is summed. step: that of `windows_packer`.
    near: the bytes of L2; far: more bytes than the last-level cache keeps near.
    """
    arithmetic, size, widens_a, narrows = types.arithmetic, types.c.itemsize, is_narrow(types.a), is_narrow(types.c)
    size_a, wide, tile_rows = types.a.itemsize, arithmetic.itemsize, tile_shape().rows
    lanes = lanes_of(arithmetic)
    tile_columns, most_bytes = VECTORS * lanes, near // _PART
    load, store_wide, narrow = loader(types.c), storer(arithmetic), results_narrower(types.c)
    pack_a, pack_windows = packer(types.a, tile_rows), windows_packer(types.b, lanes, step)

    @jit
    def piece_length(begin: int, end: int, depth: int, first: int) -> int:
        """Return the length of the piece of sums that begins at `first`; `depth` of them are processed at once."""
        part = begin + (first - begin) // depth * depth
        return min(SUMMED, min(part + depth, end) - first)

    @jit
    def multiply(launch: ProductLaunch, block: ProductBlock, a: int, b: int, c: int) -> None:
        words, partial = launch.product, block.partial
        rows, columns = block.rows, block.columns
        first_row, first_column = block.first_row, block.first_column
        begin, end = block.first, block.last
        n, k = words.n, words.k
        maps = partial == 0 and launch.map != 0
        rounds = partial == 0 and (narrows or (maps and launch.apart != 0))
        strips = Int64.at(launch.state + 8 * (ProductState.parts + ONE))
        alpha = Int64.array_on_stack(1)
        store_wide(alpha, 0, load(launch.alpha, 0))
        depth = depth_at_once(end - begin, narrows)
        # if sums are short, writing c takes longest: all columns of a tile's rows, then the next rows
        is_far = words.m * n * size > far
        by_tiles = end - begin <= _SHORT and (rows >= _MANY or (rows > tile_rows and is_far))
        group = tile_rows if by_tiles else rows
        kept_strips = (columns + tile_columns - 1) // tile_columns if by_tiles else 1
        height = (rows + tile_rows - 1) // tile_rows * tile_rows
        packs_a = widens_a or (rows > tile_rows // 2 and columns > FEW_STRIPS * tile_columns)
        chunk = min(max(most_bytes // (wide * height * depth), 1), (end - begin + depth - 1) // depth) * depth
        a_bytes = (wide * height * chunk + _LINE - 1) // _LINE * _LINE if packs_a else 0
        b_bytes = wide * tile_columns * min(depth, SUMMED) * kept_strips
        # values that are mapped as soon as they are complete need memory for some of the rows only
        kept_rows = group if maps else rows
        sums_bytes = wide * kept_rows * columns if rounds else 0
        memory = allocate_for(launch, a_bytes + b_bytes + _LINE + sums_bytes)
        if memory == 0:
            return
        packed_a = (memory + _LINE - 1) // _LINE * _LINE
        packed_b, to, to_step = packed_a + a_bytes, partial if partial != 0 else c, n
        if rounds:
            to, to_step = packed_b + b_bytes, columns
        a += first_row * k * size_a
        for first in range(begin, end, chunk):
            last = min(first + chunk, end)
            if packs_a:
                target, piece = packed_a, first
                while piece < last:
                    length = piece_length(begin, last, depth, piece)
                    for row in range(0, rows, tile_rows):
                        pack_a(0, a + (row * k + piece) * size_a, k, min(tile_rows, rows - row), length, target)
                        target += tile_rows * length * wide
                    piece += length
            for row in range(0, rows, group):
                count, to_row = min(group, rows - row), to if rounds and maps else to + row * to_step * wide
                column, packed_strip = 0, packed_b
                while column < columns:
                    left = columns - column
                    if tile_columns < left <= tile_columns + lanes:  # one vector alone takes as long as two
                        left = 2 * lanes
                    left = min(left, tile_columns)
                    strip = strip_for(strips, left, lanes)
                    piece = first
                    while piece < last:
                        length = piece_length(begin, last, depth, piece)
                        if row == 0:
                            pack_windows(words, b, piece, first_column + column, left, length, packed_strip)
                        from_a, row_a, step_a = a + (row * k + piece) * size_a, k, 1
                        if packs_a:
                            from_a, row_a, step_a = packed_a + ((piece - first) * height + row * length) * wide, 1, 0
                        adds = 1 if piece > begin else 0
                        call_task(
                            *(strip, length, from_a, row_a, step_a, packed_strip, tile_columns, to_row + column * wide),
                            *(to_step, count, left, alpha, adds, packed_strip, 0),
                        )
                        piece += length
                    column += left
                    if by_tiles:
                        packed_strip += wide * tile_columns * depth  # one piece
                if maps and last == end:
                    map_block(launch, block, to_row, to_step, row, count)
        if narrows and rounds and not maps:
            narrow(c, n, to, rows, columns)
        release(memory)

    return multiply
