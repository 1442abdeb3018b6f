"""Launches of any number of arrays with strides of their own, over one walk: the check, the plan and the walk."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, Final

import numpy as np

from ep.common.primitive.broadcast import simplify_walk
from ep.cpu.compile.compiler import compile_entry
from ep.cpu.compile.jit import jit
from ep.cpu.compile.memory import load_int, load_word, stack_words, store_word
from ep.cpu.compile.ndarray import object_address, word, words
from ep.cpu.lines.streaming import run_writing
from ep.cpu.shared.context import CONTEXT, CONTEXT_WORDS, NONE
from ep.cpu.shared.layout import layout
from ep.cpu.shared.object_layout import (
    DATA,
    DIMS,
    DTYPE,
    FLAGS,
    NUM_DIMS,
    STRIDES,
    TUPLE_ITEMS,
    TUPLE_LENGTH,
    TYPE,
    WRITEABLE,
)
from ep.cpu.shared.state import GRAIN_BYTES, STATE
from ep.include.primitive.expression import kMaxOperands
from ep.include.primitive.primitive import kMaxNumDims

STRIDED_PLAN: Final = layout(
    "StridedPlan",
    num_operands=1,
    num_results=1,
    task=1,
    count=1,  # elements of the walk
    size=1,  # bytes of an element of the one result, where it may be written past the caches, else 0
    num_bytes=1,  # read and written
    grain=1,
    inner=1,  # elements of the innermost axis
    num_outer=1,
    dims=kMaxNumDims,  # of the outer axes
)
"""The plan; `OPERAND` follows for each array, results first."""

OPERAND: Final = layout(
    "Operand",
    dtype=1,
    flags=1,  # that the array must have
    low=1,  # from its address, the first byte that is read or written,
    high=1,  # and the one after the last
    step=1,  # elements from one to the next of the innermost axis
    walk=kMaxNumDims,  # bytes from one to the next of each outer axis
    num_dims=1,
    dims=kMaxNumDims,  # the array's own
    strides=kMaxNumDims,
)

_OPERANDS, _WORDS = STRIDED_PLAN.num_words, OPERAND.num_words


def word_of(operand: int, field: int) -> int:
    """The word of a plan with a field of an operand."""
    return int(_OPERANDS + _WORDS * operand + field)


class StridedPlan:
    """What follows from the shapes and strides of arrays; making one compiles nothing.

    steps: of each array, elements from one to the next of the innermost axis.
    """

    def __init__(self, arrays: Sequence[np.ndarray[Any, Any]], num_results: int) -> None:
        """arrays: results first, of one shape with no size 0; all else broadcasts to it."""
        shape = arrays[0].shape
        strides = [np.broadcast_to(array, shape).strides if array.shape != shape else array.strides for array in arrays]
        order = sorted(range(len(shape)), key=lambda axis: -abs(strides[0][axis]))
        dims, *walks = simplify_walk(
            tuple(shape[axis] for axis in order), *(tuple(steps[axis] for axis in order) for steps in strides)
        )
        self.steps = tuple(walk[-1] // array.itemsize for walk, array in zip(walks, arrays, strict=True))
        self.words = np.zeros(_OPERANDS + _WORDS * len(arrays), np.int64)
        result, count = arrays[0], math.prod(dims)
        streams = num_results == 1 and result.flags.c_contiguous and order == sorted(order)
        num_bytes = sum(math.prod(each.shape) * each.itemsize for each in arrays)
        head = {
            "num_operands": len(arrays),
            "num_results": num_results,
            "count": count,
            "size": result.itemsize * streams,
            "num_bytes": num_bytes,
            "grain": max(GRAIN_BYTES // sum(each.itemsize for each in arrays), 1),
            "inner": dims[-1],
            "num_outer": len(dims) - 1,
        }
        for name, value in head.items():
            self.words[getattr(STRIDED_PLAN, name)] = value
        self.words[STRIDED_PLAN.dims :][: len(dims) - 1] = dims[:-1]
        for position, (array, walk) in enumerate(zip(arrays, walks, strict=True)):
            block = self.words[_OPERANDS + _WORDS * position :][:_WORDS]
            low, high = extent(array)
            block[OPERAND.dtype], block[OPERAND.flags] = id(array.dtype), WRITEABLE * (position < num_results)
            block[OPERAND.low], block[OPERAND.high], block[OPERAND.step] = low, high, self.steps[position]
            block[OPERAND.walk :][: len(dims) - 1] = walk[:-1]
            block[OPERAND.num_dims] = array.ndim
            block[OPERAND.dims :][: array.ndim] = array.shape
            block[OPERAND.strides :][: array.ndim] = array.strides

    def set_task(self, task: int) -> None:
        """Write the address of the task (context, begin, end) that computes elements."""
        self.words[STRIDED_PLAN.task] = task


def extent(array: np.ndarray[Any, Any]) -> tuple[int, int]:
    """The first byte of an array's elements and the one after the last, from its address; no size is 0."""
    ends = [(size - 1) * stride for size, stride in zip(array.shape, array.strides, strict=True)]
    return sum(min(end, 0) for end in ends), sum(max(end, 0) for end in ends) + array.itemsize


