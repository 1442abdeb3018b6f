"""The walk over the outer axes of a plan: where a row of the innermost axes lies in each operand."""

from __future__ import annotations

from functools import cache
from typing import Any

from ep.cpu.compile.jit import jit
from ep.cpu.compile.memory import load_word, store_word
from ep.include.primitive.primitive import kMaxNumDims


@cache
def odometer(num_operands: int) -> tuple[Any, Any]:
    """Functions (first_row, next_row) for so many operands.

    dims, strides: addresses of the sizes of the axes, and of kMaxNumDims strides for each operand.
    index, offsets: words that the functions write: the index of a row among the outer axes, and where it begins in
        each operand, in the unit of the strides.
    """

    @jit
    def first_row(dims, strides, num_outer, row, index, offsets):
        for operand in range(num_operands):
            store_word(offsets, operand, 0)
        for axis in range(num_outer - 1, -1, -1):
            size = load_word(dims, axis)
            place = row % size
            row //= size
            store_word(index, axis, place)
            for operand in range(num_operands):
                offset = load_word(offsets, operand) + place * load_word(strides, kMaxNumDims * operand + axis)
                store_word(offsets, operand, offset)

    @jit
    def next_row(dims, strides, num_outer, index, offsets):
        for axis in range(num_outer - 1, -1, -1):
            last = load_word(dims, axis) - 1
            place = load_word(index, axis)
            ends = place == last
            store_word(index, axis, 0 if ends else place + 1)
            steps = -last if ends else 1
            for operand in range(num_operands):
                offset = load_word(offsets, operand) + steps * load_word(strides, kMaxNumDims * operand + axis)
                store_word(offsets, operand, offset)
            if not ends:
                return

    return first_row, next_row
