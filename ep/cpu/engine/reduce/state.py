"""The records of reductions."""

from __future__ import annotations

from typing import Final

from ep.common.native.fields import Int64, address, pointer, word
from ep.common.native.record import Record
from ep.cpu.engine.reduce.plan import ReduceLoops
from ep.cpu.shared.context import Context, StridedContext
from ep.cpu.shared.state import State


class ReduceState(State):
    """The launch state of Reduce."""

    fold_row = address()  # the tasks of the op and the data type (`reduce_tasks`), 0 until a plan needs them
    fold_apart = address()
    fold_columns = address()
    merge = address()
    finish = address()
    reduce_rows = address()
    itemsize = word()  # bytes of an element of src
    parts = word()  # values that are carried for an element
    value_size = word()  # bytes of each


class ReduceContext(Record):
    """The context of the walk, which the launcher of Reduce writes, or a task of stages."""

    src = address()
    dst = address()
    plan = pointer(ReduceLoops)
    state = pointer(ReduceState)
    partials = address()  # the values of segments; 0 if whole units are reduced
    merges = word()  # whether the partials are complete
    # the task that computes elements as they are read, or 0; with a task, `src` is 0, and addresses are offsets
    map = address()
    map_context = pointer(StridedContext)  # the context of this task


class Computed(Record):
    """Elements that are computed as they are read: the task, the thread's context for it, memory for some elements.

    Each call of the walk writes its own.
    """

    map = address()
    context = pointer(Context)
    tile = address()


TILE_ELEMENTS: Final = 2**13
"""The number of elements computed at a time along a row: a multiple of what the kernels fold in sequence."""
TILE_ROWS_BYTES: Final = 2**16
"""The bytes computed at a time, if rows are folded into values of their columns: at least eight rows."""


class SegmentState(State):
    """The launch state of sums by segments."""

    sort = address()  # the task that sorts ids of their type
    sum = address()  # the task that adds rows of the data type
    batches = address()  # the task that does both for whole batches
    parts = word()  # numbers of an element
    narrow_task = address()  # the task that adds narrow rows directly; the next tasks are called by it
    find = address()  # the task that finds ids of their type
    add = address()  # the task that adds their rows
    narrow = address()  # the task that rounds sums of 16-bit types, or 0
    sum_bytes = word()  # of a number while it is added up


class SegmentsContext(Record):
    """The context of a batch, which the launcher of sums by segments writes; for narrow rows, of all batches."""

    data = address()
    ids = address()
    out = address()
    state = pointer(SegmentState)
    outer = word()
    num_segments = word()
    numbers = word()  # of a row
    row_bytes = word()
    num_ids = word()
    offset = word()
    # the start of each run in `order`, with the end of the last; then the length of the longest run
    starts = pointer(Int64)
    order = pointer(Int64)  # the rows of all segments, one segment after the other
    most = word()  # the most rows of a segment; a longer one is left out, and summed separately
    alone = word()  # the segment that is summed separately, or -1
    tiles = word()  # the number of tiles that a row of this segment is cut into
    ids_size = word()  # bytes of an id
    sums = address()  # the sums of narrow rows, in the type of the additions: out itself if it has this type
    parts = word()  # the number of parts that the segments of narrow rows are cut into


class ComputedSegments(SegmentsContext):
    """The context of a sum of rows that are computed as they are added, from the words of a stage of segments."""

    batch = word()
    itemsize = word()  # of an element
    columns = word()  # the number of parts that rows are cut into; then segments have one part
    map = address()  # the task that computes elements
    map_context = pointer(StridedContext)