@cache
def strided_entry() -> Callable[..., int]:
    """The entry (state, plan, arrays): 0 where the launch was done, else nothing has been written."""

    @jit
    def same_place(plan, one, other):
        """Whether each element of two operands with one address is at one place."""
        one, other = plan + 8 * (_OPERANDS + _WORDS * one), plan + 8 * (_OPERANDS + _WORDS * other)
        same = load_word(one, OPERAND.low) == load_word(other, OPERAND.low)
        same &= load_word(one, OPERAND.high) == load_word(other, OPERAND.high)
        same &= load_word(one, OPERAND.step) == load_word(other, OPERAND.step)
        for axis in range(load_word(plan, STRIDED_PLAN.num_outer)):
            same &= load_word(one, OPERAND.walk + axis) == load_word(other, OPERAND.walk + axis)
        return same

    @jit
    def is_expected(array, block, ndarray_type):
        if load_word(array + TYPE, 0) != ndarray_type or load_word(array + DTYPE, 0) != load_word(block, OPERAND.dtype):
            return False
        flags, num_dims = load_word(block, OPERAND.flags), load_word(block, OPERAND.num_dims)
        if load_int(array + FLAGS) & flags != flags or load_int(array + NUM_DIMS) != num_dims:
            return False
        dims, strides = load_word(array + DIMS, 0), load_word(array + STRIDES, 0)
        for axis in range(num_dims):
            if load_word(dims, axis) != load_word(block, OPERAND.dims + axis):
                return False
            if load_word(strides, axis) != load_word(block, OPERAND.strides + axis):
                return False
        return True

    def entry(state_, plan_, arrays_):
        state, plan, arrays = word(state_), word(plan_), word(arrays_)
        number, num_results = load_word(plan, STRIDED_PLAN.num_operands), load_word(plan, STRIDED_PLAN.num_results)
        if load_word(arrays + TUPLE_LENGTH, 0) != number or number > kMaxOperands:
            return 1
        places, ndarray_type, blocks = (
            stack_words(kMaxOperands),
            load_word(state, STATE.ndarray_type),
            plan + 8 * _OPERANDS,
        )
        for k in range(number):
            array = load_word(arrays + TUPLE_ITEMS, k)
            if not is_expected(array, blocks + 8 * _WORDS * k, ndarray_type):
                return 1
            store_word(places, k, load_word(array + DATA, 0))
        in_place = False
        for k in range(num_results):
            place, block = load_word(places, k), blocks + 8 * _WORDS * k
            for j in range(number):
                other, other_block = load_word(places, j), blocks + 8 * _WORDS * j
                if j == k or place + load_word(block, OPERAND.high) <= other + load_word(other_block, OPERAND.low):
                    continue
                if other + load_word(other_block, OPERAND.high) <= place + load_word(block, OPERAND.low):
                    continue
                if j < num_results or place != other or not same_place(plan, k, j):
                    return 1
                in_place = True
        context, count = stack_words(CONTEXT_WORDS), load_word(plan, STRIDED_PLAN.count)
        store_word(context, CONTEXT.dst, load_word(places, 0))
        store_word(context, CONTEXT.state, state)
        store_word(context, CONTEXT.plan, plan)
        store_word(context, CONTEXT.streaming, NONE)
        store_word(context, CONTEXT.sources, places)
        size = 0 if in_place else load_word(plan, STRIDED_PLAN.size)
        num_bytes, grain = load_word(plan, STRIDED_PLAN.num_bytes), load_word(plan, STRIDED_PLAN.grain)
        return run_writing(context, load_word(plan, STRIDED_PLAN.task), count, size, num_bytes, grain)

    return compile_entry("strided", entry, (words, words, object_address))
