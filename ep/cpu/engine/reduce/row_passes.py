"""Rows that are read several times: one or two passes reduce a row to a few numbers, the last one maps it.

A row is cut into segments by its length alone: threads share the segments of few long rows, and the result has the same
bits whoever works on which.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple

from ep.common.primitive.signature import Signature
from ep.cpu.compile.compiler import compile_task
from ep.cpu.compile.jit import jit, separate
from ep.cpu.compile.memory import allocate, load_word, release, stack_words, store_word, store_words
from ep.cpu.engine.context import CONTEXT, SOURCE_WORDS
from ep.cpu.engine.entry import entry
from ep.cpu.engine.layout import layout
from ep.cpu.engine.state import GRAIN_BYTES, STATE, LaunchState
from ep.cpu.threads.parallel import call_task, run

PART_WORDS: Final = 6
"""What the passes that reduce write of each segment: two words of the first, four of the second."""
SECOND_PART: Final = 2

_PASSES: Final = layout("Passes", what=1, src0=1, src1=1, dst=1, cols=1, parts=1)
"""The context of the kernel. parts: of segments."""
_PASSES_WORDS: Final[int] = _PASSES.num_words
_ROWS, _FIRST, _SECOND, _APPLY = range(4)

_SEGMENT: Final = 2**14  # elements, at least
_MOST_SEGMENTS: Final = 64
_ALL_PARTS: Final = PART_WORDS * _MOST_SEGMENTS
_PART_BYTES: Final = 8 * PART_WORDS
_MOST_ROWS: Final = 32  # that a pass goes over
_FEW_ROWS: Final = 16  # less than threads can share
_KEPT_WORDS: Final = 1024  # in the first cache, and on the stack
_KEPT_BYTES: Final = 8 * _KEPT_WORDS
_MOST_KEPT_BYTES: Final = 2**19  # in the second cache


class Passes(NamedTuple):
    """Compiled functions, on addresses of the begin of a segment of a row, and a number of elements.

    first: (src0, src1, count, address of a part) reduces.
    numbers: (parts, number of segments) gives what the row's first parts come to.
    second: None, or (src0, src1, kept, count, numbers, address of a part) reduces, and writes to `kept` unless it is 0.
    results: (parts, number of segments, numbers) gives what the last pass takes.
    apply: (src0, src1, kept, dst, count, results).
    kept_size: bytes of what the second pass keeps of an element, 0 where it keeps nothing.
    in_dst: whether dst may keep it. Else what is beyond the second cache is not kept, but computed again.
    cost: what an element costs, in bytes that could be moved meanwhile.
    """

    first: Any
    numbers: Any
    second: Any
    results: Any
    apply: Any
    kept_size: int
    in_dst: bool
    cost: int


@jit
def _segment_length(cols):
    segments = (cols + _SEGMENT - 1) // _SEGMENT
    return (segments + _MOST_SEGMENTS - 1) // _MOST_SEGMENTS * _SEGMENT


def row_kernel(name: str, passes: Passes, itemsize: int) -> int:
    """The address of the task (context, begin, end), on elements of `itemsize` bytes."""
    first, numbers_of, second, results_of, apply, kept_size, in_dst, _ = passes
    two, keeps, second_part, element = second is not None, kept_size != 0, 8 * SECOND_PART, max(kept_size, itemsize)

    # Each pass goes over several rows: a core overlaps a row with the next one, but not three passes over a row.
    # Of rows of several segments, it is one segment; what follows from the passes before is little, and computed again.
    @separate
    def first_pass(a, b, rows, row_bytes, count, parts):
        for row in range(rows):
            first(a + row * row_bytes, b + row * row_bytes, count, parts + row * _PART_BYTES)

    @separate
    def second_pass(a, b, kept, kept_bytes, rows, row_bytes, count, parts, segments, part):
        for row in range(rows):
            offset = row * _PART_BYTES
            numbers = numbers_of(parts + offset, segments)
            if two:
                place = part + offset + second_part
                second(a + row * row_bytes, b + row * row_bytes, kept + row * kept_bytes, count, numbers, place)

    @separate
    def last_pass(a, b, kept, kept_bytes, c, rows, row_bytes, count, parts, segments):
        for row in range(rows):
            place, skip = parts + row * _PART_BYTES, row * row_bytes
            results = results_of(place + second_part, segments, numbers_of(place, segments))
            apply(a + skip, b + skip, kept + row * kept_bytes, c + skip, count, results)

    def kernel(context, begin, end):
        what, cols = load_word(context, _PASSES.what), load_word(context, _PASSES.cols)
        src0, src1 = load_word(context, _PASSES.src0), load_word(context, _PASSES.src1)
        dst, parts, buffer = (
            load_word(context, _PASSES.dst),
            load_word(context, _PASSES.parts),
            stack_words(_KEPT_WORDS),
        )
        length, row_bytes, kept_bytes = _segment_length(cols), cols * itemsize, cols * kept_size
        segments = (cols + length - 1) // length
        in_buffer, in_heap = kept_bytes <= _KEPT_BYTES, 0
        row, last_row, some_rows, index, last_index, pass_, last_pass_ = 0, 1, 1, begin, end, what, what
        if what == _ROWS:
            parts = stack_words(_ALL_PARTS)
            row, last_row, index, last_index, pass_, last_pass_ = begin, end, 0, segments, _FIRST, _APPLY
            if keeps and not in_dst and _KEPT_BYTES < kept_bytes <= _MOST_KEPT_BYTES:
                in_heap = allocate(kept_bytes)
                if in_heap != 0:
                    in_buffer, buffer = True, in_heap
            if segments == 1:
                some_rows = max(min(_KEPT_BYTES // (cols * element), _MOST_ROWS), 1)
        while row < last_row:
            rows = min(some_rows, last_row - row)
            for each in range(pass_, last_pass_ + 1):
                for segment in range(index, last_index):
                    skip, count = row * row_bytes + segment * length * itemsize, min(length, cols - segment * length)
                    a, b, c = src0 + skip, src1 + skip, dst + skip
                    kept = buffer + segment * length * kept_size if in_buffer else c if in_dst else 0
                    part = parts + _PART_BYTES * segment
                    if each == _FIRST:
                        first_pass(a, b, rows, row_bytes, count, part)
                    elif each == _APPLY:
                        last_pass(a, b, kept, kept_bytes, c, rows, row_bytes, count, parts, segments)
                    elif two:
                        second_pass(a, b, kept, kept_bytes, rows, row_bytes, count, parts, segments, part)
            row += rows
        if in_heap != 0:
            release(in_heap)

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
    store_words(own, _ROWS, src0, src1, dst, cols, 0)
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
        store_words(own, 0, src0 + skip, src1 + skip, dst + skip, cols, parts)
        for what in range(_FIRST, _APPLY + 1):
            store_word(own, _PASSES.what, what)
            run(state, task, own, segments, max(grain // length, 1))
    return 0
