"""The offsets of a product's operands, and the block of c of each piece of the work."""

from __future__ import annotations

from ep.common.native.words import load_word, store_word, store_words
from ep.cpu.compile.jit import jit
from ep.cpu.engine.product.bands import band_columns
from ep.cpu.engine.product.state import AXES, BLOCK, PRODUCT


@jit
def offsets(axes, index):
    """Return the offsets of a matrix's operands, in elements of a and of b; axes: the address of AXES."""
    a_offset, b_offset = 0, 0
    for axis in range(load_word(axes, AXES.num_axes) - 1, -1, -1):
        if index == 0:
            break
        size = load_word(axes, AXES.dims + axis)
        place, index = index % size, index // size
        a_offset += place * load_word(axes, AXES.a_strides + axis)
        b_offset += place * load_word(axes, AXES.b_strides + axis)
    return a_offset, b_offset


@jit
def set_block(block, product, piece, unit):
    """Write to `block` the piece of the work with number `piece`, without a place for partial sums.

    unit: the first column of the block is a multiple of it, unless blocks are bands.
    """
    m, n, k = load_word(product, PRODUCT.m), load_word(product, PRODUCT.n), load_word(product, PRODUCT.k)
    row_parts, column_parts = load_word(product, PRODUCT.row_parts), load_word(product, PRODUCT.column_parts)
    parts, num_terms = load_word(product, PRODUCT.depth_parts), load_word(product, PRODUCT.num_terms)
    if parts == 1 and row_parts == 1 and column_parts == 1 and load_word(product, PRODUCT.bands) == 0:
        store_words(block, piece, 0, 0, 0, m, n, 0, num_terms, 0, k, 0, 0)  # divisions take as long as small products
        return
    part, piece = piece % parts, piece // parts
    column, piece = piece % column_parts, piece // column_parts
    row, batch = piece % row_parts, piece // row_parts
    units = (n + unit - 1) // unit
    first_row, first_column = m * row // row_parts, units * column // column_parts * unit
    rows = m * (row + 1) // row_parts - first_row
    columns = min(units * (column + 1) // column_parts * unit, n) - first_column
    if load_word(product, PRODUCT.bands) != 0:
        first_column, columns = band_columns(load_word(product, PRODUCT.bands), column, column_parts)
    store_words(block, batch, part, first_row, first_column, rows, columns, 0, num_terms, 0, k, 0, column)
    longer = max(num_terms, k)
    field = BLOCK.first_term if num_terms > k else BLOCK.first
    store_word(block, field, longer * part // parts)
    store_word(block, field + 1, longer * (part + 1) // parts)
