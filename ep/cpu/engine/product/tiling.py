"""Blocks of c in tiles: the package's own product of real matrices.

A block is processed in pieces along k, and in pieces of rows whose part of a stays in L2. Each strip of columns is
multiplied by that part, tile by tile. Operands are packed if they are read many times, if b is transposed or ends
within a vector, or if numbers must be widened; otherwise they are read in place. While a strip is multiplied, the next
one is prefetched.
"""

from __future__ import annotations

from functools import cache
from math import gcd
from typing import Any, Final, NamedTuple

from numba.core.registry import cpu_target

from ep.common.native.words import load_word
from ep.cpu.compile.conversion import HALVES
from ep.cpu.compile.jit import jit, separate
from ep.cpu.compile.memory import allocate, loader, release, storer
from ep.cpu.engine.product.mapped import map_block
from ep.cpu.engine.product.packing import column_packer, row_packer, window_packer
from ep.cpu.engine.product.state import BLOCK, PRODUCT, PRODUCT_LAUNCH, PRODUCT_STATE
from ep.cpu.engine.product.tile import FEW_SUMS, tile_multiplier
from ep.cpu.engine.product.walk import offsets
from ep.include.data_type import DataType

_VECTORS: Final = 3  # vectors of columns in a tile
_DEPTH: Final = 384  # the most of k that is processed at once
_SUMMED: Final = 128  # the most products that are added up one after the other
_HEIGHT: Final = 256  # the most rows of a that are packed at once
_SHORT: Final = 32  # the most of k for which writing c takes longer than the products
_MANY: Final = 64  # more rows of c than this are on more pages than the TLB has, unless a tile's rows are written first
_NARROW: Final = 4  # the most strips for which a is read in place
_FEW: Final = 8  # the most tiles of rows for which b is read in place, whose rows the tiles also prefetch
_FEW_LOW: Final = 4  # the same if a tile has few sums: counting and prefetches then take more slots than packing b does
_FEW_FAR: Final = 3  # the same if the rows of b are also on different pages
_PAGE: Final = 4096  # bytes
_GROUP: Final = 8  # the most rows that become columns at once
_LINE: Final = 64  # bytes


class Shape(NamedTuple):
    """A tile's number of rows, and the bytes of its vectors: three vectors of columns fill the registers with sums."""

    rows: int
    vector_bytes: int


@cache
def tile_shape() -> Shape:
    """Return the shape of tiles that suits the number and size of the target processor's registers."""
    triple, _, features = cpu_target.target_context.codegen().magic_tuple()
    if not triple.startswith("x86_64"):
        return Shape(8, 16)
    return Shape(8, 64) if "+avx512f" in features and "+avx512bw" in features else Shape(4, 32)


@cache
def block_columns(data_type: DataType) -> int:
    """Return the number of columns of a tile; blocks begin at multiples of it."""
    arithmetic = DataType.kFloat if data_type in HALVES else data_type
    return _VECTORS * tile_shape().vector_bytes // arithmetic.itemsize


