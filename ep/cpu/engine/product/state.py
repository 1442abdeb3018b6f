"""The launch state of products, and the words that describe what to multiply."""

from __future__ import annotations

from typing import Final

from ep.common.native.fields import Int64, address, addresses, pointer, record, word, words
from ep.common.native.record import Record
from ep.cpu.engine.loop_nest import adjacent
from ep.cpu.engine.product.parts import NUM_LOW, STRIPS, WAYS
from ep.cpu.shared.state import State
from ep.include.primitive.primitive import kMaxNumDims
from ep.include.primitive.structure import kMaxOperands


class ProductState(State):
    """The state of a primitive that multiplies."""

    transpose_a = word()  # 0 or 1
    transpose_b = word()
    lanes = word()  # of a tile's vector
    tile_columns = word()
    low_rows = word()  # the most rows of a matrix that is computed in low strips; 0 if there are none
    narrows = word()  # whether c has fewer bits than the sums
    parts = addresses(len(WAYS) + len(STRIPS) + NUM_LOW)  # the address of each part; 0 until a launch needs it
    paired = addresses(len(STRIPS))  # the same for strips of pairs
    has = word()  # the bits of the parts that the state has
    lacks = word()  # the bits of those that launches have needed in addition
    gemm = address()  # the address of the BLAS's product, for complex types


class BatchAxes(Record):
    """A walk over matrices of a and b, with strides in elements."""

    num_axes = word()
    dims = words(kMaxNumDims)
    a_strides = words(kMaxNumDims)
    b_strides = words(kMaxNumDims)


class ProductLoops(Record):
    """A product to compute: the plan of a launch, or made by the launch."""

    m = word()
    n = word()
    k = word()
    num_batches = word()  # matrices of c, which are contiguous
    num_terms = word()  # products that are summed into each; with 0, c becomes beta * c
    row_parts = word()  # the number of blocks that a matrix of c is cut into along its rows
    column_parts = word()
    depth_parts = word()  # the number of parts that sums are cut into, along the longer of products and k
    task = address()  # the address of the task if it is another one than the primitive's; 0 if it is not
    multiply = address()  # the address of what multiplies blocks; 0 for a part of the state, or for a task of its own
    window_rows = pointer(Int64)  # the places where rows of b begin, if b is windows of an array; else 0
    window_columns = pointer(Int64)  # the places of columns in a row
    # for each column, the number of the first one behind it that is not one step after the last
    window_ends = pointer(Int64)
    # an address for each row: of bits that say which elements are inside; or 0
    window_inside = pointer(Int64)
    # for each column and the end, the number of columns before it with elements outside; or 0
    window_outside = pointer(Int64)
    bands = address()  # the address of `Bands` if blocks of columns are bands, whose windows are reduced; else 0
    planes = address()  # the address of `Planes` if b is windows of planes; else 0
    batches = record(BatchAxes)  # the start of the operands of each matrix of c
    terms = record(BatchAxes)  # the start of the operands of each product, relative to these


SIZES: Final = adjacent(
    ProductLoops, "m", "n", "k", "num_batches", "num_terms", "row_parts", "column_parts", "depth_parts"
)
"""The first of the words of a product that say its sizes, and how it is cut."""


class Planes(Record):
    """The windows of planes along three axes. bytes: of memory for a packed part of a plane, and what belongs to it."""

    groups = word()
    sizes = words(3)
    counts = words(3)
    before = words(3)
    bytes = word()


class ProductMap(Record):
    """The program of a launch that multiplies and maps."""

    task = address()  # (context, begin, end), of the map; 0 if the values are the result
    map_block = address()  # the tasks that compute the map of a block, and of adjacent elements (`mapped.py`)
    map_elements = address()
    plan = address()  # the address of its `StridedLoops`
    num_operands = word()
    num_results = word()
    values = word()  # the number of the product's values among its operands
    itemsize = word()  # their bytes
    in_parts = word()  # whether blocks have a part of the columns; c has more than one
    direct = word()  # the number of the result whose memory may hold the values; -1 if there is none
    product_state = pointer(ProductState)
    product = pointer(ProductLoops)
    a = word()  # the numbers of the product's operands among the arrays of the launch
    b = word()
    alpha = address()  # the addresses of the numbers
    beta = address()
    num_values = word()
    work = word()  # of the map of one value, in multiplications
    arrays = words(kMaxOperands)  # the number of each operand of the map among the arrays
    steps = words(kMaxOperands)  # the bytes from column to column of each of these operands


class ProductLaunch(Record):
    """The context of the task."""

    state = pointer(ProductState)
    product = pointer(ProductLoops)
    multiply = word()  # the address of what multiplies blocks (launch, block, a, b, c)
    a = word()
    b = word()
    c = word()
    alpha = word()  # the addresses of the numbers
    beta = word()
    partials = word()  # one array like c for each part of the sums, in the arithmetic type; 0 if sums are not cut
    merges = word()  # whether the parts are complete and are to be added up
    map = pointer(ProductMap)  # if c is mapped, block by block; else 0
    places = pointer(Int64)  # the addresses of the map's operands
    apart = word()  # whether the values that are mapped are in memory of their block, and not in c
    lacks_memory = word()  # set by a block that could not allocate memory, and has been left


class ProductBlock(Record):
    """A part of the work that is multiplied at once."""

    batch = word()  # the matrix of c
    part = word()  # the part of the sums
    first_row = word()
    first_column = word()
    rows = word()
    columns = word()
    first_term = word()  # the products that are summed
    last_term = word()
    first = word()  # the part of k
    last = word()
    partial = word()  # the address of the partial sums, n per row; 0 if the sums are complete and go to c
    column_part = word()  # the number of the block along the columns
