"""How matrices are cut into blocks, each of which one thread multiplies. It follows from sizes alone: results have the
same bits whatever the number of threads."""

from __future__ import annotations

from typing import Final

_LEAST_WORK: Final = 1 << 20  # multiplications of a block that is not cut: 20 us
_LEAST_WORK_OF_VECTORS: Final = 1 << 18  # the same of a product with a vector, which waits for memory
_SIDES: Final = ((2, 64), (8, 128))  # below so many blocks: the longer side of a block that is not cut
_LARGE_SIDE: Final = 1024  # the same from there on: enough blocks for as many threads as there mostly are
_LARGE_SIDE_OF_VECTORS: Final = 4096


def cut(m: int, n: int, work: float, num_batches: int) -> tuple[int, int]:
    """Into how many rows and columns of blocks each of so many matrices [m, n] is cut.

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
