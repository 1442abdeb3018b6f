"""The memory layouts of reductions."""

from __future__ import annotations

from typing import Final

from ep.cpu.shared.layout import ADDRESS, layout
from ep.cpu.shared.state import STATE

REDUCE_STATE: Final = layout(
    "ReduceState",
    STATE,
    fold_row=ADDRESS,  # the tasks of the op and the data type (`reduce_tasks`), 0 until a plan needs them
    fold_apart=ADDRESS,
    fold_columns=ADDRESS,
    merge=ADDRESS,
    finish=ADDRESS,
    reduce_rows=ADDRESS,
    itemsize=1,  # bytes of an element of src
    parts=1,  # values that are carried for an element
    value_size=1,  # bytes of each
)
"""The launch state of Reduce."""

REDUCE: Final = layout(
    "Reduce",
    src=1,
    dst=1,
    plan=1,
    state=1,
    partials=1,  # the values of segments; 0 if whole units are reduced
    merges=1,  # whether the partials are complete
    map=1,  # the task that computes elements as they are read, or 0; with a task, `src` is 0, and addresses are offsets
    map_context=1,  # the context of this task
)
"""The context of the walk."""

REDUCE_WORDS: Final[int] = REDUCE.num_words

COMPUTED: Final = layout("Computed", map=1, context=1, tile=1)
"""Elements that are computed as they are read: the task, this thread's context for it, and memory for some elements."""
TILE_ELEMENTS: Final = 2**13
"""The number of elements computed at a time along a row: a multiple of what the kernels fold in sequence."""
TILE_ROWS_BYTES: Final = 2**16
"""The bytes computed at a time, if rows are folded into values of their columns: at least eight rows."""

SEGMENT_STATE: Final = layout(
    "SegmentState",
    STATE,
    sort=ADDRESS,  # the task that sorts ids of their type
    sum=ADDRESS,  # the task that adds rows of the data type
    batches=ADDRESS,  # the task that does both for whole batches
    parts=1,  # numbers of an element
    narrow_task=ADDRESS,  # the task that adds narrow rows directly; the next tasks are called by it
    find=ADDRESS,  # the task that finds ids of their type
    add=ADDRESS,  # the task that adds their rows
    narrow=ADDRESS,  # the task that rounds sums of 16-bit types, or 0
    sum_bytes=1,  # of a number while it is added up
)
"""The launch state of sums by segments."""

SEGMENTS: Final = layout(
    "Segments",
    data=ADDRESS,
    ids=ADDRESS,
    out=ADDRESS,
    state=ADDRESS,
    outer=1,
    num_segments=1,
    numbers=1,  # of a row
    row_bytes=1,
    num_ids=1,
    offset=1,
    starts=ADDRESS,  # the start of each run in `order`, with the end of the last; then the length of the longest run
    order=ADDRESS,  # the rows of all segments, one segment after the other
    most=1,  # the most rows of a segment; a longer one is left out, and summed separately
    alone=1,  # the segment that is summed separately, or -1
    tiles=1,  # the number of tiles that a row of this segment is cut into
    ids_size=1,  # bytes of an id
    sums=ADDRESS,  # the sums of narrow rows, in the type of the additions: out itself if it has this type
    parts=1,  # the number of parts that the segments of narrow rows are cut into
)
"""The context of a batch; for narrow rows, of all batches."""
SEGMENTS_WORDS: Final[int] = SEGMENTS.num_words

COMPUTED_SEGMENTS: Final = layout(
    "ComputedSegments",
    SEGMENTS,
    batch=1,
    itemsize=1,  # of an element
    columns=1,  # the number of parts that rows are cut into; then segments have one part
    map=ADDRESS,  # the task that computes elements
    map_context=ADDRESS,
)
"""The context of a sum of rows that are computed as they are added."""
