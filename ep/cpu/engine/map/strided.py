"""Launches of any number of arrays with their own strides over one walk: the check, the plan and the walk."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from functools import cache
from typing import Any, Final

import numpy as np

from ep.common.native.object_layout import (
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
from ep.common.native.python_calls import as_int
from ep.common.native.python_function import bound_function
from ep.common.native.words import load_int, load_word, stack_words, store_word
from ep.common.primitive.broadcast import Dims, simplify_walk
from ep.common.primitive.strides import contiguous_strides, span
from ep.cpu.compile.compiler import compile_function
from ep.cpu.compile.jit import jit
from ep.cpu.compile.ndarray import data_of
from ep.cpu.lines.streaming import run_writing
from ep.cpu.shared.context import CONTEXT, NO_MEMORY
from ep.cpu.shared.layout import ADDRESS, Words, addresses_in, layout
from ep.cpu.shared.state import GRAIN_BYTES, STATE
from ep.include.primitive.primitive import kMaxNumDims
from ep.include.primitive.structure import kMaxOperands

STRIDED_PLAN: Final = layout(
    "StridedPlan",
    num_operands=1,
    num_results=1,
    task=ADDRESS,
    program=ADDRESS,  # of a task that takes rows through stages (`reduce/stages.py`), its words; or the task called
    count=1,  # elements of the walk, or rows
    # the bytes of results for each of these if non-temporal stores are allowed, else 0; of an element unless the task
    # itself uses them
    size=1,
    streaming=1,  # ITSELF if the task itself uses them, else NONE
    num_bytes=1,  # read and written
    grain=1,
    inner=1,  # elements of the innermost axis
    num_outer=1,
    dims=kMaxNumDims,  # of the outer axes
)
"""The plan; an `OPERAND` follows for each array, results first."""

OPERAND: Final = layout(
    "Operand",
    dtype=ADDRESS,
    flags=1,  # flags that the array must have
    low=1,  # the first byte that is read or written, relative to the array's address
    high=1,  # the end of these bytes
    step=1,  # the stride along the innermost axis, in elements
    walk=kMaxNumDims,  # the strides along the outer axes, in bytes
    rows=1,  # of an array of which rows are chosen, else 0
    row_bytes=1,  # from one of these rows to the next
    read_once=1,  # bytes of an element if they are read in the order in which results are written, else 0
    num_dims=1,
    dims=kMaxNumDims,  # of the array itself
    strides=kMaxNumDims,
)

STRIDED: Final = layout("Strided", CONTEXT, lacks_memory=1, columns=1)
"""The context of a launch; lacks_memory: set by a task that could not allocate memory. columns: the address of the
sums of columns that its rows are added to."""

_CONTEXT_WORDS: Final[int] = STRIDED.num_words

OPERANDS: Final[int] = STRIDED_PLAN.num_words
OPERAND_WORDS: Final[int] = OPERAND.num_words


def word_of(operand: int, field: int) -> int:
    """Return the place, in the words of a plan, of a field of an operand."""
    return int(OPERANDS + OPERAND_WORDS * operand + field)


def set_walk(words: np.ndarray[Any, Any], dims: Dims, walks: Sequence[Dims], sizes: Sequence[int]) -> tuple[int, ...]:
    """Write a walk to a plan; return each operand's stride along the innermost axis, in elements.

    walks: for each operand, the stride along each axis, in bytes. sizes: bytes of its elements.
    """
    words[STRIDED_PLAN.inner], words[STRIDED_PLAN.num_outer] = dims[-1], len(dims) - 1
    words[STRIDED_PLAN.dims :][: len(dims) - 1] = dims[:-1]
    steps = tuple(walk[-1] // size for walk, size in zip(walks, sizes, strict=True))
    for position, (step, walk) in enumerate(zip(steps, walks, strict=True)):
        block = words[OPERANDS + OPERAND_WORDS * position :][:OPERAND_WORDS]
        block[OPERAND.step] = step
        block[OPERAND.walk :][: len(dims) - 1] = walk[:-1]
    return steps


class StridedWords(Words):
    """The words of a plan of `num_operands` operands, zeros at first."""

    def __init__(self, num_operands: int) -> None:
        num_words = OPERANDS + OPERAND_WORDS * num_operands
        super().__init__(np.zeros(num_words, np.int64), addresses_in(STRIDED_PLAN, OPERAND, num_operands))


def set_array(block: np.ndarray[Any, Any], array: np.ndarray[Any, Any], flags: int) -> None:
    """Write what `is_expected` compares with an array, and where its bytes are, to the words of an OPERAND."""
    low, last = span(array.shape, array.strides)
    block[OPERAND.dtype], block[OPERAND.flags] = id(array.dtype), flags
    block[OPERAND.low], block[OPERAND.high] = low, last + array.itemsize
    block[OPERAND.num_dims] = array.ndim
    block[OPERAND.dims :][: array.ndim] = array.shape
    block[OPERAND.strides :][: array.ndim] = array.strides


def strides_over(array: np.ndarray[Any, Any], shape: Dims) -> Dims:
    """Return the strides of an array that is broadcast to a shape."""
    return array.strides if array.shape == shape else np.broadcast_to(array, shape).strides


_NOWHERE: Final = 1 << 62  # the step of an array whose memory no result may share


class StridedPlan(StridedWords):
    """The plan for the shapes and strides of some arrays; making one compiles nothing.

    steps: for each array, the stride along the innermost axis, in elements. in_order: for each array, whether its
    elements are contiguous in the order of the walk.
    """

    def __init__(
        self,
        arrays: Sequence[np.ndarray[Any, Any]],
        num_results: int,
        shape: Dims,
        apart: Sequence[int] = (),
        chosen: Collection[int] = (),
    ) -> None:
        """Make the plan.

        arrays: results first. shape: the shape that they broadcast to; no size is 0.
        apart: the numbers of sources that need not broadcast. They are read as a whole, so no result may share their
            memory; and of results that are written as a whole, which may not share that of a source.
        chosen: the numbers of sources of which rows are chosen; the axes of a row broadcast.
        """
        still = (0,) * len(shape)
        walked = [array[0] if k in chosen else array for k, array in enumerate(arrays)]
        strides = [still if k in apart else strides_over(array, shape) for k, array in enumerate(walked)]
        order = sorted(range(len(shape)), key=lambda axis: -abs(strides[0][axis]))
        dims, *walks = simplify_walk(
            tuple(shape[axis] for axis in order), *(tuple(steps[axis] for axis in order) for steps in strides)
        )
        super().__init__(len(arrays))
        self.steps = set_walk(self.words, dims, walks, [array.itemsize for array in arrays])
        steps_in_order = contiguous_strides(dims)
        self.in_order = [
            walk == tuple(step * array.itemsize for step in steps_in_order)
            for array, walk in zip(arrays, walks, strict=True)
        ]
        result = arrays[0]
        streams = num_results == 1 and result.flags.c_contiguous and order == sorted(order)
        num_bytes = sum(math.prod(each.shape) * each.itemsize for each in arrays)
        self.set(
            num_operands=len(arrays),
            num_results=num_results,
            count=math.prod(dims),
            size=result.itemsize * streams,
            num_bytes=num_bytes,
            grain=max(GRAIN_BYTES // sum(each.itemsize for each in arrays), 1),
        )
        for position, array in enumerate(arrays):
            block = self.words[OPERANDS + OPERAND_WORDS * position :][:OPERAND_WORDS]
            set_array(block, array, WRITEABLE * (position < num_results))
            if position in chosen:
                block[OPERAND.rows], block[OPERAND.row_bytes] = array.shape[0], array.strides[0]
            if position in apart:
                block[OPERAND.step] = _NOWHERE

    def set(self, **values: int) -> None:
        """Write fields of one word; task: the address of a task (context, begin, end)."""
        for field, value in values.items():
            self.words[getattr(STRIDED_PLAN, field)] = value


@jit
def same_place(plan, one, other):
    """Return whether two operands with the same address have each element at the same place."""
    one, other = plan + 8 * (OPERANDS + OPERAND_WORDS * one), plan + 8 * (OPERANDS + OPERAND_WORDS * other)
    same = load_word(one, OPERAND.low) == load_word(other, OPERAND.low)
    same &= load_word(one, OPERAND.high) == load_word(other, OPERAND.high)
    same &= load_word(one, OPERAND.step) == load_word(other, OPERAND.step)
    same &= load_word(one, OPERAND.rows) == load_word(other, OPERAND.rows)
    for axis in range(load_word(plan, STRIDED_PLAN.num_outer)):
        same &= load_word(one, OPERAND.walk + axis) == load_word(other, OPERAND.walk + axis)
    return same


@jit
def is_expected(array, block, ndarray_type):
    """Return whether an object is an array of the type, flags, dims and strides in the words `block` of an OPERAND.

    The stride along an axis of one element may be any.
    """
    if load_word(array + TYPE, 0) != ndarray_type or load_word(array + DTYPE, 0) != load_word(block, OPERAND.dtype):
        return False
    flags, num_dims = load_word(block, OPERAND.flags), load_word(block, OPERAND.num_dims)
    if load_int(array + FLAGS) & flags != flags or load_int(array + NUM_DIMS) != num_dims:
        return False
    dims, strides = load_word(array + DIMS, 0), load_word(array + STRIDES, 0)
    for axis in range(num_dims):
        size = load_word(dims, axis)
        if size != load_word(block, OPERAND.dims + axis):
            return False
        if load_word(strides, axis) != load_word(block, OPERAND.strides + axis) and size != 1:
            return False
    return True


@jit
def launch_strided(state, plan, places, in_place):
    """Run a launch of checked arrays. places: their addresses, in memory that the launch may keep until it returns.

    Returns 0 if it ran, NO_MEMORY, or 1 if nothing was written.
    """
    context, count = stack_words(_CONTEXT_WORDS), load_word(plan, STRIDED_PLAN.count)
    store_word(context, CONTEXT.dst, load_word(places, 0))
    store_word(context, CONTEXT.state, state)
    store_word(context, CONTEXT.plan, plan)
    store_word(context, CONTEXT.streaming, load_word(plan, STRIDED_PLAN.streaming))
    store_word(context, CONTEXT.num_sources, 0)  # nothing is prefetched: the task finds operands by `places`
    store_word(context, CONTEXT.sources, places)
    store_word(context, STRIDED.lacks_memory, 0)
    size = 0 if in_place else load_word(plan, STRIDED_PLAN.size)
    num_bytes, grain = load_word(plan, STRIDED_PLAN.num_bytes), load_word(plan, STRIDED_PLAN.grain)
    refused = run_writing(context, load_word(plan, STRIDED_PLAN.task), count, size, num_bytes, grain)
    return NO_MEMORY if load_word(context, STRIDED.lacks_memory) != 0 else refused


@cache
def strided_entry() -> Callable[..., int]:
    """Return the function (state, plan, arrays). It returns 0 if it ran, NO_MEMORY, or 1 if nothing was written."""

    @jit
    def launched(args):
        state, plan, arrays = data_of(load_word(args, 0)), data_of(load_word(args, 1)), load_word(args, 2)
        number, num_results = load_word(plan, STRIDED_PLAN.num_operands), load_word(plan, STRIDED_PLAN.num_results)
        if load_word(arrays + TUPLE_LENGTH, 0) != number or number > kMaxOperands:
            return 1
        places, ndarray_type, blocks = (
            stack_words(kMaxOperands),
            load_word(state, STATE.ndarray_type),
            plan + 8 * OPERANDS,
        )
        for k in range(number):
            array = load_word(arrays + TUPLE_ITEMS, k)
            if not is_expected(array, blocks + 8 * OPERAND_WORDS * k, ndarray_type):
                return 1
            store_word(places, k, load_word(array + DATA, 0))
        in_place = False
        for k in range(num_results):
            place, block = load_word(places, k), blocks + 8 * OPERAND_WORDS * k
            for j in range(number):
                other, other_block = load_word(places, j), blocks + 8 * OPERAND_WORDS * j
                if j == k or place + load_word(block, OPERAND.high) <= other + load_word(other_block, OPERAND.low):
                    continue
                if other + load_word(other_block, OPERAND.high) <= place + load_word(block, OPERAND.low):
                    continue
                if j < num_results or place != other or not same_place(plan, k, j):
                    return 1
                in_place = True
        return launch_strided(state, plan, places, in_place)

    def entry(_, args, num_args, names):
        return as_int(launched(args) if num_args == 3 and names == 0 else 1)

    return bound_function("strided", compile_function("strided", entry, 4), None)
