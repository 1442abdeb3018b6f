"""ElementwiseUnary: a row kernel for each key, and the entry that they share."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from numba.core import types

from ep.cpu.kernels.compiler import compile_entry, compile_task
from ep.cpu.kernels.functors import BLOCK, ON_POSITIVE, exceeds_limit, is_not_positive, row_functions, storage_type
from ep.cpu.kernels.jit import jit
from ep.cpu.kernels.memory import load_word, stack_words, store_word
from ep.cpu.kernels.ndarray import READABLE, WRITABLE, array_data, index_integer, object_address, word
from ep.cpu.kernels.parallel import run
from ep.cpu.launch_state import ATTRIBUTES, GRAIN, NDARRAY_TYPE, OPERANDS, TASK
from ep.include.data_type import DataType
from ep.include.primitive.unary_op import UnaryOp

# words of the task's context
_SRC, _DST, _STATE = 0, 1, 2


def row_kernel(op: UnaryOp, src_type: DataType, dst_type: DataType) -> int:
    """The address of the task (context, begin, end): dst[i] = op(src[i]) for begin <= i < end."""
    return _row_kernel(op, storage_type(src_type), storage_type(dst_type))


@cache
def _row_kernel(op: UnaryOp, src_type: DataType, dst_type: DataType) -> int:
    load, apply, store, read_attributes, apply_any, compile_loop = row_functions(op, src_type, dst_type)

    def loop(functor, compile_loop=compile_loop):  # type: ignore[no-untyped-def]
        @compile_loop
        def apply_to(src, dst, begin, end, attributes):  # type: ignore[no-untyped-def]
            for i in range(begin, end):
                store(dst, i, functor(load(src, i), *attributes))

        return apply_to

    if apply_any is None:
        apply_to = loop(apply)
    else:
        exceeds = is_not_positive(load) if op in ON_POSITIVE else exceeds_limit(load)
        apply_to = checked(loop(apply), loop(apply_any, jit), exceeds)

    def row(context, begin, end):  # type: ignore[no-untyped-def]
        attributes = read_attributes(load_word(context, _STATE) + 8 * ATTRIBUTES)
        apply_to(load_word(context, _SRC), load_word(context, _DST), begin, end, attributes)

    return compile_task(f"elementwise_unary.{op.name}.{src_type.name}.{dst_type.name}", row)


def checked(apply_to: Any, apply_any_to: Any, exceeds: Any) -> Any:
    """A loop that takes the slow functor for blocks of elements in which one is beyond the limit of the fast one.

    It is the element that decides: both functors give the same bits within the limit.
    """

    @jit
    def blocks(src, dst, begin, end, attributes):  # type: ignore[no-untyped-def]
        while begin < end:
            stop = min(begin + BLOCK, end)
            if exceeds(src, begin, stop):
                apply_any_to(src, dst, begin, stop, attributes)
            else:
                apply_to(src, dst, begin, stop, attributes)
            begin = stop

    return blocks


def _entry(state_, src_, dst_, count_):  # type: ignore[no-untyped-def]
    state, count = state_, word(count_)
    if count <= 0:
        return 1
    ndarray_type = load_word(state, NDARRAY_TYPE)
    src_size, dst_size = load_word(state, OPERANDS + 1), load_word(state, OPERANDS + 3)
    src = array_data(word(src_), ndarray_type, load_word(state, OPERANDS), count, READABLE)
    dst = array_data(word(dst_), ndarray_type, load_word(state, OPERANDS + 2), count, WRITABLE)
    if src == 0 or dst == 0:
        return 1
    if src < dst + dst_size * count and dst < src + src_size * count and (src != dst or src_size != dst_size):
        return 1
    context = stack_words(3)
    store_word(context, _SRC, src)
    store_word(context, _DST, dst)
    store_word(context, _STATE, state)
    run(state, load_word(state, TASK), context, count, load_word(state, GRAIN))
    return 0


@cache
def entry() -> Callable[..., int]:
    """The entry (state, src, dst, count); the state's task is a row kernel."""
    arguments: tuple[Any, ...] = (types.int64, object_address, object_address, index_integer)
    return compile_entry("elementwise_unary", _entry, arguments)
