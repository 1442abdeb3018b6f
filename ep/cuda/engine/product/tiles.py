"""The launches of products that a kernel of this package computes, in tiles of c."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ep.common.primitive.product import Product
from ep.cuda.compile.launch_config import BLOCK_THREADS, MAX_BLOCKS, Grid
from ep.cuda.engine.product.strided_batches import strided_batches

SIDE: Final = 16
"""The rows and columns of a tile, each of whose elements has a thread."""
assert SIDE * SIDE == BLOCK_THREADS

_MOST_BLOCKS: Final = 2**16 - 1  # along the second axis of a grid, and the third one


def tiled(
    product: Product, transpose_a: bool, addresses: tuple[int, int, int], size: int, alpha: int, beta: int
) -> Iterator[tuple[Grid, tuple[int, ...]]]:
    """Yield the grid and the words of each launch of the kernel.

    addresses: those of a, b and c. size: the bytes of an element.
    """
    m, n, k, *_ = product
    down, across = -(-m // SIDE), -(-n // SIDE)
    for batch in strided_batches(product, transpose_a, MAX_BLOCKS):
        places = (address + offset * size for address, offset in zip(addresses, batch.offsets, strict=True))
        grid = Grid((down, min(across, _MOST_BLOCKS), min(batch.batch_count, _MOST_BLOCKS)))
        numbers = alpha, beta if batch.first else 1
        yield grid, (*places, m, n, k, batch.batch_count, *batch.strides, *numbers)
