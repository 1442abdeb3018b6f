"""Row kernels: a function of one element of each operand, in a loop over contiguous elements.

A row kernel is made of functions and a name; it does not depend on the op that they compute, if any. There are two
forms. A row kernel of two operands is called on blocks of rows, and either operand may be one element. A row kernel of
any other number of operands is called on a range of contiguous elements, so it serves as the task of a launch without a
walk.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from ep.common.native.emitted import numba_type
from ep.common.native.fields import word, words
from ep.common.native.record import Record
from ep.cpu.compile.code import Code
from ep.cpu.compile.compiler import compile_written
from ep.cpu.compile.memory import load_element, loaded_type, store_element
from ep.cpu.compile.vectors import FLOAT, WORD, interleaving, least, loop
from ep.cpu.engine.map.state import MapState
from ep.cpu.shared.context import Context
from ep.cpu.threads.scratch import give_back, take, thread_memory
from ep.cpu.vector_math.sets.beyond_buffer import BLOCK, BUFFER_BYTES, BeyondLimit
from ep.include.data_type import DataType


class InnerContext(Record):
    """The context of a row kernel of two operands; other row kernels use the context of the launch."""

    dst = word()
    state = word()
    src = words(2)
    step = words(2)  # elements from one element of an operand to the next, 0 or 1
    row = words(2)  # bytes from a row of an operand to the next
    dst_size = word()  # bytes of an element


class RowFunctions(NamedTuple):
    """The parts of a row kernel: element types, and compiled functions in the arithmetic type of its key.

    src_types, dst_type: the element types of each operand and of dst.
    apply: computes the result from the elements, then the attributes.
    widened: whether `apply` computes in float64 for elements of float32 and narrower types.
    attributes: the types of the attributes that `apply` takes: float32 or float64.
    apply_any: the functor that is valid for every element, if `apply` is not. If `apply` is valid only for |x| <=
        LIMIT, it is called for one element at a time.
    exceeds: the compiled function that returns whether `apply` is invalid for a block: (address, begin, end), or (src0,
        step0, src1, step1, begin, end) for two operands; None if there is no `apply_any`.
    interleaved: whether `apply` is a long dependency chain, as elementary functions are. If so, its loop becomes a
        separate function and computes several vectors at a time.
    beyond: for one operand, the means to compute elements for which `apply` is invalid: the number of a function of
        WHICH, and the tasks of `beyond_limit`.
    light: whether `apply` is so short that the kernel is bound by memory alone.
    """

    src_types: Sequence[DataType]
    dst_type: DataType
    apply: Any
    widened: bool = False
    attributes: Sequence[DataType] = ()
    apply_any: Any = None
    exceeds: Any = None
    interleaved: bool = False
    beyond: tuple[int, Any, Any] | None = None
    light: bool = False


def row_kernel(name: str, functions: RowFunctions, streaming: bool = False) -> int:
    """Return the address of the task that computes rows of dst.

    name: identifies what the kernel computes, for the cache.
    streaming: use non-temporal stores; the task is then called on rows or ranges that begin at a cache line of dst.
    The task of two operands is (context by InnerContext, num_rows, count), any other (context by Context, begin, end).
    """
    write = _rows_of_two if len(functions.src_types) == 2 else _row
    return compile_written(name, partial(write, functions), light=functions.light, streaming=streaming)


class _Range(NamedTuple):
    """A range of elements to compute, with its operands and dst, as LLVM values.

    sources: the addresses of the operands; with two operands, each address is followed by its step.
    """

    sources: Sequence[Any]
    dst: Any
    begin: Any
    end: Any
    attributes: Sequence[Any]


def _row(functions: RowFunctions, code: Code, context: Any, begin: Any, end: Any) -> None:
    """Write the task of any number of operands but two."""
    operands = range(len(functions.src_types))
    launch = code.pointer(Context, context)
    sources = [launch.sources[k].data for k in operands]
    attributes = _attributes(functions, code, launch.state)
    _range(functions, code, _Range(sources, launch.dst, begin, end, attributes))


def _rows_of_two(functions: RowFunctions, code: Code, context: Any, num_rows: Any, count: Any) -> None:
    """Write the task of two operands."""
    builder, rows = code.builder, code.pointer(InnerContext, context)
    attributes, steps = _attributes(functions, code, rows.state), [rows.step[0], rows.step[1]]
    lengths = [rows.row[0], rows.row[1], builder.mul(count, rows.dst_size)]

    def row(number: Any, src0: Any, src1: Any, dst: Any) -> Sequence[Any]:
        _range(functions, code, _Range((src0, steps[0], src1, steps[1]), dst, WORD(0), count, attributes))
        return builder.add(number, WORD(1)), *map(builder.add, (src0, src1, dst), lengths)

    loop(builder, num_rows, (WORD(0), rows.src[0], rows.src[1], rows.dst), row)


def _attributes(functions: RowFunctions, code: Code, state: Any) -> list[Any]:
    """Return the attributes of the launch in the types that `apply` takes."""
    builder, found = code.builder, []
    for number, data_type in enumerate(functions.attributes):
        real = code.pointer(MapState, state).attributes[number]
        found.append(builder.fptrunc(real, FLOAT) if data_type is DataType.kFloat else real)
    return found


def _range(functions: RowFunctions, code: Code, over: _Range) -> None:
    """Write the code for a range: with `apply` alone, or by blocks if it is not valid for every element."""
    (_mended if functions.beyond else _checked if functions.apply_any else _applied)(functions, code, over)


def _applied(functions: RowFunctions, code: Code, over: _Range) -> None:
    """Write the code that computes a range with `apply`."""
    (_loops_apart if functions.interleaved else _loops)(functions, functions.apply, code, over)


def _checked(functions: RowFunctions, code: Code, over: _Range) -> None:
    """Write the code that computes each block with `apply` or `apply_any`; both give the same bits for an element."""

    def block(part: _Range) -> Any:
        exceeds = code.call_words(functions.exceeds, *part.sources, part.begin, part.end)
        with code.builder.if_else(exceeds) as (beyond, within):
            with beyond:
                _loops_apart(functions, functions.apply_any, code, part)
            with within:
                _applied(functions, code, part)
        return part.end

    _by_blocks(code, over, block)


def _mended(functions: RowFunctions, code: Code, over: _Range) -> None:
    """Write the code that computes blocks with `apply`, except for the elements for which it is invalid.

    These are computed separately and written after the others, since src and dst may be the same array. The choice
    depends on the element, not on its block.
    """
    assert functions.beyond is not None
    which, compute, put_back = functions.beyond
    memory = code.call_words(thread_memory)
    buffer = code.call_words(take, memory, WORD(BUFFER_BYTES))

    def block(part: _Range) -> Any:
        code.call_words(compute, WORD(which), *part.sources, part.begin, part.end, buffer)
        beyond = code.pointer(BeyondLimit, buffer)
        stop = beyond.stop
        _applied(functions, code, part._replace(end=stop))
        with code.builder.if_then(code.builder.icmp_signed("!=", beyond.count, WORD(0))):
            code.call_words(put_back, part.dst, buffer)
        return stop

    _by_blocks(code, over, block)
    code.call_words(give_back, memory, buffer)


def _by_blocks(code: Code, over: _Range, block: Callable[[_Range], Any]) -> None:
    """Write a loop over blocks of a range: `block` writes one block and returns its end."""
    builder = code.builder

    def turn(begin: Any) -> Sequence[Any]:
        end = least(builder, builder.add(begin, WORD(BLOCK)), over.end)
        return (block(over._replace(begin=begin, end=end)),)

    loop(builder, over.end, [over.begin], turn)


def _loops_apart(functions: RowFunctions, functor: Any, code: Code, over: _Range) -> None:
    """Write a call of the loops of a functor, which become a separate function."""
    count = len(over.sources)

    def write(inner: Code, *given: Any) -> None:
        dst, begin, end, *attributes = given[count:]
        _loops(functions, functor, inner, _Range(given[:count], dst, begin, end, attributes))

    code.call_apart(write, [*over.sources, over.dst, over.begin, over.end, *over.attributes])


def _loops(functions: RowFunctions, functor: Any, code: Code, over: _Range) -> None:
    """Write the loop of a functor over a range; with two operands, one loop for each layout of the two."""
    builder, wide, operands = code.builder, functions.widened, range(len(functions.src_types))
    kinds = [numba_type(loaded_type(each, wide)) for each in functions.src_types]
    kinds += [numba_type(loaded_type(each, wide=False)) for each in functions.attributes]
    addresses = over.sources[:: len(over.sources) // len(operands)]
    mark = interleaving(builder.module) if functions.interleaved and functor is functions.apply else None

    def element(operand: int, index: Any) -> Any:
        return load_element(builder, addresses[operand], index, functions.src_types[operand], wide)

    def write(same: Mapping[int, Any]) -> None:  # the operands that are one element
        def turn(index: Any) -> Sequence[Any]:
            elements = [same[k] if k in same else element(k, index) for k in operands]
            result, kind = code.call(functor, (*elements, *over.attributes), kinds)
            store_element(code.context, builder, over.dst, index, result, kind, functions.dst_type, wide)
            return (builder.add(index, WORD(1)),)

        loop(builder, over.end, [over.begin], turn, mark)

    if len(operands) != 2:
        write({})
        return
    _, step0, _, step1 = over.sources
    with builder.if_else(builder.icmp_signed("==", step0, step1)) as (both, either):
        with both:
            write({})
        with either, builder.if_else(builder.icmp_signed("==", step0, WORD(0))) as (first, second):
            with first:
                write({0: element(0, WORD(0))})
            with second:
                write({1: element(1, WORD(0))})
