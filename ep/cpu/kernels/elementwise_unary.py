"""ElementwiseUnary: a row kernel for each key, and the entry that they share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from ep.cpu.kernels.compiler import compile_entry, compile_task
from ep.cpu.kernels.contraction import has_fused_multiply_add
from ep.cpu.kernels.functors import WITHIN_LIMIT, need_float64, row_functions, storage_type
from ep.cpu.kernels.jit import jit, separate
from ep.cpu.kernels.memory import load_word, stack_words, store_word
from ep.cpu.kernels.ndarray import READABLE, WRITABLE, array_data, index_integer, object_address, word, words
from ep.cpu.kernels.streaming import CONTEXT_WORDS, DST, run_writing
from ep.cpu.kernels.vector_math.beyond_limit import BLOCK, BUFFER_WORDS, COUNT, STOP, WHICH, beyond_limit
from ep.cpu.launch_state import ATTRIBUTES, GRAIN, NDARRAY_TYPE, OPERANDS, TASK
from ep.include.data_type import DataType
from ep.include.primitive.unary_op import UnaryOp

# words of the task's context
_DST, _SRC, _STATE = DST, 1, 2


def row_kernel(op: UnaryOp, src_type: DataType, dst_type: DataType, attributes: Sequence[float] = ()) -> int:
    """The address of the task (context, begin, end): dst[i] = op(src[i]) for begin <= i < end.

    attributes: the task takes them from the launch state; these only say what arithmetic they need.
    """
    wide = len(attributes) > 0 and need_float64(op, attributes)
    return _row_kernel(op, storage_type(src_type), storage_type(dst_type), wide)


@cache
def _row_kernel(op: UnaryOp, src_type: DataType, dst_type: DataType, wide: bool) -> int:
    load, apply, store, read_attributes, apply_any, exceeds, compile_loop = row_functions(op, src_type, dst_type, wide)

    def loop(functor, compile_loop):  # type: ignore[no-untyped-def]
        @compile_loop
        def apply_to(src, dst, begin, end, attributes):  # type: ignore[no-untyped-def]
            for i in range(begin, end):
                store(dst, i, functor(load(src, i), *attributes))

        return apply_to

    apply_to = loop(apply, compile_loop)
    if apply_any is not None:
        apply_to = checked(apply_to, loop(apply_any, separate), exceeds)

    def row(context, begin, end):  # type: ignore[no-untyped-def]
        attributes = read_attributes(load_word(context, _STATE) + 8 * ATTRIBUTES)
        apply_to(load_word(context, _SRC), load_word(context, _DST), begin, end, attributes)

    if op in WITHIN_LIMIT and has_fused_multiply_add() and src_type is not DataType.kFloat16:
        row = _mended(apply_to, WITHIN_LIMIT[op], src_type)
    name = f"elementwise_unary.{op.name}.{src_type.name}.{dst_type.name}"
    return compile_task(name + ".wide" * wide, row)


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


def _mended(apply_to: Any, function: str, data_type: DataType) -> Any:
    """The row kernel where `apply_to` is only good up to a limit.

    In blocks with elements beyond, these are computed apart, and written after the others: the operands may be one.
    It is the element that decides, not its block.
    """
    which = WHICH[function]
    compute, put_back = beyond_limit(data_type)

    def row(context, begin, end):  # type: ignore[no-untyped-def]
        src, dst, buffer = load_word(context, _SRC), load_word(context, _DST), stack_words(BUFFER_WORDS)
        while begin < end:
            compute(which, src, begin, min(begin + BLOCK, end), buffer)
            stop = load_word(buffer, STOP)
            apply_to(src, dst, begin, stop, ())
            if load_word(buffer, COUNT) != 0:
                put_back(dst, buffer)
            begin = stop

    return row


def _entry(state_, src_, dst_, count_):  # type: ignore[no-untyped-def]
    state, count = word(state_), word(count_)
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
    context = stack_words(CONTEXT_WORDS)
    store_word(context, _SRC, src)
    store_word(context, _DST, dst)
    store_word(context, _STATE, state)
    streamed_size = 0 if src == dst else dst_size  # in place, lines are fetched anyhow
    operands = src, count, src_size, 0, 0, 0
    return run_writing(state, load_word(state, TASK), context, count, streamed_size, operands, load_word(state, GRAIN))


@cache
def entry() -> Callable[..., int]:
    """The entry (state, src, dst, count); the state's task is a row kernel."""
    arguments: tuple[Any, ...] = (words, object_address, object_address, index_integer)
    return compile_entry("elementwise_unary", _entry, arguments)