@cache
def block_multiplier(data_type: DataType) -> Any:
    """Return a function (launch, block, a, b, c) that multiplies a block, whose first element in c is at `c`."""
    is_half, size = data_type in HALVES, data_type.itemsize
    arithmetic = DataType.kFloat if is_half else data_type
    wide, lanes, tile_rows = arithmetic.itemsize, tile_shape().vector_bytes // arithmetic.itemsize, tile_shape().rows
    tile_columns = _VECTORS * lanes
    has_few_sums = tile_rows * _VECTORS <= FEW_SUMS
    load, store, load_wide, store_wide = loader(data_type), storer(data_type), loader(arithmetic), storer(arithmetic)
    strip = _strip_multiplier(arithmetic, lanes)
    low = _tile(arithmetic, tile_rows // 2, 2 * _VECTORS, lanes)
    pack_a, pack_b = _packer(data_type, tile_rows), _packer(data_type, tile_columns)
    pack_windows = _windows_packer(data_type, lanes, tile_columns)

    @separate
    def scale(to, to_step, c, c_step, rows, columns, beta):
        for row in range(rows):
            for column in range(columns):
                store_wide(to, row * to_step + column, beta * load(c, row * c_step + column))

    @separate
    def narrow(c, c_step, src, rows, columns):
        for row in range(rows):
            for column in range(columns):
                store(c, row * c_step + column, load_wide(src, row * columns + column))

    @jit
    def multiply(launch, block, a, b, c):
        state, words = load_word(launch, PRODUCT_LAUNCH.state), load_word(launch, PRODUCT_LAUNCH.product)
        rows, columns = load_word(block, BLOCK.rows), load_word(block, BLOCK.columns)
        first_row, first_column = load_word(block, BLOCK.first_row), load_word(block, BLOCK.first_column)
        begin, end, partial = (
            load_word(block, BLOCK.first),
            load_word(block, BLOCK.last),
            load_word(block, BLOCK.partial),
        )
        m, n, k = load_word(words, PRODUCT.m), load_word(words, PRODUCT.n), load_word(words, PRODUCT.k)
        transpose_a = load_word(state, PRODUCT_STATE.transpose_a)
        transpose_b = load_word(state, PRODUCT_STATE.transpose_b)
        a_row, a_step = (1, m) if transpose_a else (k, 1)
        b_column, b_step = (k, 1) if transpose_b else (1, n)
        window_rows, window_columns = load_word(words, PRODUCT.window_rows), load_word(words, PRODUCT.window_columns)
        window_inside = load_word(words, PRODUCT.window_inside)
        is_plain = window_rows == 0
        if not is_plain:  # tables have the places of the elements of windows
            b_column, b_step = 0, 0
        alpha = load(load_word(launch, PRODUCT_LAUNCH.alpha), 0)
        beta = load(load_word(launch, PRODUCT_LAUNCH.beta), 0)
        maps = partial == 0 and load_word(launch, PRODUCT_LAUNCH.map) != 0
        rounds = is_half or (maps and load_word(launch, PRODUCT_LAUNCH.apart) != 0)  # or c has other values
        if partial != 0:
            alpha, beta, rounds = type(alpha)(1), type(beta)(0), False
        parts = (end - begin + _DEPTH - 1) // _DEPTH
        depth = (end - begin + parts - 1) // parts
        height = (min(rows, _HEIGHT) + tile_rows - 1) // tile_rows * tile_rows
        if not is_plain and k <= _SHORT and rows >= _MANY:
            height = tile_rows
        is_low = rows <= tile_rows // 2
        packs_a = is_half or (not is_low and columns > _NARROW * tile_columns)
        few = _FEW
        if has_few_sums:
            few = _FEW_LOW if n * size < _PAGE else _FEW_FAR
        packs_b = is_half or transpose_b != 0 or rows > few * tile_rows or not is_plain
        keeps_b = packs_b and rows > height
        last_term = load_word(block, BLOCK.last_term)
        # values that are mapped as soon as they are complete need memory for some of the rows only
        is_once = maps and parts == 1 and last_term - load_word(block, BLOCK.first_term) == 1
        memory, packed_a, packed_b, to, to_step = 0, 0, 0, partial if partial != 0 else c, n
        if packs_a or packs_b or rounds or n % lanes != 0:
            a_bytes = (wide * height * depth + _LINE - 1) // _LINE * _LINE if packs_a else 0
            strips = (columns + tile_columns - 1) // tile_columns if keeps_b else 1
            b_bytes = wide * tile_columns * depth * strips
            kept_rows = height if is_once else rows
            memory = allocate(a_bytes + b_bytes + _LINE + (wide * kept_rows * columns if rounds else 0))
            packed_a = (memory + _LINE - 1) // _LINE * _LINE
            packed_b = packed_a + a_bytes
            if rounds:
                to, to_step = packed_b + b_bytes, columns
        adds = 0 if beta == 0 else 1
        if adds and (rounds or beta != 1):
            scale(to, to_step, c, n, rows, columns, beta)
        for term in range(load_word(block, BLOCK.first_term), last_term):
            a_offset, b_offset = offsets(words + 8 * PRODUCT.terms, term)
            a_offset, b_offset = a_offset + first_row * a_row, b_offset + first_column * b_column
            for first in range(begin, end, depth):
                length = min(depth, end - first)
                for row in range(0, rows, height):
                    count = min(height, rows - row)
                    from_a, row_a, step_a = a + (a_offset + row * a_row + first * a_step) * size, a_row, a_step
                    if packs_a:
                        for place in range(0, count, tile_rows):
                            source, target = from_a + place * a_row * size, packed_a + place * length * wide
                            rows_left = min(tile_rows, count - place)
                            pack_a(transpose_a, source, max(a_row, a_step), rows_left, length, target)
                        from_a, row_a, step_a = packed_a, 1, 0
                    column, to_row = 0, to if rounds and is_once else to + row * to_step * wide
                    while column < columns:
                        left, to_c = columns - column, to_row + column * wide
                        from_b, step_b = b + (b_offset + column * b_column + first * b_step) * size, b_step
                        low_strip = is_low and not packs_b and left >= 2 * tile_columns
                        following = column + (2 * tile_columns if low_strip else tile_columns)
                        packed_strip = packed_b
                        if keeps_b:
                            packed_strip += wide * length * column
                        later, later_step = from_b, 0
                        if row > 0:
                            later, later_step = packed_strip + wide * length * tile_columns, wide * tile_columns
                        elif transpose_b == 0 and is_plain:  # the next strip, piece of k, or block
                            later_step = n * size
                            if following < columns:
                                later = b + (b_offset + following + first * n) * size
                            elif first + depth < end:
                                later = b + (b_offset + (first + depth) * n) * size
                            elif first_column + columns < n:
                                later = b + (b_offset + columns) * size
                        if low_strip:
                            low(
                                length,
                                from_a,
                                row_a,
                                step_a,
                                from_b,
                                step_b,
                                to_c,
                                to_step,
                                count,
                                left,
                                alpha,
                                adds,
                                later,
                                later_step,
                                0,
                            )
                            column = following
                            continue
                        left = min(left, tile_columns)
                        if packs_b or first_column + column + (left + lanes - 1) // lanes * lanes > n:
                            if row == 0 and is_plain:
                                pack_b(1 - transpose_b, from_b, max(b_column, b_step), left, length, packed_strip)
                            elif row == 0:
                                step = load_word(words, PRODUCT.window_step)
                                rows_left = window_rows + 8 * first
                                inside = window_inside + 8 * first if window_inside != 0 else 0
                                pack_windows(
                                    from_b,
                                    rows_left,
                                    window_columns,
                                    inside,
                                    first_column + column,
                                    step,
                                    left,
                                    length,
                                    packed_strip,
                                )
                            from_b, step_b = packed_strip, tile_columns
                        strip(
                            length,
                            from_a,
                            row_a,
                            step_a,
                            from_b,
                            step_b,
                            to_c,
                            to_step,
                            count,
                            left,
                            alpha,
                            adds,
                            later,
                            later_step,
                        )
                        column = following
                    if maps and term + 1 == last_term and first + length == end:
                        map_block(launch, block, to_row, to_step, row, count)
                adds = 1
        if is_half and rounds and not maps:
            narrow(c, n, to, rows, columns)
        if memory != 0:
            release(memory)

    return multiply


def _strip_multiplier(arithmetic: DataType, lanes: int) -> Any:
    """Return a function that multiplies a strip of columns, for all rows; see `tile_multiplier` for its arguments.

    It has no argument slow. a_step is 0 if a is packed, tile after tile.
    """
    one, two, three = (_tiles(arithmetic, vectors, lanes) for vectors in (1, 2, 3))

    @separate
    def multiply(k, a, a_row, a_step, b, b_step, c, c_step, num_rows, num_columns, alpha, adds, later, later_step):
        if num_columns > 2 * lanes:
            three(k, a, a_row, a_step, b, b_step, c, c_step, num_rows, num_columns, alpha, adds, later, later_step)
        elif num_columns > lanes:
            two(k, a, a_row, a_step, b, b_step, c, c_step, num_rows, num_columns, alpha, adds, later, later_step)
        else:
            one(k, a, a_row, a_step, b, b_step, c, c_step, num_rows, num_columns, alpha, adds, later, later_step)

    return multiply


def _tiles(arithmetic: DataType, vectors: int, lanes: int) -> Any:
    """Return the same for strips of `vectors` vectors."""
    size, rows = arithmetic.itemsize, tile_shape().rows
    few = rows // 2
    tile, low_tile = (_tile(arithmetic, count, vectors, lanes) for count in (rows, few))
    packed_tile, width = _packed_tile(arithmetic, rows, vectors, lanes), _VECTORS * lanes

    @separate
    def multiply(k, a, a_row, a_step, b, b_step, c, c_step, num_rows, num_columns, alpha, adds, later, later_step):
        apart, step = (a_row, a_step) if a_step else (k, rows)
        row, slow = 0, 0
        while num_rows >> slow > rows:  # the tiles together prefetch the next strip
            slow += 1
        packed = a_step == 0 and b_step == width
        while packed and num_rows - row >= rows:
            from_a, to_c = a + row * k * size, c + row * c_step * size
            packed_tile(k, from_a, b, to_c, c_step, num_columns, alpha, adds)
            row += rows
        while num_rows - row > few:
            from_a, to_c = a + row * apart * size, c + row * c_step * size
            fetched = later + row // rows * (k >> slow) * later_step
            tile(
                k,
                from_a,
                a_row,
                step,
                b,
                b_step,
                to_c,
                c_step,
                num_rows - row,
                num_columns,
                alpha,
                adds,
                fetched,
                later_step,
                slow,
            )
            row += rows
        if row < num_rows:
            from_a, to_c = a + row * apart * size, c + row * c_step * size
            fetched = later + row // rows * (k >> slow) * later_step
            low_tile(
                k,
                from_a,
                a_row,
                step,
                b,
                b_step,
                to_c,
                c_step,
                num_rows - row,
                num_columns,
                alpha,
                adds,
                fetched,
                later_step,
                slow,
            )

    return multiply


def _packed_tile(arithmetic: DataType, rows: int, vectors: int, lanes: int) -> Any:
    """Return a function (k, a, b, c, c_step, num_columns, alpha, adds) for tiles of all rows, of packed operands."""
    width = _VECTORS * lanes
    tile = _tile(arithmetic, rows, vectors, lanes, packed=width)

    @jit
    def multiply(k, a, b, c, c_step, num_columns, alpha, adds):
        tile(k, a, 1, rows, b, width, c, c_step, rows, num_columns, alpha, adds, 0, 0, 0)

    return multiply


def _tile(arithmetic: DataType, rows: int, vectors: int, lanes: int, packed: int = 0) -> Any:
    """Return the function of `tile_multiplier`, applied to pieces along k in turn: sums lose fewer digits."""
    size, multiply_piece = arithmetic.itemsize, tile_multiplier(arithmetic, rows, vectors, lanes, packed)

    @jit
    def multiply(
        k, a, a_row, a_step, b, b_step, c, c_step, num_rows, num_columns, alpha, adds, later, later_step, slow
    ):
        for first in range(0, k, _SUMMED):
            from_a, from_b = a + first * a_step * size, b + first * b_step * size
            length = min(_SUMMED, k - first)
            multiply_piece(
                length,
                from_a,
                a_row,
                a_step,
                from_b,
                b_step,
                c,
                c_step,
                num_rows,
                num_columns,
                alpha,
                adds | (first > 0),
                later + (first >> slow) * later_step,
                later_step,
                slow,
            )

    return multiply


def _packer(data_type: DataType, width: int) -> Any:
    """Return a function (in_rows, src, step, count, k, dst) that packs a strip [k, width], `count` of which are in src.

    in_rows: whether the elements of one index along k are a row of src; otherwise, a column.
    """
    arithmetic = DataType.kFloat if data_type in HALVES else data_type
    size, wide, group = data_type.itemsize, arithmetic.itemsize, gcd(_GROUP, width)
    pack_rows = row_packer(data_type, width)
    pack_columns = column_packer(data_type, group, tile_shape().vector_bytes // wide)

    @separate
    def pack(in_rows, src, step, count, k, dst):
        if in_rows:
            pack_rows(src, step, count, k, dst)
        else:
            for first in range(0, count, group):
                place = dst + first * wide
                pack_columns(src + first * step * size, step, min(group, count - first), k, place, width)

    return pack


def _windows_packer(data_type: DataType, lanes: int, width: int) -> Any:
    """Return a function (src, rows, columns, inside, first, step, count, k, dst) that packs a strip of windows.

    Element (i, j) of the strip [k, width] is src[rows[i] + columns[first + j]]; the first `count` columns are written.
    inside: the address of addresses of bits, one for each row, or 0; see `window_packer`.
    step: the difference between most columns and the ones before them.
    """
    arithmetic = DataType.kFloat if data_type in HALVES else data_type
    size, wide = data_type.itemsize, arithmetic.itemsize
    pack_adjacent, pack_every_other = (window_packer(data_type, lanes, width, step, padded=False) for step in (1, 2))
    pad_adjacent, pad_every_other = (window_packer(data_type, lanes, width, step, padded=True) for step in (1, 2))

    @separate
    def pack(src, rows, columns, inside, first, step, count, k, dst):
        column, columns = 0, columns + 8 * first
        while column < count:
            begin, length = load_word(columns, column), 1
            if step <= 2:
                while length < lanes and column + length < count:
                    if load_word(columns, column + length) != begin + length * step:
                        break
                    length += 1
            source, target = src + begin * size, dst + column * wide
            if step == 2 and inside == 0:
                pack_every_other(source, rows, inside, first + column, length, k, target)
            elif step == 2:
                pad_every_other(source, rows, inside, first + column, length, k, target)
            elif inside == 0:
                pack_adjacent(source, rows, inside, first + column, length, k, target)
            else:
                pad_adjacent(source, rows, inside, first + column, length, k, target)
            column += length

    return pack
