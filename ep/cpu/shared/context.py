"""The data that a compiled check passes to the code that does the work."""

from __future__ import annotations

from typing import Final

from ep.common.native.fields import address, records, word
from ep.common.native.record import Record

MAX_SOURCES: Final = 16


class Source(Record):
    """An operand: the address of its data, its elements, and the bytes of each."""

    data = address()
    count = word()
    size = word()


class Context(Record):
    """The context of a launch: tasks receive its address, or that of a copy."""

    dst = address()  # its address; first, since streaming tasks replace it
    state = address()
    plan = address()  # or other data that follows from the sizes of the launch; 0 if there is none
    streaming = address()  # the streaming task without tiles: NONE, LATER, ITSELF, or its address
    dst_count = word()
    dst_size = word()  # bytes of an element
    num_sources = word()
    sources = records(Source, MAX_SOURCES)  # all operands but the first written


class StridedContext(Context):
    """The context of a launch; lacks_memory: set by a task that could not allocate memory. columns: the address of the
    sums of columns that its rows are added to."""

    lacks_memory = word()
    columns = word()


NO_MEMORY: Final = 2
"""The result of a launch that lacked memory; a part of the results may have been written."""
NO_MEMORY_TEXT: Final = "there is no memory for intermediate values; results may be written in part"
"""The text of the MemoryError that follows."""

NONE: Final = 0
"""No task uses non-temporal stores without tiles."""
LATER: Final = 1
"""A task uses non-temporal stores without tiles, but it has not been compiled yet."""
ITSELF: Final = 2
"""The task itself uses non-temporal stores, if its context says so."""
