"""Launches of any number of arrays with their own strides over one walk: the check, the plan and the walk."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from functools import cache
from typing import Any, Final

import numpy as np

from ep.common.native.fields import Int64, address, word, words
from ep.common.native.object_layout import (
    WRITEABLE,
)
from ep.common.native.objects import ArrayObject, TupleObject
from ep.common.native.python_calls import as_int
from ep.common.native.python_function import bound_function
from ep.common.native.record import Record, Words, addresses_in
from ep.common.primitive.broadcast import Dims, simplify_walk
from ep.common.primitive.strides import contiguous_strides, span
from ep.cpu.compile.compiler import compile_function
from ep.cpu.compile.jit import jit
from ep.cpu.lines.streaming import run_writing
from ep.cpu.shared.context import NO_MEMORY, StridedContext
from ep.cpu.shared.state import GRAIN_BYTES, State
from ep.include.primitive.primitive import kMaxNumDims
from ep.include.primitive.structure import kMaxOperands


class StridedLoops(Record):
    """The plan; a `StridedOperand` follows for each array, results first."""

    num_operands = word()
    num_results = word()
    task = address()
    program = address()  # of a task that takes rows through stages (`reduce/stages.py`), its words; or the task called
    count = word()  # elements of the walk, or rows
    # the bytes of results for each of these if non-temporal stores are allowed, else 0; of an element unless the task
    # itself uses them
    size = word()
    streaming = word()  # ITSELF if the task itself uses them, else NONE
    num_bytes = word()  # read and written
    grain = word()
    inner = word()  # elements of the innermost axis
    num_outer = word()
    dims = words(kMaxNumDims)  # of the outer axes


class StridedOperand(Record):
    dtype = address()
    flags = word()  # flags that the array must have
    low = word()  # the first byte that is read or written, relative to the array's address
    high = word()  # the end of these bytes
    step = word()  # the stride along the innermost axis, in elements
    walk = words(kMaxNumDims)  # the strides along the outer axes, in bytes
    rows = word()  # of an array of which rows are chosen, else 0
    row_bytes = word()  # from one of these rows to the next
    read_once = word()  # bytes of an element if they are read in the order in which results are written, else 0
    num_dims = word()
    dims = words(kMaxNumDims)  # of the array itself
    strides = words(kMaxNumDims)


def word_of(operand: int, field: int) -> int:
    """Return the place, in the words of a plan, of a field of an operand."""
    return int(StridedLoops.num_words + StridedOperand.num_words * operand + field)


def set_walk(words: np.ndarray[Any, Any], dims: Dims, walks: Sequence[Dims], sizes: Sequence[int]) -> tuple[int, ...]:
    """Write a walk to a plan; return each operand's stride along the innermost axis, in elements.

    walks: for each operand, the stride along each axis, in bytes. sizes: bytes of its elements.
    """
    words[StridedLoops.inner], words[StridedLoops.num_outer] = dims[-1], len(dims) - 1
    words[StridedLoops.dims :][: len(dims) - 1] = dims[:-1]
    steps = tuple(walk[-1] // size for walk, size in zip(walks, sizes, strict=True))
    for position, (step, walk) in enumerate(zip(steps, walks, strict=True)):
        block = words[word_of(position, 0) :][: StridedOperand.num_words]
        block[StridedOperand.step] = step
        block[StridedOperand.walk :][: len(dims) - 1] = walk[:-1]
    return steps


class StridedWords(Words):
    """The words of a plan of `num_operands` operands, zeros at first."""

    def __init__(self, num_operands: int) -> None:
        super().__init__(
            np.zeros(word_of(num_operands, 0), np.int64), addresses_in(StridedLoops, StridedOperand, num_operands)
        )


def set_array(block: np.ndarray[Any, Any], array: np.ndarray[Any, Any], flags: int) -> None:
    """Write what `is_expected` compares with an array, and where its bytes are, to the words of a `StridedOperand`."""
    low, last = span(array.shape, array.strides)
    block[StridedOperand.dtype], block[StridedOperand.flags] = id(array.dtype), flags
    block[StridedOperand.low], block[StridedOperand.high] = low, last + array.itemsize
    block[StridedOperand.num_dims] = array.ndim
    block[StridedOperand.dims :][: array.ndim] = array.shape
    block[StridedOperand.strides :][: array.ndim] = array.strides


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
            block = self.words[word_of(position, 0) :][: StridedOperand.num_words]
            set_array(block, array, WRITEABLE * (position < num_results))
            if position in chosen:
                block[StridedOperand.rows], block[StridedOperand.row_bytes] = array.shape[0], array.strides[0]
            if position in apart:
                block[StridedOperand.step] = _NOWHERE

    def set(self, **values: int) -> None:
        """Write fields of one word; task: the address of a task (context, begin, end)."""
        for field, value in values.items():
            self.words[getattr(StridedLoops, field)] = value


@jit
def operands_of(plan: StridedLoops) -> StridedOperand:
    """Return the operands of a plan, which follow it."""
    return StridedOperand.at(plan[1])


@jit
def same_place(plan: StridedLoops, first: int, second: int) -> bool:
    """Return whether two operands with the same address have each element at the same place. first, second: numbers."""
    operands = operands_of(plan)
    one, other = operands[first], operands[second]
    same = one.low == other.low
    same &= one.high == other.high
    same &= one.step == other.step
    same &= one.rows == other.rows
    for axis in range(plan.num_outer):
        same &= one.walk[axis] == other.walk[axis]
    return same


@jit
def is_expected(array: ArrayObject, block: StridedOperand, ndarray_type: int) -> bool:
    """Return whether an object is an array of the type, flags, dims and strides in `block`.

    The stride along an axis of one element may be any.
    """
    if array.type != ndarray_type or array.dtype != block.dtype:
        return False
    flags, num_dims = block.flags, block.num_dims
    if array.flags & flags != flags or array.num_dims != num_dims:
        return False
    dims, strides = array.dims, array.strides
    for axis in range(num_dims):
        size = dims[axis]
        if size != block.dims[axis]:
            return False
        if strides[axis] != block.strides[axis] and size != 1:
            return False
    return True


@jit
def launch_strided(state: State, plan: StridedLoops, places: Int64, in_place: bool) -> int:
    """Run a launch of checked arrays. places: their addresses, in memory that the launch may keep until it returns.

    Returns 0 if it ran, NO_MEMORY, or 1 if nothing was written.
    """
    context, count = StridedContext.on_stack(), plan.count
    context.dst = places[0]
    context.state = state
    context.plan = plan
    context.streaming = plan.streaming
    context.num_sources = 0  # nothing is prefetched: the task finds operands by `places`
    context.sources[0].data = places
    context.lacks_memory = 0
    size = 0 if in_place else plan.size
    num_bytes, grain = plan.num_bytes, plan.grain
    refused = run_writing(context, plan.task, count, size, num_bytes, grain)
    return NO_MEMORY if context.lacks_memory != 0 else refused


@cache
def strided_entry() -> Callable[..., int]:
    """Return the function (state, plan, arrays). It returns 0 if it ran, NO_MEMORY, or 1 if nothing was written."""

    @jit
    def launched(args: Int64) -> int:
        state, plan = State.at(ArrayObject.at(args[0]).data), StridedLoops.at(ArrayObject.at(args[1]).data)
        arrays = TupleObject.at(args[2])
        number, num_results = plan.num_operands, plan.num_results
        if arrays.length != number or number > kMaxOperands:
            return 1
        places, ndarray_type, operands = Int64.array_on_stack(kMaxOperands), state.ndarray_type, operands_of(plan)
        for k in range(number):
            array = ArrayObject.at(arrays.items[k])
            if not is_expected(array, operands[k], ndarray_type):
                return 1
            places[k] = array.data
        in_place = False
        for k in range(num_results):
            place, result = places[k], operands[k]
            for j in range(number):
                other, operand = places[j], operands[j]
                if j == k or place + result.high <= other + operand.low:
                    continue
                if other + operand.high <= place + result.low:
                    continue
                if j < num_results or place != other or not same_place(plan, k, j):
                    return 1
                in_place = True
        return launch_strided(state, plan, places, in_place)

    def entry(_: int, args: Int64, num_args: int, names: int) -> int:
        return as_int(launched(args) if num_args == 3 and names == 0 else 1)

    return bound_function("strided", compile_function("strided", entry, 4), None)
