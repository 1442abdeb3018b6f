"""Where the operands of a product begin, and which block of c a piece of the work is."""

from __future__ import annotations

from ep.cpu.compile.jit import jit
from ep.cpu.compile.memory import load_word
from ep.cpu.engine.product.state import AXES, PRODUCT


@jit
def offsets(axes, index):
    """Where the operands of a matrix begin, in elements of a and of b; axes: the address of AXES."""
    a_offset, b_offset = 0, 0
    for axis in range(load_word(axes, AXES.num_axes) - 1, -1, -1):
        size = load_word(axes, AXES.dims + axis)
        place, index = index % size, index // size
        a_offset += place * load_word(axes, AXES.a_strides + axis)
        b_offset += place * load_word(axes, AXES.b_strides + axis)
    return a_offset, b_offset


@jit
def block(product, piece, unit):
    """The matrix of c that a block is part of, its first row, first column, rows and columns.

    unit: its first column is a multiple of it.
    """
    m, n = load_word(product, PRODUCT.m), load_word(product, PRODUCT.n)
    row_parts, column_parts = load_word(product, PRODUCT.row_parts), load_word(product, PRODUCT.column_parts)
    batch, part = piece // (row_parts * column_parts), piece % (row_parts * column_parts)
    row, column = part // column_parts, part % column_parts
    units = (n + unit - 1) // unit
    first_row, first_column = m * row // row_parts, units * column // column_parts * unit
    rows = m * (row + 1) // row_parts - first_row
    columns = min(units * (column + 1) // column_parts * unit, n) - first_column
    return batch, first_row, first_column, rows, columns
