"""The division of matrices into blocks, each of which one thread multiplies.

It follows from sizes alone: results have the same bits whatever the number of threads.
"""

from __future__ import annotations

from typing import Final

_LEAST_WORK: Final = 1 << 20  # multiplications of a block that is not cut: 20 us
_LEAST_WORK_OF_VECTORS: Final = 1 << 18  # the same of a product with a vector, which waits for memory
_SIDES: Final = ((2, 64), (8, 128))  # below this many blocks: the longer side of a block that is not cut
_LARGE_SIDE: Final = 1024  # the same from there on: enough blocks for as many threads as there mostly are
_LARGE_SIDE_OF_VECTORS: Final = 4096

NARROW: Final = 8
"""Rows and columns of c that are few: both operands are read once then, and memory is what a product waits for."""
_ENOUGH_BLOCKS: Final = 8  # from this many on sums are not cut
_MOST_PIECES: Final = 64  # parts of the sums of all blocks
_LEAST_WORK_OF_NARROW_PARTS: Final = 1 << 17  # multiplications of a part of sums, as `_LEAST_WORK`
_LEAST_DEPTH: Final = 32  # what a part has in k for each row, and for each column, of c: its sums are written and read


def cut(m: int, n: int, work: float, num_batches: int) -> tuple[int, int]:
    """Into how many rows and columns of blocks each of this many matrices [m, n] is cut.

    work: the multiplications that one matrix takes. Compiled, too.
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
    """Into how many parts the sums of all blocks are cut, where blocks are too few to be shared.

    It is a power of two: as many threads take as much each.

    depth: how much there is to cut, of products or of k; work: the multiplications of all blocks. Compiled, too.
    """
    if num_blocks == 0 or num_blocks >= _ENOUGH_BLOCKS:
        return 1
    least_work = _LEAST_WORK_OF_NARROW_PARTS if m == 1 or n == 1 or max(m, n) <= NARROW else _LEAST_WORK
    most = min(work / num_blocks / least_work, _MOST_PIECES // num_blocks, depth // (_LEAST_DEPTH * max(m, n)))
    parts = 1
    while parts < int(most):
        parts *= 2
    return parts
