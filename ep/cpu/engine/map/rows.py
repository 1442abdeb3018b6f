"""Row kernels: a function of one element of each operand, in a loop over adjacent elements.

A row kernel is made of functions and a name; which op they stand for, if any, is not asked here. There are two forms.
Of two operands, either may be one element, and the kernel is called on blocks of rows. Of any other number, all
operands are adjacent elements, and the kernel is called on a range, so that a launch without a walk needs nothing else.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from ep.common.loops import unrolled, written_out
from ep.cpu.compile.compiler import compile_task
from ep.cpu.compile.jit import jit, separate
from ep.cpu.compile.memory import load_word, stack_words
from ep.cpu.engine.map.state import MAP_STATE
from ep.cpu.shared.context import CONTEXT, SOURCE_WORDS
from ep.cpu.shared.layout import layout
from ep.cpu.vector_math.inlined import inlined
from ep.cpu.vector_math.sets.beyond_limit import BLOCK, BUFFER_WORDS, COUNT, STOP, WHICH, beyond_limit
from ep.include.data_type import DataType

ROWS: Final = layout(
    "Rows",
    dst=1,
    state=1,
    src=2,
    step=2,  # elements from one of an operand to the next, 0 or 1
    row=2,  # bytes from a row of an operand to the next
    dst_size=1,  # bytes of an element
)
"""The context of a row kernel of two operands; the others take a launch's."""

ROWS_WORDS: Final[int] = ROWS.num_words


class RowFunctions(NamedTuple):
    """What a row kernel is made of: compiled functions, in the type of arithmetic of its key.

    loads: for each operand, (address, index) gives an element.
    apply: the elements, then the attributes, give the result.
    store: (address, index, value).
    read_attributes: the address of the state's attributes gives those that `apply` takes.
    apply_any: where `apply` is not good for every element, the functor that is. Where `apply` is only good for
        |x| <= LIMIT, that functor is called for one element at a time.
    exceeds: the compiled function that says of a block whether `apply` is not good for it: (address, begin, end), and
        (src0, step0, src1, step1, begin, end) of two operands; None where there is no `apply_any`.
    compile_loop: what compiles the function with the loop of `apply` over the elements.
    beyond: of one operand, the function of `beyond_limit` for elements that `apply` is not good for, and their type.
    light: whether `apply` is so short that the kernel waits for memory alone.
    """

    loads: tuple[Any, ...]
    apply: Any
    store: Any
    read_attributes: Any
    apply_any: Any = None
    exceeds: Any = None
    compile_loop: Any = jit
    beyond: tuple[str, DataType] | None = None
    light: bool = False


def row_kernel(name: str, functions: RowFunctions, streaming: bool = False) -> int:
    """The address of the task that computes rows of dst.

    name: what the kernel computes, in the cache.
    streaming: it writes past the caches, and is called on rows or ranges that begin where a line of dst does.
    Of two operands, the task is (context by ROWS, num_rows, count). Else it is (context by CONTEXT, begin, end).
    """
    rows = _rows_of_two(functions) if len(functions.loads) == 2 else _row(functions)
    return compile_task(name, rows, light=functions.light, streaming=streaming)


def _row(functions: RowFunctions) -> Any:
    loads, store, read_attributes = functions.loads, functions.store, functions.read_attributes
    sources = tuple(CONTEXT.sources + SOURCE_WORDS * k for k in range(len(loads)))

    def loop(functor, compile_loop):
        @written_out(compile_loop)
        def apply_to(srcs, dst, begin, end, attributes):
            for i in range(begin, end):
                store(dst, i, functor(*(load(srcs[k], i) for k, load in unrolled(enumerate(loads))), *attributes))

        return apply_to

    apply_to = loop(functions.apply, functions.compile_loop)
    if functions.apply_any is not None:
        apply_to = _checked(apply_to, loop(functions.apply_any, separate), functions.exceeds, len(loads))
    if functions.beyond is not None:
        return _mended(apply_to, *functions.beyond)

    @written_out(jit)
    def addresses(context):
        return tuple(load_word(context, source) for source in unrolled(sources))

    def row(context, begin, end):
        attributes = read_attributes(load_word(context, CONTEXT.state) + 8 * MAP_STATE.attributes)
        apply_to(addresses(context), load_word(context, CONTEXT.dst), begin, end, attributes)

    return row


def _mended(apply_to: Any, function: str, data_type: DataType) -> Any:
    """The row kernel where `apply_to` is only good up to a limit.

    In blocks with elements beyond, these are computed apart, and written after the others: the operands may be one.
    It is the element that decides, not its block.
    """
    which = WHICH[function]
    compute, put_back = beyond_limit(data_type)

    def row(context, begin, end):
        src, dst = load_word(context, CONTEXT.sources), load_word(context, CONTEXT.dst)
        buffer = stack_words(BUFFER_WORDS)
        while begin < end:
            compute(which, src, begin, min(begin + BLOCK, end), buffer)
            stop = load_word(buffer, STOP)
            apply_to((src,), dst, begin, stop, ())
            if load_word(buffer, COUNT) != 0:
                put_back(dst, buffer)
            begin = stop

    return row


def _rows_of_two(functions: RowFunctions) -> Any:
    (load0, load1), store, read_attributes = functions.loads, functions.store, functions.read_attributes

    def loops(functor, compile_loops=inlined):
        @compile_loops
        def apply_to(srcs, dst, begin, end, attributes):
            src0, step0, src1, step1 = srcs
            if step0 == step1:
                for i in range(begin, end):
                    store(dst, i, functor(load0(src0, i), load1(src1, i), *attributes))
            elif step0 == 0:
                a = load0(src0, 0)
                for i in range(begin, end):
                    store(dst, i, functor(a, load1(src1, i), *attributes))
            else:
                b = load1(src1, 0)
                for i in range(begin, end):
                    store(dst, i, functor(load0(src0, i), b, *attributes))

        return apply_to

    apply_to = loops(functions.apply, functions.compile_loop)
    if functions.apply_any is not None:
        apply_to = _checked(apply_to, loops(functions.apply_any, separate), functions.exceeds, 4)

    def rows(context, num_rows, count):
        attributes = read_attributes(load_word(context, ROWS.state) + 8 * MAP_STATE.attributes)
        src0, src1, dst = load_word(context, ROWS.src), load_word(context, ROWS.src + 1), load_word(context, ROWS.dst)
        step0, step1 = load_word(context, ROWS.step), load_word(context, ROWS.step + 1)
        row0, row1 = load_word(context, ROWS.row), load_word(context, ROWS.row + 1)
        dst_row = count * load_word(context, ROWS.dst_size)
        for _ in range(num_rows):
            apply_to((src0, step0, src1, step1), dst, 0, count, attributes)
            src0 += row0
            src1 += row1
            dst += dst_row

    return rows


def _checked(apply_to: Any, apply_any_to: Any, exceeds: Any, num_words: int) -> Any:
    """`apply_to`, but for blocks that it is not good for: it is the element that decides, as both give the same bits.

    num_words: how many words `exceeds` takes before the range, which is as many as their first argument has.
    """

    @written_out(jit)
    def blocks(srcs, dst, begin, end, attributes):
        while begin < end:
            stop = min(begin + BLOCK, end)
            if exceeds(*(srcs[k] for k in unrolled(range(num_words))), begin, stop):
                apply_any_to(srcs, dst, begin, stop, attributes)
            else:
                apply_to(srcs, dst, begin, stop, attributes)
            begin = stop

    return blocks
