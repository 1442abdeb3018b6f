"""Rows that are read several times: one or two passes reduce a row to a number each, the last one maps it.

A row is cut into segments, and those into blocks, by its length alone: threads share the segments of few long rows, and
the result has the same bits whoever works on which.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple

from ep.common.primitive.signature import Signature
from ep.cpu.compile.compiler import compile_task
from ep.cpu.compile.jit import jit, masked, separate
from ep.cpu.compile.memory import load_float64, load_word, stack_words, store_word, store_words, storer
from ep.cpu.engine.context import CONTEXT, SOURCE_WORDS
from ep.cpu.engine.entry import entry
from ep.cpu.engine.layout import layout
from ep.cpu.engine.state import GRAIN_BYTES, STATE, LaunchState
from ep.cpu.threads.parallel import call_task, run
from ep.include.data_type import DataType

BLOCK: Final = 1024
"""Elements that a pass works on at a time: what it computes stays in the first cache."""

_PASSES: Final = layout("Passes", what=1, src0=1, src1=1, dst=1, cols=1, parts=1, results=2)
"""The context of the kernel. parts: of segments; results: of the passes that reduce."""
_PASSES_WORDS: Final[int] = _PASSES.num_words
_ROWS, _REDUCE_FIRST, _MERGE_FIRST, _REDUCE_SECOND, _MERGE_SECOND, _APPLY = range(6)
_MERGES: Final = (_MERGE_FIRST, _MERGE_SECOND)

_SEGMENT: Final = 16 * BLOCK  # at least
_MOST_SEGMENTS: Final = 128
_PART_WORDS: Final = 3  # a number, what rounding has lost of it, and another number
_ALL_PARTS: Final = _PART_WORDS * _MOST_SEGMENTS
_FEW_ROWS: Final = 16  # less than threads can share

store_float64 = storer(DataType.kDouble)


class Passes(NamedTuple):
    """Compiled functions, on addresses of the begin of a part of a row, and a number of elements.

    first, second: (src0, src1, dst, count, result of the first, address of a part) reduce; second may be None.
    merge_first, merge_second: (parts, number of segments) give a result, of float64.
    apply: (src0, src1, dst, count, result of the first, of the second).
    cost: what an element costs, in bytes that could be moved meanwhile.
    """

    first: Any
    merge_first: Any
    second: Any
    merge_second: Any
    apply: Any
    cost: int


@jit
def _segment_length(cols):
    blocks = (cols + BLOCK - 1) // BLOCK
    return max((blocks + _MOST_SEGMENTS - 1) // _MOST_SEGMENTS * BLOCK, _SEGMENT)


def row_kernel(name: str, passes: Passes, itemsize: int) -> int:
    """The address of the task (context, begin, end), on elements of `itemsize` bytes."""
    first, merge_first, second, merge_second, apply, _ = passes
    two = second is not None

    @jit
    def reduce_rows(context, begin, end):
        cols, parts = load_word(context, _PASSES.cols), stack_words(_ALL_PARTS)
        length = _segment_length(cols)
        segments, row_bytes = (cols + length - 1) // length, cols * itemsize
        src0, src1 = load_word(context, _PASSES.src0), load_word(context, _PASSES.src1)
        dst = load_word(context, _PASSES.dst)
        for row in range(begin, end):
            a, b, c, one, other = src0 + row * row_bytes, src1 + row * row_bytes, dst + row * row_bytes, 0.0, 0.0
            for segment in range(segments):
                skip, count = segment * length * itemsize, min(length, cols - segment * length)
                first(a + skip, b + skip, c + skip, count, one, parts + 8 * _PART_WORDS * segment)
            one = merge_first(parts, segments)
            if two:
                for segment in range(segments):
                    skip, count = segment * length * itemsize, min(length, cols - segment * length)
                    second(a + skip, b + skip, c + skip, count, one, parts + 8 * _PART_WORDS * segment)
                other = merge_second(parts, segments)
            apply(a, b, c, cols, one, other)

    @separate
    def work_on_segments(context, begin, end):
        what, cols, parts = (
            load_word(context, _PASSES.what),
            load_word(context, _PASSES.cols),
            load_word(context, _PASSES.parts),
        )
        length, src0, src1 = (
            _segment_length(cols),
            load_word(context, _PASSES.src0),
            load_word(context, _PASSES.src1),
        )
        dst, one, other = (
            load_word(context, _PASSES.dst),
            load_float64(context, _PASSES.results),
            load_float64(context, _PASSES.results + 1),
        )
        segments = (cols + length - 1) // length
        if what == _MERGE_FIRST:
            store_float64(context, _PASSES.results, merge_first(parts, segments))
        elif what == _MERGE_SECOND:
            if two:
                store_float64(context, _PASSES.results + 1, merge_second(parts, segments))
        else:
            for segment in range(begin, end):
                skip, count = segment * length * itemsize, min(length, cols - segment * length)
                a, b, c, part = src0 + skip, src1 + skip, dst + skip, parts + 8 * _PART_WORDS * segment
                if what == _REDUCE_FIRST:
                    first(a, b, c, count, one, part)
                elif what == _APPLY:
                    apply(a, b, c, count, one, other)
                elif two:
                    second(a, b, c, count, one, part)

    def kernel(context, begin, end):
        if load_word(context, _PASSES.what) == _ROWS:
            reduce_rows(context, begin, end)
        else:
            work_on_segments(context, begin, end)

    return compile_task(name, kernel)


def row_entry(signature: Signature, state: LaunchState, kernel: int, passes: Passes) -> Callable[..., int]:
    """The entry (state, rows, cols, sources, dst)."""
    num_buffers = len(signature.operands)
    state.set(task=kernel, grain=max(GRAIN_BYTES // (passes.cost * num_buffers), 1))
    return entry(f"rows.{num_buffers}", signature, STATE, _launch)


@jit
def _launch(context, num_bytes, in_place, sizes):
    rows, cols = sizes
    state, own = load_word(context, CONTEXT.state), stack_words(_PASSES_WORDS)
    task, grain, src0 = (
        load_word(state, STATE.task),
        load_word(state, STATE.grain),
        load_word(context, CONTEXT.sources),
    )
    src1 = src0 if load_word(context, CONTEXT.num_sources) == 1 else load_word(context, CONTEXT.sources + SOURCE_WORDS)
    dst, itemsize = load_word(context, CONTEXT.dst), load_word(context, CONTEXT.dst_size)
    store_words(own, _ROWS, src0, src1, dst, cols, 0, 0, 0)
    length = _segment_length(cols)
    if rows * cols <= grain:
        call_task(task, own, 0, rows)
        return 0
    if rows >= _FEW_ROWS or cols <= length:
        run(state, task, own, rows, max(grain // cols, 1))
        return 0
    parts, segments = stack_words(_ALL_PARTS), (cols + length - 1) // length
    for row in range(rows):
        skip = row * cols * itemsize
        store_words(own, 0, src0 + skip, src1 + skip, dst + skip, cols, parts, 0, 0)
        for what in range(_REDUCE_FIRST, _APPLY + 1):
            store_word(own, _PASSES.what, what)
            run(state, task, own, 1 if what in _MERGES else segments, max(grain // length, 1))
    return 0


def mapper(functor: Any, loads: tuple[Any, Any], store: Any, lanes: int) -> Any:
    """A function map(src0, src1, out, count, p, q): out[i] = functor(src0[i], src1[i], p, q).

    Vectors of `lanes` elements need no mask, and LLVM sees so: masked stores of 16-bit types take longer.
    """
    load0, load1 = loads

    @masked
    def map_elements(src0, src1, out, count, p, q):
        whole = count & -lanes
        for place in range(whole):
            store(out, place, functor(load0(src0, place), load1(src1, place), p, q))
        for place in range(whole, count):
            store(out, place, functor(load0(src0, place), load1(src1, place), p, q))

    return map_elements
