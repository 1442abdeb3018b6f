"""The memory of a reduction."""

from __future__ import annotations

from typing import Final

from ep.cpu.shared.layout import layout
from ep.cpu.shared.state import STATE

REDUCE_STATE: Final = layout(
    "ReduceState",
    STATE,
    fold_row=1,  # the tasks of the op and the data type (`ReduceTasks`)
    fold_columns=1,
    merge=1,
    finish=1,
    reduce_rows=1,
    itemsize=1,  # bytes of an element of src
    parts=1,  # values that are carried along for an element
    value_size=1,  # bytes of each
)
"""The launch state of Reduce."""

REDUCE: Final = layout(
    "Reduce",
    src=1,
    dst=1,
    plan=1,
    state=1,
    partials=1,  # the values of segments; 0 where a range of units is reduced
    merges=1,  # whether these are there already
    map=1,  # the task that computes what is reduced as it is read, or 0: then `src` is 0, where its elements would be
    map_context=1,  # and its context
)
"""The context of the walk."""

REDUCE_WORDS: Final[int] = REDUCE.num_words

COMPUTED: Final = layout("Computed", map=1, context=1, tile=1)
"""Elements that are computed as they are read: the task, this thread's context of it, and memory for some."""
TILE_ELEMENTS: Final = 2**13
"""The elements that are computed at a time along a row: a multiple of what the kernels fold in a row."""
TILE_ROWS_BYTES: Final = 2**16
"""The same of rows that are folded into values of their columns: eight of them at least."""

SEGMENT_STATE: Final = layout(
    "SegmentState",
    STATE,
    sort=1,  # the task that sorts ids of their type
    sum=1,  # the task that adds rows of the data type
    batches=1,  # the task that does both for whole batches
    parts=1,  # numbers of an element
    narrow_task=1,  # the task that adds narrow rows where they belong, and what it calls:
    find=1,  # the task that finds ids of their type
    add=1,  # the task that adds their rows
    narrow=1,  # the task that rounds sums of 16-bit types, or 0
    sum_bytes=1,  # of a number while it is added up
)
"""The launch state of sums by segments."""

SEGMENTS: Final = layout(
    "Segments",
    data=1,
    ids=1,
    out=1,
    state=1,
    outer=1,
    num_segments=1,
    numbers=1,  # of a row
    row_bytes=1,
    num_ids=1,
    offset=1,
    starts=1,  # of the runs in `order`, one more than there are segments, and the longest run
    order=1,  # the rows of all segments, one behind the other
    most=1,  # rows of a segment; one that has more is left out, and summed by itself
    alone=1,  # the segment that is summed by itself, or -1
    tiles=1,  # that its row is cut into
    ids_size=1,  # bytes of an id
    sums=1,  # of narrow rows, in the type that they are added in: out, where that is its own
    parts=1,  # that the segments of narrow rows are cut into
)
"""A batch, or of narrow rows all batches."""
SEGMENTS_WORDS: Final[int] = SEGMENTS.num_words
