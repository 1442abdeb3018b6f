"""BroadcastElementwiseBinary: a row kernel for each key, the task that walks the outer axes, and the entry.

A row kernel runs over the innermost axis, along which an operand is contiguous or one element. The walk is compiled
once for all keys and calls the row kernel by its address.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from ep.cpu.kernels import expand
from ep.cpu.kernels.compiler import compile_entry, compile_task
from ep.cpu.kernels.functors import row_functions, storage_type
from ep.cpu.kernels.jit import jit, separate
from ep.cpu.kernels.memory import load_word, stack_words, store_word
from ep.cpu.kernels.ndarray import READABLE, WRITABLE, are_dims, array_data, object_address, word, words
from ep.cpu.kernels.odometer import first_row, next_row
from ep.cpu.kernels.parallel import call_task
from ep.cpu.kernels.streaming import CONTEXT_WORDS, DST, run_writing
from ep.cpu.kernels.vector_math.beyond_limit import BLOCK
from ep.cpu.kernels.vector_math.inlined import inlined
from ep.cpu.launch_state import ATTRIBUTES, GRAIN, NDARRAY_TYPE, OPERANDS, TASK, TASK_ARGUMENT
from ep.cpu.plan import COUNT, DIMS, FILLS, IN_PLACE, NUM_AXES, OPERAND_COUNT, STRIDES, WALK
from ep.include.data_type import DataType
from ep.include.primitive.binary_op import BinaryOp
from ep.include.primitive.primitive import kMaxNumDims

# words of the contexts of walk and row kernel
_DST, _SRC0, _SRC1, _STATE = DST, 1, 2, 3
_PLAN = 4  # of the walk
_STEP0, _STEP1 = 4, 5  # of the row kernel: elements from one of an operand to the next, 0 or 1
_ROW0, _ROW1, _DST_SIZE = 6, 7, 8  # of the row kernel: bytes from a row of an operand to the next, bytes of an element

_TILE = 1024  # elements of an operand that are written out together, at most
_TILE_WORDS = 512  # no more, for a thread may have little stack


def row_kernel(op: BinaryOp, src_type: DataType, dst_type: DataType) -> int:
    """The address of the task (context, num_rows, count): dst[i] = op(src0[i], src1[i]) for i < count, in each row."""
    return _row_kernel(op, storage_type(src_type), storage_type(dst_type))


@cache
def _row_kernel(op: BinaryOp, src_type: DataType, dst_type: DataType) -> int:
    load, apply, store, read_attributes, apply_any, exceeds, compile_loop = row_functions(op, src_type, dst_type)

    def loops(functor, compile_loops=inlined):  # type: ignore[no-untyped-def]
        @compile_loops
        def apply_to(src0, step0, src1, step1, dst, begin, end, attributes):  # type: ignore[no-untyped-def]
            if step0 == step1:
                for i in range(begin, end):
                    store(dst, i, functor(load(src0, i), load(src1, i), *attributes))
            elif step0 == 0:
                a = load(src0, 0)
                for i in range(begin, end):
                    store(dst, i, functor(a, load(src1, i), *attributes))
            else:
                b = load(src1, 0)
                for i in range(begin, end):
                    store(dst, i, functor(load(src0, i), b, *attributes))

        return apply_to

    if apply_any is None:
        apply_to = loops(apply)
    elif op is BinaryOp.kPow:
        apply_to = checked(loops(apply, compile_loop), loops(apply_any, separate), exceeds)
    else:
        apply_to = checked(loops(apply), loops(apply_any, separate), _of_second(exceeds))

    def rows(context, num_rows, count):  # type: ignore[no-untyped-def]
        attributes = read_attributes(load_word(context, _STATE) + 8 * ATTRIBUTES)
        src0, src1, dst = load_word(context, _SRC0), load_word(context, _SRC1), load_word(context, _DST)
        step0, step1 = load_word(context, _STEP0), load_word(context, _STEP1)
        row0, row1, dst_row = (
            load_word(context, _ROW0),
            load_word(context, _ROW1),
            count * load_word(context, _DST_SIZE),
        )
        for _ in range(num_rows):
            apply_to(src0, step0, src1, step1, dst, 0, count, attributes)
            src0 += row0
            src1 += row1
            dst += dst_row

    return compile_task(f"broadcast_elementwise_binary.{op.name}.{src_type.name}.{dst_type.name}", rows)


def _of_second(exceeds: Any) -> Any:
    """The check of both operands that only looks at the second one, for an op whose functions are called on that."""

    @jit
    def of_second(src0, step0, src1, step1, begin, end):  # type: ignore[no-untyped-def]
        everywhere = step1 | (step0 == step1)  # also where both steps are 0, of one element
        return exceeds(src1, begin, end) if everywhere else exceeds(src1, 0, 1)

    return of_second


def checked(apply_to: Any, apply_any_to: Any, exceeds: Any) -> Any:
    """As the unary op's `checked`."""

    @jit
    def blocks(src0, step0, src1, step1, dst, begin, end, attributes):  # type: ignore[no-untyped-def]
        while begin < end:
            stop = min(begin + BLOCK, end)
            if exceeds(src0, step0, src1, step1, begin, stop):
                apply_any_to(src0, step0, src1, step1, dst, begin, stop, attributes)
            else:
                apply_to(src0, step0, src1, step1, dst, begin, stop, attributes)
            begin = stop

    return blocks


