"""Rows that are read several times: one or two passes reduce a row to a few numbers, and the last one maps it.

A row is cut into segments by its length only: threads share the segments of few long rows, and the result has the same
bits for any distribution. The numbers derived from a row's sums are computed for several rows at once, in vectors.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Final, NamedTuple

from ep.common.functor.math_library import Scalar
from ep.common.native.fields import Int64, address, pointer, word
from ep.common.native.record import Record
from ep.common.primitive.signature import Signature
from ep.cpu.compile.compiler import compile_task
from ep.cpu.compile.jit import jit, separate
from ep.cpu.compile.memory import allocate, release
from ep.cpu.engine.entry import launcher
from ep.cpu.engine.form import Launcher
from ep.cpu.engine.reduce.lane_sums import LANES, RECORD_VECTOR
from ep.cpu.lines.ahead import AHEAD_BLOCK, AheadContext, add_ahead
from ep.cpu.lines.streaming import LINE_BYTES, finish_streams, has_streaming_rows, kind_of_work
from ep.cpu.machine.caches import far_from
from ep.cpu.shared.context import NO_MEMORY, Context
from ep.cpu.shared.state import GRAIN_BYTES, LaunchState, State
from ep.cpu.threads.parallel import call_task, run
from ep.cpu.threads.scratch import give_back, take, thread_memory

PARTS: Final = 64
"""The most segments of a row. Reducing passes write numbers for each segment; those of one kind are contiguous."""
ROWS: Final = 32
"""The most rows of a pass, halved if records are two vectors; also the stride of the numbers of rows."""


class PassesContext(Record):
    """The context of the kernel, which the launcher of rows writes, or the task of stages.

    memory: the numbers that steps on one row write for the next steps.
    streams: whether dst is written with non-temporal stores: 0, 1, or `UNFINISHED`.
    ahead: the address of an `AheadContext`, whose elements are those of src0, of what the second pass prefetches; or 0.
    kept: the address of memory for the values that a pass over one row keeps, in whole vectors, or 0. It begins with a
        cache line, and may be src0.
    """

    what = word()
    src0 = address()
    src1 = address()
    dst = address()
    cols = word()
    memory = address()
    streams = word()
    ahead = pointer(AheadContext)
    kept = address()


UNFINISHED: Final = 2
"""The caller of the kernel calls `finish_streams`, which waits until all stores are done."""
_FIRST, _NUMBERS, _SECOND, _RESULTS, _APPLY, ALL_STEPS = range(6)
"""The steps, and the value for all steps on rows."""

_PART_NUMBERS: Final = 5
_NUMBERS_FROM: Final = 8 * PARTS * _PART_NUMBERS  # bytes
_RESULTS_FROM: Final = _NUMBERS_FROM + 8 * ROWS * 4
_MEMORY_BYTES: Final = _RESULTS_FROM + 8 * ROWS * 2

_SEGMENT: Final = 2**14  # the least elements of a segment
_FEW_ROWS: Final = 16  # fewer rows than this are too few for threads to share
_KEPT_BYTES: Final = 2**13  # the most in L1
_MOST_KEPT_BYTES: Final = 2**19  # the most in L2
_MOST_FETCHED: Final = 2**18  # bytes of the longest row that is prefetched into L2, which holds the row before it, too


class Passes(NamedTuple):
    """The compiled functions of the passes.

    Sources, kept and dst are addresses of the start of a segment of `count` elements. A number of a part is a float64
    at `index of the number * PARTS + part` of parts. The numbers and results of a row are at `index * ROWS + row`. If a
    row is one segment, the number of the row is that of the part.

    exact: whether the record of a row is two vectors.
    first: (src0, src1, count, parts, part, record) reduces a segment to at most two numbers, or to a record.
    fold_first: (records, rows, parts, part) makes numbers of the records of at most eight rows.
    join_first: (parts, segments) combines the row's first numbers into part 0.
    numbers: (parts, numbers, row) computes the inputs of the second pass: at most four numbers.
    second: None, or (src0, src1, kept, count, padded, numbers, row, parts, part, record, ahead, at) reduces to number 4
        of a part, and a record. It writes to `kept` unless that is 0; if `padded`, in whole vectors. It prefetches by
        `ahead`, if that is not 0, for its elements, which are numbered from `at` on; not for less than `AHEAD_BLOCK`.
    fold_second: like fold_first: numbers 2 and 3.
    join_second: like join_first; the same function if there is no second pass.
    results: (parts, numbers, results, row) computes the inputs of the last pass: at most two numbers.
    apply: (src0, src1, kept, dst, count, numbers, results, row, streams).
    kept_size: bytes that the second pass keeps per element; 0 if it keeps nothing.
    in_dst: whether dst may hold the kept values. Otherwise values beyond L2 are not kept, but computed again.
    cost: the cost of an element, in bytes that could be moved in the same time.
    """

    exact: bool
    first: Any
    fold_first: Any
    join_first: Any
    numbers: Any
    second: Any
    fold_second: Any
    join_second: Any
    results: Any
    apply: Any
    kept_size: int
    in_dst: bool
    cost: int


@jit
def _segment_length(cols: int) -> int:
    segments = (cols + _SEGMENT - 1) // _SEGMENT
    return (segments + PARTS - 1) // PARTS * _SEGMENT


def row_kernel(name: str, passes: Passes, itemsize: int) -> int:
    """Return the address of the task (context, begin, end), on elements of `itemsize` bytes."""
    exact, first, fold_first, join_first, numbers_of, second, fold_second, join_second, results_of, apply, *_ = passes
    kept_size, in_dst, record_bytes = passes.kept_size, passes.in_dst, RECORD_VECTOR * (2 if exact else 1)
    most_rows = ROWS * RECORD_VECTOR // record_bytes
    two, keeps, element = second is not None, kept_size != 0, max(kept_size, itemsize)

    # Each step processes several rows: a core overlaps a row with the next one, but not three passes over a row. If a
    # row has several segments, each step processes one segment.
    @separate
    def first_pass(
        a: Scalar, b: Scalar, rows: int, row_bytes: int, count: int, parts: int, part: int, records: int
    ) -> None:
        for row in range(rows):
            first(a + row * row_bytes, b + row * row_bytes, count, parts, part + row, records + row * record_bytes)
        for row in range(0, rows, LANES):
            fold_first(records + row * record_bytes, rows - row, parts, part + row)

    @separate
    def numbers_pass(parts: int, numbers: int, rows: int) -> None:
        if two:
            for row in range((rows + LANES - 1) & -LANES):
                numbers_of(parts, numbers, row)

    @separate
    def second_pass(
        a: Scalar, b: Scalar, kept: int, kept_bytes: int, rows: int, row_bytes: int, count: int, padded: int,
        numbers: int, parts: int, part: int, records: int, ahead: int, at: int,
    ) -> None:  # fmt: skip
        if two:
            for row in range(rows):
                skip, place = row * row_bytes, kept + row * kept_bytes
                record = records + row * record_bytes
                first_at = at + row * count
                second(
                    a + skip, b + skip, place, count, padded, numbers, row, parts, part + row, record, ahead, first_at
                )
            for row in range(0, rows, LANES):
                fold_second(records + row * record_bytes, rows - row, parts, part + row)

    @separate
    def results_pass(parts: int, numbers: int, results: int, rows: int) -> None:
        for row in range((rows + LANES - 1) & -LANES):
            results_of(parts, numbers, results, row)

    @separate
    def last_pass(
        a: Scalar, b: Scalar, kept: int, kept_bytes: int, c: int, rows: int, row_bytes: int, count: int, numbers: int,
        results: int, streams: int,
    ) -> None:  # fmt: skip
        for row in range(rows):
            skip, place = row * row_bytes, kept + row * kept_bytes
            apply(a + skip, b + skip, place, c + skip, count, numbers, results, row, streams)

    def kernel(context: PassesContext, begin: int, end: int) -> None:
        what, cols, memory, given = context.what, context.cols, context.memory, context.kept
        src0, src1, dst = context.src0, context.src1, context.dst
        streams, finishes = context.streams != 0, context.streams != UNFINISHED
        length, row_bytes, ahead = _segment_length(cols), cols * itemsize, context.ahead
        segments = (cols + length - 1) // length
        # the kept values of a row are whole vectors
        kept_bytes, in_heap, block = (cols * kept_size + LINE_BYTES - 1) & -LINE_BYTES, 0, thread_memory()
        kept = taken = take(block, _KEPT_BYTES)
        records = take(block, RECORD_VECTOR * ROWS)
        row, last_row, some_rows, index, last_index, step, last_step = 0, 1, 1, begin, end, what, what
        if what == ALL_STEPS:
            memory = take(block, _MEMORY_BYTES)
            row, last_row, index, last_index, step, last_step = begin, end, 0, segments, _FIRST, _APPLY
            if keeps and kept_bytes > _KEPT_BYTES:
                if given != 0:
                    kept = given
                elif (streams or not in_dst) and kept_bytes <= _MOST_KEPT_BYTES:
                    in_heap = allocate(kept_bytes + LINE_BYTES)
                    kept = in_heap if in_heap != 0 else kept
            if segments == 1:
                some_rows = max(min(_KEPT_BYTES // ((cols * element + LINE_BYTES - 1) & -LINE_BYTES), most_rows), 1)
        kept += -kept & (LINE_BYTES - 1)
        padded = what == ALL_STEPS and (kept_bytes <= _KEPT_BYTES or in_heap != 0 or given != 0)
        streams = streams and (padded or not (keeps and in_dst))  # values kept in dst must stay in the caches
        numbers, results = memory + _NUMBERS_FROM, memory + _RESULTS_FROM
        while row < last_row:
            rows = min(some_rows, last_row - row)
            for each in range(step, last_step + 1):
                if each == _NUMBERS:
                    if segments > 1:
                        join_first(memory, segments)
                    if two:
                        numbers_pass(memory, numbers, rows)
                elif each == _RESULTS:
                    if two and segments > 1:
                        join_second(memory, segments)
                    results_pass(memory, numbers, results, rows)
                else:
                    for segment in range(index, last_index):
                        skip = row * row_bytes + segment * length * itemsize
                        count = min(length, cols - segment * length)
                        a, b, c = src0 + skip, src1 + skip, dst + skip
                        place = kept + segment * length * kept_size if padded else c if in_dst else 0
                        at = row * cols + segment * length
                        if each == _FIRST:
                            first_pass(a, b, rows, row_bytes, count, memory, segment, records)
                        elif each == _APPLY:
                            last_pass(a, b, place, kept_bytes, c, rows, row_bytes, count, numbers, results, streams)
                        elif two:
                            second_pass(
                                a, b, place, kept_bytes, rows, row_bytes, count, padded, numbers,
                                memory, segment, records, ahead, at,
                            )  # fmt: skip
            row += rows
        if in_heap != 0:
            release(in_heap)
        give_back(block, taken)
        if streams and finishes:
            finish_streams()

    return compile_task(name, kernel)


def row_launcher(signature: Signature, state: LaunchState, kernel: int, passes: Passes) -> Launcher:
    """Return the launcher of a primitive of `[rows, cols]` elements, whose rows are read several times."""
    num_buffers = len(signature.operands)
    state.set(task=kernel, grain=max(GRAIN_BYTES // (passes.cost * num_buffers), 1))
    far = far_from()
    return launcher(f"rows.{far}", launch_rows(far))


@cache
def launch_rows(far: int) -> Any:
    """Return the function that launches a kernel of rows, as `launcher` takes it.

    far: operands of more bytes are prefetched.
    """

    @jit
    def launch(context: Context, num_bytes: int, in_place: int, sizes: Int64) -> int:
        rows, cols = sizes[0], sizes[1]
        state, passes, next_rows = State.at(context.state), PassesContext.on_stack(), AheadContext.on_stack()
        task, grain, settings, src0 = state.task, state.grain, state.settings, context.sources[0].data
        src1 = src0 if context.num_sources == 1 else context.sources[1].data
        dst, itemsize = context.dst, context.dst_size
        length, row_bytes, streams, ahead = _segment_length(cols), cols * itemsize, 0, AheadContext.at(0)
        most = settings.lines_from[kind_of_work(num_bytes, rows * row_bytes)]
        if num_bytes > most and not in_place and dst & (itemsize - 1) == 0 and has_streaming_rows(dst, row_bytes):
            if settings.stream == 0:
                return 1
            streams = 1
        if rows * row_bytes > far and cols >= AHEAD_BLOCK and row_bytes <= _MOST_FETCHED:
            ahead = next_rows
            ahead.num_ahead = 0
            # the rows of the next pass, or of the one after it
            add_ahead(ahead, src0 + max(row_bytes, _KEPT_BYTES), AHEAD_BLOCK * itemsize)
        passes.what = ALL_STEPS
        passes.src0 = src0
        passes.src1 = src1
        passes.dst = dst
        passes.cols = cols
        passes.memory = 0
        passes.streams = streams
        passes.ahead = ahead
        passes.kept = 0
        if rows * cols <= grain:
            call_task(task, passes, 0, rows)
            return 0
        if rows >= _FEW_ROWS or cols <= length:
            run(state, task, passes, rows, max(grain // cols, 1))
            return 0
        memory, segments = allocate(_MEMORY_BYTES), (cols + length - 1) // length
        if memory == 0:
            return NO_MEMORY
        passes.memory = memory
        passes.ahead = AheadContext.at(0)
        for row in range(rows):
            skip = row * row_bytes
            passes.src0 = src0 + skip
            passes.src1 = src1 + skip
            passes.dst = dst + skip
            for step in range(_FIRST, _APPLY + 1):
                passes.what = step
                if step in (_NUMBERS, _RESULTS):
                    call_task(task, passes, 0, 1)
                else:
                    run(state, task, passes, segments, max(grain // length, 1))
        release(memory)
        return 0

    return launch
