"""The walk over the outer axes of a plan: the offsets of each row of the innermost axes in two operands.

dims, strides: addresses of the sizes of the axes, and of kMaxNumDims strides for each operand.
index: the words in which the functions write the index of a row along each outer axis.

Offsets are returned, in the unit of the strides: in memory, they would take more time than the elements of a short row.
"""

from __future__ import annotations

from ep.common.native.fields import Int64
from ep.cpu.compile.jit import jit
from ep.include.primitive.primitive import kMaxNumDims


@jit
def first_row(dims: Int64, strides: Int64, num_outer: int, row: int, index: Int64) -> tuple[int, int]:
    """Write the index of `row`; return its offsets in both operands."""
    offset0 = offset1 = 0
    for axis in range(num_outer - 1, -1, -1):
        size = dims[axis]
        place = row % size
        row //= size
        index[axis] = place
        offset0 += place * strides[axis]
        offset1 += place * strides[kMaxNumDims + axis]
    return offset0, offset1


@jit
def next_row(dims: Int64, strides: Int64, num_outer: int, index: Int64, offset0: int, offset1: int) -> tuple[int, int]:
    """Advance from the row at `index`, which has these offsets, to the next row; return the next row's offsets."""
    for axis in range(num_outer - 1, -1, -1):
        last = dims[axis] - 1
        place, step0, step1 = index[axis], strides[axis], strides[kMaxNumDims + axis]
        if place < last:
            index[axis] = place + 1
            return offset0 + step0, offset1 + step1
        index[axis] = 0
        offset0 -= step0 * last
        offset1 -= step1 * last
    return offset0, offset1