@cache
def walk() -> int:
    """The address of the task (context, begin, end) that calls the row kernel on each row of the walk.

    Where rows are short, an operand that is broadcast is written out first, a tile at a time, and the row kernel is
    called on tiles.
    """

    @jit
    def written_out(context, operand, begin, end, tile, fill_context):  # type: ignore[no-untyped-def]
        """The address of elements [begin, end) of an operand, written to `tile` where it is broadcast."""
        state, src = load_word(context, _STATE), load_word(context, _SRC0 + operand)
        size = load_word(state, OPERANDS + 1)
        fill = load_word(load_word(context, _PLAN), FILLS + operand)
        if fill == 0:
            return src + begin * size
        store_word(fill_context, expand.SRC, src)
        store_word(fill_context, expand.DST, tile - begin * size)  # the walk adds the place of each element
        store_word(fill_context, expand.PLAN, fill)
        call_task(load_word(fill, WALK), fill_context, begin, end)
        return tile

    @jit
    def walk_tiles(context, begin, end, row_context):  # type: ignore[no-untyped-def]
        state = load_word(context, _STATE)
        dst_size, row_kernel = load_word(state, OPERANDS + 5), load_word(state, TASK_ARGUMENT)
        tile0, tile1, fill_context = stack_words(_TILE_WORDS), stack_words(_TILE_WORDS), stack_words(3)
        store_word(row_context, _STEP0, 1)
        store_word(row_context, _STEP1, 1)
        tile = min(8 * _TILE_WORDS // load_word(state, OPERANDS + 1), _TILE)
        while begin < end:
            stop = min(begin + tile, end)
            store_word(row_context, _SRC0, written_out(context, 0, begin, stop, tile0, fill_context))
            store_word(row_context, _SRC1, written_out(context, 1, begin, stop, tile1, fill_context))
            store_word(row_context, _DST, load_word(context, _DST) + begin * dst_size)
            call_task(row_kernel, row_context, 1, stop - begin)
            begin = stop

    @jit
    def walk_one_row(context, begin, end, row_context):  # type: ignore[no-untyped-def]
        """What most launches are: nothing to find out by divisions, which would take longer than a short row."""
        plan, state = load_word(context, _PLAN), load_word(context, _STATE)
        src_size, dst_size = load_word(state, OPERANDS + 1), load_word(state, OPERANDS + 5)
        step0, step1 = load_word(plan, STRIDES), load_word(plan, STRIDES + kMaxNumDims)
        store_word(row_context, _STEP0, step0)
        store_word(row_context, _STEP1, step1)
        store_word(row_context, _ROW0, 0)
        store_word(row_context, _ROW1, 0)
        store_word(row_context, _DST_SIZE, dst_size)
        store_word(row_context, _SRC0, load_word(context, _SRC0) + begin * step0 * src_size)
        store_word(row_context, _SRC1, load_word(context, _SRC1) + begin * step1 * src_size)
        store_word(row_context, _DST, load_word(context, _DST) + begin * dst_size)
        call_task(load_word(state, TASK_ARGUMENT), row_context, 1, end - begin)

    @jit
    def walk_rows(context, begin, end, row_context):  # type: ignore[no-untyped-def]
        plan, state = load_word(context, _PLAN), load_word(context, _STATE)
        src_size, dst_size = load_word(state, OPERANDS + 1), load_word(state, OPERANDS + 5)
        inner_axis = load_word(plan, NUM_AXES) - 1
        # the walk goes over blocks of two axes, rows and what is in them
        num_outer = max(inner_axis - 1, 0)
        inner, rows, row0, row1 = load_word(plan, DIMS + inner_axis), 1, 0, 0
        step0, step1 = load_word(plan, STRIDES + inner_axis), load_word(plan, STRIDES + kMaxNumDims + inner_axis)
        if inner_axis > 0:
            rows = load_word(plan, DIMS + num_outer)
            row0, row1 = load_word(plan, STRIDES + num_outer), load_word(plan, STRIDES + kMaxNumDims + num_outer)
        index = stack_words(8)
        row, column = begin // inner, begin % inner
        offset0, offset1 = first_row(plan, num_outer, row // rows, index)
        row %= rows
        store_word(row_context, _STEP0, step0)
        store_word(row_context, _STEP1, step1)
        store_word(row_context, _ROW0, row0 * src_size)
        store_word(row_context, _ROW1, row1 * src_size)
        store_word(row_context, _DST_SIZE, dst_size)
        row_kernel = load_word(state, TASK_ARGUMENT)
        while begin < end:
            num_rows, count = 1, inner
            if column == 0 and end - begin >= inner:
                num_rows = min(rows - row, (end - begin) // inner)
            else:
                count = min(inner - column, end - begin)
            place0, place1 = offset0 + row * row0 + column * step0, offset1 + row * row1 + column * step1
            store_word(row_context, _SRC0, load_word(context, _SRC0) + place0 * src_size)
            store_word(row_context, _SRC1, load_word(context, _SRC1) + place1 * src_size)
            store_word(row_context, _DST, load_word(context, _DST) + begin * dst_size)
            call_task(row_kernel, row_context, num_rows, count)
            begin += num_rows * count
            column = 0
            row += num_rows
            if row == rows:
                row = 0
                offset0, offset1 = next_row(plan, num_outer, index, offset0, offset1)

    def walk(context, begin, end):  # type: ignore[no-untyped-def]
        plan, row_context = load_word(context, _PLAN), stack_words(9)
        store_word(row_context, _STATE, load_word(context, _STATE))
        if load_word(plan, FILLS) != 0 or load_word(plan, FILLS + 1) != 0:
            walk_tiles(context, begin, end, row_context)
        elif load_word(plan, NUM_AXES) == 1:
            walk_one_row(context, begin, end, row_context)
        else:
            walk_rows(context, begin, end, row_context)

    return compile_task("broadcast_elementwise_binary.walk", walk)


@jit
def _overlaps(operand, operand_bytes, dst, dst_bytes, in_place):  # type: ignore[no-untyped-def]
    """Whether dst lies on an operand in a way that is not allowed."""
    return operand < dst + dst_bytes and dst < operand + operand_bytes and not (operand == dst and in_place)


def _entry(state_, plan_, src0_dims_, src0_, src1_dims_, src1_, dst_):  # type: ignore[no-untyped-def]
    state, plan = word(state_), word(plan_)
    if not (are_dims(word(src0_dims_), state) and are_dims(word(src1_dims_), state)):
        return 1
    ndarray_type, count = load_word(state, NDARRAY_TYPE), load_word(plan, COUNT)
    count0, count1 = load_word(plan, OPERAND_COUNT), load_word(plan, OPERAND_COUNT + 1)
    src_size, dst_size = load_word(state, OPERANDS + 1), load_word(state, OPERANDS + 5)
    src0 = array_data(word(src0_), ndarray_type, load_word(state, OPERANDS), count0, READABLE)
    src1 = array_data(word(src1_), ndarray_type, load_word(state, OPERANDS), count1, READABLE)
    dst = array_data(word(dst_), ndarray_type, load_word(state, OPERANDS + 4), count, WRITABLE)
    if src0 == 0 or src1 == 0 or dst == 0:
        return 1
    same_size = src_size == dst_size
    if _overlaps(src0, count0 * src_size, dst, count * dst_size, same_size and load_word(plan, IN_PLACE) != 0):
        return 1
    if _overlaps(src1, count1 * src_size, dst, count * dst_size, same_size and load_word(plan, IN_PLACE + 1) != 0):
        return 1
    context = stack_words(CONTEXT_WORDS)
    store_word(context, _SRC0, src0)
    store_word(context, _SRC1, src1)
    store_word(context, _DST, dst)
    store_word(context, _STATE, state)
    store_word(context, _PLAN, plan)
    streamed_size = 0 if dst in (src0, src1) else dst_size  # in place, lines are fetched anyhow
    operands = src0, count0, src_size, src1, count1, src_size
    return run_writing(state, load_word(state, TASK), context, count, streamed_size, operands, load_word(state, GRAIN))


@cache
def entry() -> Callable[..., int]:
    """The entry (state, plan, src0_dims, src0, src1_dims, src1, dst); the state's task is the walk.

    Dims are the ones that the plan was found by. The task's argument is the row kernel.
    """
    arguments: tuple[Any, ...] = (words, words, *[object_address] * 5)
    return compile_entry("broadcast_elementwise_binary", _entry, arguments)
