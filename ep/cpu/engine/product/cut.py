"""The cutting of matrices into blocks, each of which one thread multiplies.

It depends on sizes only, so results have the same bits for any number of threads.
"""

from __future__ import annotations

from typing import Final

_LEAST_WORK: Final = 1 << 20  # the most multiplications of a block that is not cut: 20 us
_LEAST_WORK_OF_VECTORS: Final = 1 << 18  # the same for a product with a vector, which is bound by memory
_SIDES: Final = ((2, 64), (8, 128))  # (n, the longest side of a block that is not cut if there are fewer than n blocks)
_LARGE_SIDE: Final = 1024  # the longest side if there are more blocks, enough for the usual number of threads
_LARGE_SIDE_OF_VECTORS: Final = 4096

NARROW: Final = 8
"""The most rows and columns of a narrow c: both operands are then read once, and the product is bound by memory."""
FEW_ROWS: Final = 16
"""The most rows of a that are multiplied by the rows of b without packing: they stay in a cache meanwhile."""
SHORT_ROW_BYTES: Final = 128
"""The most bytes of the sums of one row of c that stay in registers: several are then added up for each."""
_ENOUGH_BLOCKS: Final = 8  # from this number on, sums are not cut
_MOST_PIECES: Final = 64  # the most parts of the sums of all blocks together
_LEAST_WORK_OF_NARROW_PARTS: Final = 1 << 17  # multiplications of a part of sums, as `_LEAST_WORK`
_LEAST_DEPTH: Final = 32  # the least extent in k of a part, per row or column of c, since its sums are written and read
_LEAST_SUMMED: Final = 1536  # products of a part of the sums of windows: one tenth of them take as long as adding it up
_LEAST_LENGTH: Final = 512  # of such a part along the longer of products and k: it is summed in pieces
_LEAST_SIDE_OF_SUMS: Final = 32, 128  # rows and columns of a block of sums of windows; columns have a packed


def cut(m: int, n: int, work: float, num_batches: int) -> tuple[int, int]:
    """Return the numbers of rows and columns of blocks that each of `num_batches` matrices [m, n] is cut into.

    work: the multiplications for one matrix. This function is compiled, too.
    """
    rows, columns, blocks = 1, 1, num_batches
    is_vector = m == 1 or n == 1
    least_work = _LEAST_WORK_OF_VECTORS if is_vector else _LEAST_WORK
    while True:
        block_m, block_n = m // rows, n // columns
        longer = max(block_m, block_n)
        side = _LARGE_SIDE_OF_VECTORS if is_vector else _LARGE_SIDE
        for most_blocks, small_side in _SIDES[::-1]:
            if blocks < most_blocks:
                side = small_side
        if work / (rows * columns) <= least_work or longer <= side:
            return rows, columns
        if block_m > block_n:
            rows *= 2
        else:
            columns *= 2
        blocks *= 2


def cut_depth(m: int, n: int, depth: int, work: float, num_blocks: int) -> int:
    """Return the number of parts that the sums of all blocks are cut into if there are too few blocks to share.

    It is a power of two, so that threads get equal shares.
    depth: the number of products, or of elements along k, that can be cut. work: the multiplications of all blocks.
        This function is compiled, too.
    """
    if num_blocks == 0 or num_blocks >= _ENOUGH_BLOCKS:
        return 1
    least_work = _LEAST_WORK_OF_NARROW_PARTS if m == 1 or n == 1 or max(m, n) <= NARROW else _LEAST_WORK
    most = min(work / num_blocks / least_work, _MOST_PIECES // num_blocks, depth // (_LEAST_DEPTH * max(m, n)))
    parts = 1
    while parts < int(most):
        parts *= 2
    return parts


def cut_sums(m: int, n: int, k: int, num_terms: int, most_sums: int) -> tuple[int, int, int]:
    """Return the numbers of parts of rows, columns and sums of a product by transposed windows, which has many sums.

    Parts of the sums read both operands once, blocks of rows read b again, and blocks of columns pack a again.
    num_terms: the products of length k that are summed. most_sums: the most sums of a block, which stay in a cache.
    """
    depth, longer, rows, columns, parts = k * num_terms, max(k, num_terms), 1, 1, 1
    work = float(m) * n * depth
    least_rows, least_columns = _LEAST_SIDE_OF_SUMS

    def may_be_cut() -> bool:
        blocks = rows * columns * parts
        return blocks < _ENOUGH_BLOCKS and work / blocks > _LEAST_WORK

    while may_be_cut() and depth >= 2 * parts * _LEAST_SUMMED and longer >= 2 * parts * _LEAST_LENGTH:
        parts *= 2
    while may_be_cut() and m >= 2 * rows * least_rows:
        rows *= 2
    while (may_be_cut() or m * n > most_sums * rows * columns) and n >= 2 * columns * least_columns:
        columns *= 2
    return rows, columns, parts
