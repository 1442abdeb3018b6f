"""The offsets of a product's operands, and the block of c of each piece of the work."""

from __future__ import annotations

from ep.cpu.compile.jit import jit
from ep.cpu.engine.product.bands import Bands, band_columns
from ep.cpu.engine.product.state import BatchAxes, ProductBlock, ProductLoops


@jit
def offsets(axes: BatchAxes, index: int) -> tuple[int, int]:
    """Return the offsets of a matrix's operands, in elements of a and of b; axes: the address of BatchAxes."""
    a_offset, b_offset = 0, 0
    for axis in range(axes.num_axes - 1, -1, -1):
        if index == 0:
            break
        size = axes.dims[axis]
        place, index = index % size, index // size
        a_offset += place * axes.a_strides[axis]
        b_offset += place * axes.b_strides[axis]
    return a_offset, b_offset


@jit
def _set(
    block: ProductBlock, batch: int, part: int, first_row: int, first_column: int, rows: int, columns: int,
    num_terms: int, k: int, column: int,
) -> None:  # fmt: skip
    block.batch, block.part, block.first_row, block.first_column = batch, part, first_row, first_column
    block.rows, block.columns, block.partial, block.column_part = rows, columns, 0, column
    block.first_term, block.last_term, block.first, block.last = 0, num_terms, 0, k


@jit
def set_block(block: ProductBlock, product: ProductLoops, piece: int, unit: int) -> None:
    """Write to `block` the piece of the work with number `piece`, without a place for partial sums.

    unit: the first column of the block is a multiple of it, unless blocks are bands.
    """
    m, n, k = product.m, product.n, product.k
    row_parts, column_parts = product.row_parts, product.column_parts
    parts, num_terms = product.depth_parts, product.num_terms
    if parts == 1 and row_parts == 1 and column_parts == 1 and product.bands == 0:
        # divisions take as long as small products
        _set(block, piece, 0, 0, 0, m, n, num_terms, k, 0)
        return
    part, piece = piece % parts, piece // parts
    column, piece = piece % column_parts, piece // column_parts
    row, batch = piece % row_parts, piece // row_parts
    units = (n + unit - 1) // unit
    first_row, first_column = m * row // row_parts, units * column // column_parts * unit
    rows = m * (row + 1) // row_parts - first_row
    columns = min(units * (column + 1) // column_parts * unit, n) - first_column
    if product.bands != 0:
        first_column, columns = band_columns(Bands.at(product.bands), column, column_parts)
    _set(block, batch, part, first_row, first_column, rows, columns, num_terms, k, column)
    longer = max(num_terms, k)
    first, last = longer * part // parts, longer * (part + 1) // parts
    if num_terms > k:
        block.first_term, block.last_term = first, last
    else:
        block.first, block.last = first, last
