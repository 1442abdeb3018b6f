"""The shapes of tiles, which follow from the number and size of the processor's registers."""

from __future__ import annotations

from functools import cache
from typing import Final, NamedTuple

from ep.cpu.compile.target import of_kernels
from ep.cpu.engine.product.types import arithmetic_of
from ep.include.data_type import DataType

VECTORS: Final = 3
"""The vectors of columns of a tile."""

FEW_STRIPS: Final = 4
"""The most strips of columns of a block for which a is read in place."""


class Shape(NamedTuple):
    """A tile's number of rows, and the bytes of its vectors: three vectors of columns fill the registers with sums."""

    rows: int
    vector_bytes: int


@cache
def tile_shape() -> Shape:
    """Return the shape of tiles that suits the number and size of the target processor's registers."""
    target = of_kernels()
    if not target.is_x86_64:
        return Shape(8, 16)
    return Shape(8, 64) if target.has("avx512f", "avx512bw") else Shape(4, 32)


def num_registers() -> int:
    """Return the number of the target processor's registers for vectors: AVX2 has 16."""
    return 16 if tile_shape().vector_bytes == 32 else 32


def rows_of(vectors: int) -> int:
    """Return the number of rows of a tile of `vectors` vectors of columns, at most `VECTORS`.

    Fewer sums than the registers hold would depend on each other too closely: a product takes several cycles.
    """
    return tile_shape().rows * VECTORS // max(vectors, 2)


def lanes_of(arithmetic: DataType) -> int:
    """Return the number of lanes of a tile's vector."""
    return tile_shape().vector_bytes // arithmetic.itemsize


@cache
def block_columns(data_type: DataType) -> int:
    """Return the number of columns of a tile; blocks begin at multiples of it."""
    return VECTORS * lanes_of(arithmetic_of(data_type))
