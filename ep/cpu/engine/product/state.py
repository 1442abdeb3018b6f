"""The launch state of products, and the words that describe what to multiply."""

from __future__ import annotations

from typing import Final

from ep.cpu.engine.loop_nest import adjacent
from ep.cpu.engine.product.parts import STRIPS, WAYS
from ep.cpu.shared.layout import ADDRESS, addresses, layout
from ep.cpu.shared.state import STATE
from ep.include.primitive.primitive import kMaxNumDims
from ep.include.primitive.structure import kMaxOperands

PRODUCT_STATE: Final = layout(
    "ProductState",
    STATE,
    transpose_a=1,  # 0 or 1
    transpose_b=1,
    lanes=1,  # of a tile's vector
    tile_columns=1,
    low_rows=1,  # the most rows of a block that is computed in low strips; 0 if there are none
    narrows=1,  # whether c has fewer bits than the sums
    parts=addresses(len(WAYS) + len(STRIPS) + 1),  # the address of each part; 0 until a launch needs it
    paired=addresses(len(STRIPS)),  # the same for strips of pairs
    has=1,  # the bits of the parts that the state has
    lacks=1,  # the bits of those that launches have needed in addition
    gemm=ADDRESS,  # the address of the BLAS's product, for complex types
)

AXES: Final = layout("Axes", num_axes=1, dims=kMaxNumDims, a_strides=kMaxNumDims, b_strides=kMaxNumDims)
"""A walk over matrices of a and b, with strides in elements."""

PRODUCT: Final = layout(
    "Product",
    m=1,
    n=1,
    k=1,
    num_batches=1,  # matrices of c, which are contiguous
    num_terms=1,  # products that are summed into each; with 0, c becomes beta * c
    row_parts=1,  # the number of blocks that a matrix of c is cut into along its rows
    column_parts=1,
    depth_parts=1,  # the number of parts that sums are cut into, along the longer of products and k
    task=ADDRESS,  # the address of the task if it is another one than the primitive's; 0 if it is not
    multiply=ADDRESS,  # the address of what multiplies blocks; 0 for a part of the state, or for a task of its own
    window_rows=ADDRESS,  # the address of the places where rows of b begin, if b is windows of an array; else 0
    window_columns=ADDRESS,  # the address of the places of columns in a row
    window_ends=ADDRESS,  # for each column, the number of the first one behind it that is not one step after the last
    window_inside=ADDRESS,  # the address of an address for each row: of bits that say which elements are inside; or 0
    window_outside=ADDRESS,  # for each column and the end, the number of columns before it with elements outside; or 0
    bands=ADDRESS,  # the address of `BANDS` if blocks of columns are bands, whose windows are reduced; else 0
    planes=ADDRESS,  # the address of `PLANES` if b is windows of planes; else 0
    batches=AXES.num_words,  # the start of the operands of each matrix of c
    terms=AXES.num_words,  # the start of the operands of each product, relative to these
)
"""A product to compute: the plan of a launch, or made by the launch."""

SIZES: Final = adjacent(PRODUCT, "m", "n", "k", "num_batches", "num_terms", "row_parts", "column_parts", "depth_parts")
"""The first of the words of a product that say its sizes, and how it is cut."""

PLANES: Final = layout("Planes", groups=1, sizes=3, counts=3, before=3, bytes=1)
"""The windows of planes along three axes. bytes: of memory for a packed part of a plane, and what belongs to it."""

PRODUCT_LAUNCH: Final = layout(
    "ProductLaunch",
    state=1,
    product=1,
    multiply=1,  # the address of what multiplies blocks (launch, block, a, b, c)
    a=1,
    b=1,
    c=1,
    alpha=1,  # the addresses of the numbers
    beta=1,
    partials=1,  # one array like c for each part of the sums, in the arithmetic type; 0 if sums are not cut
    merges=1,  # whether the parts are complete and are to be added up
    map=1,  # the address of `PRODUCT_MAP` if c is mapped, block by block; 0 if it is not
    places=1,  # the addresses of the map's operands
    apart=1,  # whether the values that are mapped are in memory of their block, and not in c
    lacks_memory=1,  # set by a block that could not allocate memory, and has been left
)
"""The context of the task."""

PRODUCT_LAUNCH_WORDS: Final[int] = PRODUCT_LAUNCH.num_words

PRODUCT_MAP: Final = layout(
    "ProductMap",
    task=ADDRESS,  # (context, begin, end), of the map; 0 if the values are the result
    map_block=ADDRESS,  # the tasks that compute the map of a block, and of adjacent elements (`mapped.py`)
    map_elements=ADDRESS,
    plan=ADDRESS,  # the address of its `STRIDED_PLAN`
    num_operands=1,
    num_results=1,
    values=1,  # the number of the product's values among its operands
    itemsize=1,  # their bytes
    in_parts=1,  # whether blocks have a part of the columns; c has more than one
    direct=1,  # the number of the result whose memory may hold the values; -1 if there is none
    product_state=ADDRESS,
    product=ADDRESS,
    a=1,  # the numbers of the product's operands among the arrays of the launch
    b=1,
    alpha=ADDRESS,  # the addresses of the numbers
    beta=ADDRESS,
    num_values=1,
    work=1,  # of the map of one value, in multiplications
    arrays=kMaxOperands,  # the number of each operand of the map among the arrays
    steps=kMaxOperands,  # the bytes from column to column of each of these operands
)
"""The program of a launch that multiplies and maps."""

BLOCK: Final = layout(
    "Block",
    batch=1,  # the matrix of c
    part=1,  # the part of the sums
    first_row=1,
    first_column=1,
    rows=1,
    columns=1,
    first_term=1,  # the products that are summed
    last_term=1,
    first=1,  # the part of k
    last=1,
    partial=1,  # the address of the partial sums, n per row; 0 if the sums are complete and go to c
    column_part=1,  # the number of the block along the columns
)
"""A part of the work that is multiplied at once."""

BLOCK_WORDS: Final[int] = BLOCK.num_words
