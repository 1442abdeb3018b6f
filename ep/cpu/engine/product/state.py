"""What launches of products find in the state, and the words that say what is to be multiplied."""

from __future__ import annotations

from typing import Final

from ep.cpu.engine.layout import layout
from ep.cpu.engine.state import STATE
from ep.include.primitive.primitive import kMaxNumDims

PRODUCT_STATE: Final = layout(
    "ProductState",
    STATE,
    transpose_a=1,  # 0 or 1
    transpose_b=1,
    gemm=1,  # the address of the BLAS's product, of complex types
)

AXES: Final = layout("Axes", num_axes=1, dims=kMaxNumDims, a_strides=kMaxNumDims, b_strides=kMaxNumDims)
"""A walk over matrices of a and b, with strides in elements."""

PRODUCT: Final = layout(
    "Product",
    m=1,
    n=1,
    k=1,
    num_batches=1,  # matrices of c, which are adjacent
    num_terms=1,  # products that are summed into each; 0 leaves beta * c
    row_parts=1,  # into how many blocks a matrix of c is cut
    column_parts=1,
    batches=AXES.num_words,  # where the operands of each matrix of c begin
    terms=AXES.num_words,  # and from there on, where those of each product do
)
"""What is to be multiplied: the plan of a launch, or made by it."""
