"""The walk over the outer axes of a plan: where a row of the innermost axis lies in the two operands."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import carray
from numba.core import types
from numba.extending import intrinsic

from ep.common.primitive.nd_index_offset_helper import nd_index_to_offset, offset_to_nd_index
from ep.cpu.kernels.jit import jit
from ep.cpu.kernels.memory import load_word, store_word
from ep.cpu.plan import DIMS, STRIDES
from ep.include.primitive.primitive import kMaxNumDims

_to_offset = jit(nd_index_to_offset)
_to_index = jit(offset_to_nd_index)


@intrinsic
def _pointer(typing_context: Any, address: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.inttoptr(args[0], ir.IntType(64).as_pointer())

    return types.CPointer(types.int64)(types.int64), generate


@jit
def _words(address):  # type: ignore[no-untyped-def]
    return carray(_pointer(address), kMaxNumDims)


@jit
def first_row(plan, num_outer, row, index):  # type: ignore[no-untyped-def]
    """Write the index of `row` among the outer axes to the words at `index`; return the operands' offsets there."""
    _to_index(row, _words(plan + 8 * DIMS), num_outer, _words(index))
    offset0 = _to_offset(_words(index), _words(plan + 8 * STRIDES), num_outer)
    offset1 = _to_offset(_words(index), _words(plan + 8 * (STRIDES + kMaxNumDims)), num_outer)
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
