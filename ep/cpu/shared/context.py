"""The data that a compiled check passes to the code that does the work."""

from __future__ import annotations

from typing import Final

from ep.cpu.shared.layout import ADDRESS, layout, several

MAX_SOURCES: Final = 16
SOURCE: Final = layout("Source", address=ADDRESS, count=1, size=1)
SOURCE_WORDS: Final[int] = SOURCE.num_words

CONTEXT: Final = layout(
    "Context",
    dst=ADDRESS,  # its address; first, since streaming tasks replace it
    state=ADDRESS,
    plan=ADDRESS,  # or other data that follows from the sizes of the launch; 0 if there is none
    streaming=ADDRESS,  # the streaming task without tiles: NONE, LATER, ITSELF, or its address
    dst_count=1,
    dst_size=1,  # bytes of an element
    num_sources=1,
    sources=several(
        SOURCE, MAX_SOURCES
    ),  # address, count and bytes of an element of all operands but the first written
)
"""The context of a launch: tasks receive its address, or that of a copy."""

CONTEXT_WORDS: Final[int] = CONTEXT.num_words

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
