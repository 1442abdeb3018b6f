"""The walk over the outer axes of a plan: where a row of the innermost axis lies in the two operands."""

from __future__ import annotations

from ep.cpu.kernels.jit import jit
from ep.cpu.kernels.memory import load_word, store_word
from ep.cpu.plan import DIMS, STRIDES
from ep.include.primitive.primitive import kMaxNumDims


@jit
def first_row(plan, num_outer, row, index):  # type: ignore[no-untyped-def]
    """Write the index of `row` among the outer axes to the words at `index`; return the operands' offsets there."""
    offset0 = offset1 = 0
    for axis in range(num_outer - 1, -1, -1):
        size = load_word(plan, DIMS + axis)
        place = row % size
        row //= size
        store_word(index, axis, place)
        offset0 += place * load_word(plan, STRIDES + axis)
        offset1 += place * load_word(plan, STRIDES + kMaxNumDims + axis)
    return offset0, offset1


@jit
def next_row(plan, num_outer, index, offset0, offset1):  # type: ignore[no-untyped-def]
    """Go on to the next row: step the index, and return the operands' offsets there."""
    for axis in range(num_outer - 1, -1, -1):
        size = load_word(plan, DIMS + axis)
        stride0, stride1 = load_word(plan, STRIDES + axis), load_word(plan, STRIDES + kMaxNumDims + axis)
        place = load_word(index, axis) + 1
        if place < size:
            store_word(index, axis, place)
            return offset0 + stride0, offset1 + stride1
        store_word(index, axis, 0)
        offset0 -= stride0 * (size - 1)
        offset1 -= stride1 * (size - 1)
    return offset0, offset1
