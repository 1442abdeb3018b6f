"""Row kernels: a function of one element of each operand, in a loop over adjacent elements.

A row kernel is made of functions and a name; which op they stand for, if any, is not asked here. There are two forms.
Of two operands, either may be one element, and the kernel is called on blocks of rows. Of any other number, all
operands are adjacent elements, and the kernel is called on a range, so that a launch without a walk needs nothing else.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from ep.cpu.compile.compiler import compile_task
from ep.cpu.compile.jit import jit, separate
from ep.cpu.compile.memory import load_word, stack_words
from ep.cpu.engine.map.state import MAP_STATE
from ep.cpu.engine.source import function_of
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


_ROW: Final = """
def loop(functor, compile_loop):
    @compile_loop
    def apply_to({sources}dst, begin, end, attributes):
        for i in range(begin, end):
            store(dst, i, functor({loaded}*attributes))
    return apply_to


def row_of(apply_to):
    def row(context, begin, end):
        attributes = read_attributes(load_word(context, STATE) + 8 * ATTRIBUTES)
        apply_to({addresses}load_word(context, DST), begin, end, attributes)
    return row
"""


def _row(functions: RowFunctions) -> Any:
    numbers = range(len(functions.loads))
    source = _ROW.format(
        sources="".join(f"src{k}, " for k in numbers),
        loaded="".join(f"load{k}(src{k}, i), " for k in numbers),
        addresses="".join(f"load_word(context, {CONTEXT.sources + SOURCE_WORDS * k}), " for k in numbers),
    )
    names = {f"load{k}": functions.loads[k] for k in numbers}
    names |= {"store": functions.store, "read_attributes": functions.read_attributes}
    names |= {"load_word": load_word}
    names |= {"STATE": CONTEXT.state, "DST": CONTEXT.dst, "ATTRIBUTES": MAP_STATE.attributes}
    loop, row_of = (function_of(source, name, __name__, names) for name in ("loop", "row_of"))
    apply_to = loop(functions.apply, functions.compile_loop)
    if functions.apply_any is not None:
        sources = "".join(f"src{k}, " for k in numbers)
        apply_to = _checked(apply_to, loop(functions.apply_any, separate), functions.exceeds, sources)
    return row_of(apply_to) if functions.beyond is None else _mended(apply_to, *functions.beyond)


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
            apply_to(src, dst, begin, stop, ())
            if load_word(buffer, COUNT) != 0:
                put_back(dst, buffer)
            begin = stop

    return row


def _rows_of_two(functions: RowFunctions) -> Any:
    (load0, load1), store, read_attributes = functions.loads, functions.store, functions.read_attributes

    def loops(functor, compile_loops=inlined):
        @compile_loops
        def apply_to(src0, step0, src1, step1, dst, begin, end, attributes):
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
        operands = "src0, step0, src1, step1, "
        apply_to = _checked(apply_to, loops(functions.apply_any, separate), functions.exceeds, operands)

    def rows(context, num_rows, count):
        attributes = read_attributes(load_word(context, ROWS.state) + 8 * MAP_STATE.attributes)
        src0, src1, dst = load_word(context, ROWS.src), load_word(context, ROWS.src + 1), load_word(context, ROWS.dst)
        step0, step1 = load_word(context, ROWS.step), load_word(context, ROWS.step + 1)
        row0, row1 = load_word(context, ROWS.row), load_word(context, ROWS.row + 1)
        dst_row = count * load_word(context, ROWS.dst_size)
        for _ in range(num_rows):
            apply_to(src0, step0, src1, step1, dst, 0, count, attributes)
            src0 += row0
            src1 += row1
            dst += dst_row

    return rows


_CHECKED: Final = """
def checked(apply_to, apply_any_to, exceeds):
    @jit
    def blocks({operands}dst, begin, end, attributes):
        while begin < end:
            stop = min(begin + BLOCK, end)
            if exceeds({operands}begin, stop):
                apply_any_to({operands}dst, begin, stop, attributes)
            else:
                apply_to({operands}dst, begin, stop, attributes)
            begin = stop
    return blocks
"""


def _checked(apply_to: Any, apply_any_to: Any, exceeds: Any, operands: str) -> Any:
    """`apply_to`, but for blocks that it is not good for: it is the element that decides, as both give the same bits.

    operands: the first arguments of all three, each with a comma behind it.
    """
    source = _CHECKED.format(operands=operands)
    return function_of(source, "checked", __name__, {"jit": jit, "BLOCK": BLOCK})(apply_to, apply_any_to, exceeds)
